use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::activation::{ConfigLayers, ConfigView, EnabledSkills, SkillUniverse};
use crate::compose::{Candidate, Composition, ConsentVerdict, LedgerState, ManifestRead, Scope, compose};
use crate::manifest::assess;
use crate::policy::{FileText, Layer, Policy, read_layer};
use crate::registry::{Base, BaseManifest, BaseParts, HostContract};
use crate::version::HostVersion;

fn feature(id: &str, members: &Value) -> Value {
    let mut manifest = json!({
        "id": id, "role": "feature", "version": "1.0.0", "title": "T", "description": "D", "tier": "full",
        "requires": [], "runtimeCompat": {"supported": ["*"], "unsupported": []}, "skills": [], "agents": [],
        "config": {}, "steps": [], "contributions": [], "gates": [],
    });
    for (key, value) in members.as_object().unwrap() {
        manifest[key] = value.clone();
    }
    manifest
}

fn setting() -> Value {
    json!({"type": "boolean", "default": false, "description": "Whether"})
}

fn base() -> Base {
    let shipped = feature(
        "anchor",
        &json!({
            "skills": ["moor"], "agents": ["harbour-master"], "config": {"anchor.on": setting()},
            "activationKey": "anchor.on",
            "steps": [{"point": "plan:pre", "ref": {"skill": "moor"}, "produces": ["MOORING.md"], "consumes": [],
                "onError": "skip", "when": "anchor.on"}],
        }),
    );
    let manifest = BaseManifest {
        dir_name: "anchor".into(),
        bytes: shipped.to_string().into_bytes(),
        fragments: BTreeMap::new(),
    };
    let parts = BaseParts {
        manifests: vec![manifest],
        gsd_version: HostVersion::new(1, 10, 0),
        ..BaseParts::default()
    };
    Base::build(parts).unwrap()
}

fn candidate(scope: Scope, consent: ConsentVerdict, manifest: &Value) -> Candidate {
    let id = manifest["id"].as_str().unwrap();
    let assessed = assess(id, manifest.to_string().as_bytes(), &HostContract::builtin());
    assert!(assessed.manifest.is_some(), "{:?}", assessed.problems);
    Candidate {
        dir_name: id.to_owned(),
        scope,
        demoted: false,
        bundle_dir: format!("/bundles/{id}"),
        ledger: LedgerState::Committed,
        consent,
        manifest: ManifestRead::Read(Arc::new(assessed)),
        fragments: Arc::default(),
        config_home: None,
    }
}

fn installed() -> Vec<Candidate> {
    let agreed = ConsentVerdict::NotNeeded;
    let gate =
        json!([{"point": "ship:pre", "check": {"query": "clear"}, "blocking": true, "onError": "halt"}]);
    vec![
        candidate(
            Scope::Global,
            agreed,
            &feature(
                "buoy",
                &json!({
                    "requires": ["anchor"], "skills": ["float"], "gates": gate,
                    "hooks": [{"event": "PreToolUse", "script": "h.sh", "matcher": "Bash"}],
                    "commands": [{"family": "buoy", "module": "b.cjs", "router": "run"}],
                    "mcpServers": {"tide": {"command": "tide-server"}},
                }),
            ),
        ),
        candidate(
            Scope::Global,
            agreed,
            &feature("copy", &json!({"skills": ["float", "moor"], "gates": gate})),
        ),
        candidate(
            Scope::Global,
            agreed,
            &feature("old", &json!({"engines": {"gsd": "<1.0.0"}, "agents": ["relic"]})),
        ),
        candidate(
            Scope::Project,
            ConsentVerdict::Missing,
            &feature("stranger", &json!({"title": "Trust me", "config": {"stranger.x": setting()}})),
        ),
    ]
}

struct Scene {
    base: Base,
    candidates: Vec<Candidate>,
    composition: Composition,
    config: ConfigView,
    names: ConfigNames,
    enabled: EnabledSkills,
    policy: Policy,
}

impl Scene {
    fn new(main: Value) -> Self {
        let (base, candidates) = (base(), installed());
        let composition = compose(&base, &candidates);
        let layers = ConfigLayers { main: Some(main), ..ConfigLayers::default() };
        let names = ConfigNames { main: ".planning/config.json".into(), ..ConfigNames::default() };
        Self {
            base,
            candidates,
            config: ConfigView::new(layers, Arc::clone(&composition.registry)),
            composition,
            names,
            enabled: EnabledSkills::resolve(&SkillUniverse::default(), None, None),
            policy: Policy::default(),
        }
    }

    fn ask(&self, subject: &str) -> (Vec<Explanation>, Vec<String>) {
        self.ask_with(subject, &Executable::Runs)
    }

    fn ask_with(&self, subject: &str, executable: &Executable) -> (Vec<Explanation>, Vec<String>) {
        let found: Vec<Found<'_>> = self
            .candidates
            .iter()
            .map(|candidate| Found { candidate, executable: executable.clone() })
            .collect();
        let world = World {
            policy: &self.policy,
            base: &self.base,
            composition: &self.composition,
            found: &found,
            config: &self.config,
            config_names: &self.names,
            enabled: &self.enabled,
        };
        let subject = Subject::parse(subject);
        (explain(&world, &subject), nearby(&world, &subject))
    }

    #[track_caller]
    fn one(&self, subject: &str) -> Explanation {
        let mut all = self.ask(subject).0;
        assert_eq!(all.len(), 1, "{subject}: {all:#?}");
        all.remove(0)
    }
}

fn parties(explanation: &Explanation) -> Vec<(&str, &str, &str)> {
    explanation.parties.iter().map(|party| (party.part, party.id.as_str(), party.status)).collect()
}

#[test]
fn subjects_have_kinds() {
    assert_eq!(Subject::parse("skill:a:b"), Subject { kind: Some(SubjectKind::Skill), name: "a:b".into() });
    assert_eq!(Subject::parse("plan:pre"), Subject { kind: None, name: "plan:pre".into() });
    assert_eq!(Subject::parse("point:plan:pre").name, "plan:pre");
    for kind in SubjectKind::ALL {
        assert_eq!(Subject::parse(&format!("{}:x", kind.word())).kind, Some(kind));
    }
}

#[test]
fn a_switched_off_capability_names_the_key_and_the_file() {
    let off = Scene::new(json!({"anchor": {"on": false}})).one("capability:anchor");
    assert_eq!(off.verdict, Verdict::Inactive);
    assert!(off.text.contains("`anchor.on` is off (.planning/config.json)"), "{}", off.text);
    assert_eq!(off.fixes[0].text, "set `anchor.on` to true in .planning/config.json");
    assert_eq!(parties(&off), [("required-by", "buoy", "active")]);
    assert_eq!(
        (off.predicates[0].value.as_str(), off.predicates[0].holds),
        ("stops before switched on", false)
    );
    let on = Scene::new(json!({"anchor": {"on": true}})).one("anchor");
    assert_eq!((on.predicates[0].value.as_str(), on.predicates[0].holds), ("reached switched on", true));
    assert_eq!((on.verdict, on.fixes.len()), (Verdict::Active, 0));
    let switch = on.predicates.iter().find(|predicate| predicate.name == "config anchor.on").unwrap();
    assert_eq!(
        (switch.value.as_str(), switch.origin.as_str(), switch.holds),
        ("true", ".planning/config.json", true)
    );
}

#[test]
fn a_name_that_is_taken_names_its_owner() {
    let scene = Scene::new(json!({}));
    let copy = scene.one("copy");
    assert_eq!((copy.verdict, copy.rule.as_str()), (Verdict::Skipped, "overlay.skill.claimed"));
    assert_eq!(parties(&copy), [("owner", "buoy", "active"), ("owner", "anchor", "inactive")]);
    assert!(copy.predicates.iter().any(|p| p.name == "missing gate" && p.value == "ship:pre"));
    assert_eq!(copy.predicates[0].value, "stops before composed");
    assert_eq!(copy.fixes.last().unwrap().argv, ["gsdctl", "remove", "copy", "--scope", "global"]);
    let float = scene.one("float");
    assert_eq!(parties(&float), [("owner", "buoy", "active"), ("also-declares", "copy", "skipped")]);
}

#[test]
fn an_old_capability_says_what_it_needs_and_its_agent_says_whose_it_is() {
    let scene = Scene::new(json!({}));
    let old = scene.one("old");
    assert_eq!(old.rule, "overlay.engines.gsd");
    let range = old.predicates.iter().find(|predicate| predicate.name == "engines.gsd").unwrap();
    assert!(!range.holds && range.value == "<1.0.0" && range.origin == "this is GSD 1.10.0");
    let relic = scene.one("relic");
    assert_eq!((relic.kind, relic.verdict), (SubjectKind::Agent, Verdict::Skipped));
    assert!(relic.text.contains("old"));
}

#[test]
fn the_words_of_a_stranger_are_not_repeated() {
    let stranger = Scene::new(json!({})).one("stranger");
    assert_eq!((stranger.verdict, stranger.rule.as_str()), (Verdict::Inactive, "ADR-1244 D5 rule 8"));
    assert!(!format!("{stranger:?}").contains("Trust me"));
    let consent = stranger.predicates.iter().find(|predicate| predicate.name == "consent").unwrap();
    assert_eq!((consent.value.as_str(), consent.holds), ("never given", false));
}

#[test]
fn a_setting_tells_its_value_its_origin_and_what_it_switches() {
    let key = Scene::new(json!({"anchor": {"on": "yes"}})).one("anchor.on");
    let value = &key.predicates[0];
    assert_eq!((value.value.as_str(), value.origin.as_str()), ("false", "default of the capability"));
    assert_eq!(
        parties(&key),
        [
            ("owner", "anchor", "inactive"),
            ("switches", "anchor", "inactive"),
            ("switches", "anchor", "inactive")
        ]
    );
    // Declared by a bundle that nobody agreed to.
    assert_eq!(Scene::new(json!({})).one("stranger.x").verdict, Verdict::Skipped);
}

#[test]
fn what_changed_since_it_was_agreed_to_does_not_run() {
    let scene = Scene::new(json!({}));
    let verdicts = |executable: &Executable| {
        ["family:buoy", "hook:PreToolUse", "mcp:tide"]
            .map(|subject| scene.ask_with(subject, executable).0[0].verdict)
    };
    assert_eq!(verdicts(&Executable::Runs), [Verdict::Active; 3]);
    for executable in [Executable::Changed, Executable::Revoked, Executable::NotRecorded] {
        assert_eq!(verdicts(&executable), [Verdict::Inactive; 3], "{executable:?}");
    }
    let hook = scene.one("PreToolUse");
    assert_eq!(hook.parties[0].note, "h.sh on Bash");
}

#[test]
fn t187_what_a_policy_forbids_does_not_run_and_says_where_that_stands() {
    let mut scene = Scene::new(json!({}));
    let text = b"[executable]\nforbid = [\"hooks\", \"commands\", \"mcp_servers\"]";
    let file = std::path::Path::new("/etc/gsd/policy.toml");
    scene.policy = Policy::new([read_layer(Layer::Machine, file, &FileText::Bytes(text))]);
    for subject in ["family:buoy", "hook:PreToolUse", "mcp:tide"] {
        let explanation = scene.one(subject);
        assert_eq!(explanation.verdict, Verdict::Inactive, "{subject}");
        let told = format!("{explanation:?}");
        assert!(told.contains("policy.toml:2, layer: machine"), "{told}");
    }
}

#[test]
fn a_point_lists_its_hooks_and_its_missing_gates() {
    let scene = Scene::new(json!({}));
    assert_eq!(parties(&scene.one("plan:pre")), [("step", "anchor", "inactive")]);
    assert_eq!(
        parties(&scene.one("ship:pre")),
        [("gate", "buoy", "active"), ("missing-gate", "copy", "skipped")]
    );
    assert_eq!(scene.one("verify:pre").verdict, Verdict::Empty);
}

#[test]
fn several_things_of_one_name_are_several_answers() {
    let kinds: Vec<SubjectKind> =
        Scene::new(json!({})).ask("buoy").0.iter().map(|explanation| explanation.kind).collect();
    assert_eq!(kinds, [SubjectKind::Capability, SubjectKind::Family]);
}

#[test]
fn a_slip_of_the_hand_finds_its_name() {
    let scene = Scene::new(json!({}));
    assert_eq!(scene.ask("achor"), (vec![], vec!["capability:anchor".to_owned()]));
    assert_eq!(scene.ask("skill:mor").1, ["skill:moor"]);
    assert_eq!(scene.ask("nothing like it").1, Vec::<String>::new());
    assert_eq!(scene.ask("").1, Vec::<String>::new());
}
