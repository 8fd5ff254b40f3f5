//! The tutorials, each typed into one shell from beginning to end.

use gsd_tests::World;

use crate::blocks::{Step, fits, steps};
use crate::{repository, text};

/// Separates the outputs of the commands; nothing else prints it.
const MARK: &str = "\u{2}step";

#[test]
fn install_your_first_capability() {
    follow("docs/tutorials/install-your-first-capability.md");
}

#[test]
fn write_a_capability() {
    follow("docs/tutorials/write-a-capability.md");
}

fn follow(document: &str) {
    let steps = steps(&text(document));
    assert!(steps.len() > 10, "{document} has commands");
    let world = World::new();
    let programs = world.client_program().parent().expect("programs are in a folder").to_owned();
    let search_path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
    let shell = world.outside_program("/bin/sh".as_ref()).cwd(repository());
    let shell = shell.env("PATH", search_path).env("GIT_CONFIG_NOSYSTEM", "1");
    let ran = shell.input(script(&steps)).run();
    let parts: Vec<&str> = ran.stdout.split(MARK).skip(1).collect();
    for (index, step) in steps.iter().enumerate() {
        let place = format!("{document}:{}: {}", step.line, step.command);
        let part = parts.get(index).unwrap_or_else(|| panic!("{place}\nwas not reached\n{}", ran.stderr));
        let (output, status) =
            part.rsplit_once("\nexit ").unwrap_or_else(|| panic!("{place}\ndid not end: {part}"));
        assert_eq!(status.trim(), "0", "{place}\nfailed\n{output}");
        let mut lines = output.lines();
        for expected in &step.expected {
            assert!(
                lines.any(|line| fits(expected, line)),
                "{place}\nshould print\n{expected}\nbut printed\n{output}"
            );
        }
    }
}

/// One shell for all steps: folders and variables stay, standard error is part of what is seen.
fn script(steps: &[Step]) -> String {
    // However it ends, no daemon stays behind.
    let mut script = "trap 'gsdctl daemon stop >/dev/null 2>&1' EXIT\nexec 2>&1\n".to_owned();
    for step in steps {
        // Commands read nothing from the script.
        script.push_str(&format!(
            "printf '{MARK}'\n{{ {}\n}} </dev/null\nprintf '\\nexit %s\\n' \"$?\"\n",
            step.command
        ));
    }
    script
}
