//! Every effect of every operation is killed at, refused, and refused for good.

use crate::scene::{OPERATIONS, Place, Scene};

/// What happens at an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    Kill,
    Eio,
    Full,
}

impl Break {
    fn word(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Eio => "eio",
            Self::Full => "full",
        }
    }
}

fn at_every_effect(place: Place, how: Break) {
    let mut scene = Scene::new(place);
    for operation in OPERATIONS {
        let (from, to) = operation.states();
        let mut reached = [0, 0];
        for effects in 0.. {
            scene.go_to(from);
            let daemon = scene.world.start_daemon();
            scene.world.break_at(&format!("{} {effects}", how.word()));
            let outcome = scene.ask(operation);
            let broke_at = scene.world.broke_at();
            scene.world.break_at("");
            let Ok(broke_at) = broke_at else {
                assert_eq!(outcome.exit, 0, "{operation:?}: {}", outcome.stderr);
                scene.state = to;
                assert!(effects > 12, "{operation:?} has only {effects} effects");
                println!("{place:?} {operation:?} {how:?}: {effects} effects, before/after: {reached:?}");
                break;
            };
            let what = format!("{how:?} after {effects} effects: {broke_at}, exit {}", outcome.exit);
            let unsettled = outcome.stderr.contains("not everything could be put back");
            if how == Break::Kill {
                scene.wait_for_the_end(&[daemon]);
            } else if outcome.exit != 0 && !unsettled {
                // Who is told that it failed finds it as it was.
                assert_eq!(scene.find(), Ok(from), "{operation:?} {what}: {}", outcome.stderr);
                reached[0] += 1;
                continue;
            } else {
                scene.world.gsdctl(["daemon", "stop"]).run().succeeds();
            }
            scene.settle(operation, &what);
            assert!(outcome.exit != 0 || scene.state == to, "{operation:?} {what}: done and gone");
            reached[usize::from(scene.state == to)] += 1;
            if how == Break::Kill {
                scene.check(&what);
            }
        }
    }
    scene.go_to(0);
    scene.check("after all of it");
}

macro_rules! every_effect {
    ($($name:ident: $place:ident $how:ident,)*) => {
        $(#[test]
        fn $name() {
            at_every_effect(Place::$place, Break::$how);
        })*
    };
}

every_effect! {
    killed_at_every_effect_for_the_person: Global Kill,
    killed_at_every_effect_in_a_project: Project Kill,
    killed_at_every_effect_with_a_shared_file: Shared Kill,
    refused_at_every_effect_for_the_person: Global Eio,
    refused_at_every_effect_in_a_project: Project Eio,
    refused_at_every_effect_with_a_shared_file: Shared Eio,
    full_from_every_effect_on_for_the_person: Global Full,
    full_from_every_effect_on_in_a_project: Project Full,
    full_from_every_effect_on_with_a_shared_file: Shared Full,
}
