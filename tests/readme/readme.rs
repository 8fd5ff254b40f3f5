//! The commands of the README.

use std::process::{Command, Stdio};

use crate::blocks::{Step, steps};
use crate::{repository, text};

/// All of the README's commands, one a line.
fn commands() -> Vec<String> {
    steps(&text("README.md")).into_iter().map(|Step { command, .. }| command).collect()
}

/// Runs a command line of the README in the repository, with further arguments.
fn cargo(line: &str, more: &[&str]) -> (bool, String) {
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("cargo"), "{line}");
    let mut command = Command::new(env!("CARGO"));
    command.args(words).args(more).current_dir(repository()).stdin(Stdio::null());
    // Built where this test was built: target/<profile>/deps/<test>.
    let test = std::env::current_exe().expect("a test knows its own program");
    command.env("CARGO_TARGET_DIR", test.ancestors().nth(3).expect("tests are built into a target folder"));
    let output = command.output().expect("cargo runs");
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), said)
}

#[test]
fn a_fresh_machine_needs_these_commands_and_no_others() {
    assert_eq!(commands(), ["cargo xtask try", "cargo test --workspace", "cargo xtask install"]);
}

#[test]
fn it_says_what_it_is_in_four_sentences() {
    let readme = text("README.md");
    let opening = readme.split("\n\n").nth(1).expect("a paragraph below the title");
    let sentences = opening.replace('\n', " ").matches(". ").count() + 1;
    assert_eq!(sentences, 4, "{opening}");
}

#[test]
fn the_main_job_can_be_tried() {
    let (worked, said) = cargo("cargo xtask try", &[]);
    assert!(worked, "{said}");
    assert!(said.contains("checks in 8 steps hold"), "{said}");
}

#[test]
fn the_tests_can_be_run() {
    // This is one of them, so the command is only parsed: cargo refuses what it does not know before it lists anything.
    let line = "cargo test --workspace";
    assert!(commands().iter().any(|command| command == line));
    let (worked, said) = cargo(line, &["--help"]);
    assert!(worked, "{said}");
}

#[test]
fn the_programs_can_be_installed_and_taken_away() {
    // Building them for use takes minutes; here the command line is checked, and taking away what is not there.
    let (worked, said) = cargo("cargo xtask install", &["--help"]);
    assert!(worked && said.contains("--prefix"), "{said}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let prefix = folder.path().to_str().expect("a plain path");
    let (worked, said) = cargo("cargo xtask uninstall", &["--prefix", prefix]);
    assert!(worked && said.contains("is not there"), "{said}");
}

#[test]
fn links_lead_somewhere() {
    for document in [
        "README.md",
        "CONTRIBUTING.md",
        "docs/concepts/trust-and-consent.md",
        "docs/security/threat-model.md",
        "docs/tutorials/install-your-first-capability.md",
    ] {
        let folder = repository().join(document).parent().expect("documents are in folders").to_owned();
        let text = text(document);
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with('#')) {
            let path = target.split('#').next().unwrap_or_default();
            assert!(folder.join(path).exists(), "{document} links to {target}");
        }
    }
}
