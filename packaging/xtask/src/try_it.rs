//! `cargo xtask try`: the main job from beginning to end, in a home that is thrown away.
//!
//! Claude Code's part is played with payloads that the real program sent (`tests/vectors/hosts/claude`), handed to the
//! very command that stands in its settings file. Every step is checked: a walk that ends well is a proof.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::{Doing as _, Failure, Outcome};
use crate::programs;
use crate::throwaway::Throwaway;
use crate::transcript::{Ran, Show, Transcript, run as run_quietly};
use crate::tree::{Difference, Tree};

/// Where the example is "published": a name that resolves nowhere, led to a folder by a git setting.
const PUBLISHED: &str = "https://git.example.org/acme-path-guard.git";

/// The person's own settings, in a style that no formatter would produce.
const OWN_SETTINGS: &str = "{\n    \"model\" : \"opus\",\n  \"permissions\": { \"deny\":[\"Bash(rm:*)\"] },\n\t\"env\": {\"EDITOR\":   \"vi\"}\n}";

/// Options of `cargo xtask try`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Use the programs in this folder instead of building them
    #[arg(long, value_name = "DIR")]
    programs: Option<std::path::PathBuf>,
}

/// Walks through the main job.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let folder = match &arguments.programs {
        Some(folder) => folder.canonicalize().doing(format!("looking for {}", folder.display()))?,
        None => programs::for_trying()?,
    };
    let mut walk =
        Walk { here: Throwaway::new(&folder)?, said: Transcript::default(), before: Tree::default() };
    walk.prepare()?;
    walk.look_and_refuse().and_then(|command| walk.agree(&command))?;
    walk.play_host()?;
    walk.loop_points()?;
    walk.tamper()?;
    walk.remove_all()?;
    walk.said.finish()
}

struct Walk {
    here: Throwaway,
    said: Transcript,
    /// The home before anything was installed.
    before: Tree,
}

impl Walk {
    /// A person's home with Claude Code in it, a project, and a published capability.
    fn prepare(&mut self) -> Outcome {
        self.said.step("A throw-away home, a project, and a capability published in a git repository");
        let (home, project) = (self.here.home(), self.here.project());
        write(&home.join(".claude/settings.json"), OWN_SETTINGS)?;
        write(&home.join(".claude/CLAUDE.md"), "Answer in short sentences.\n")?;
        write(&project.join("README.md"), "# Shop\n")?;
        let repository = self.here.root().join("published/acme-path-guard");
        copy(&programs::repository().join("docs/examples/acme-path-guard"), &repository)?;
        let rule = format!("[url \"file://{}\"]\n\tinsteadOf = {PUBLISHED}\n", repository.display());
        write(&self.here.git_config(), &rule)?;
        for arguments in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all"],
            &[
                "-c",
                "user.name=Acme",
                "-c",
                "user.email=acme@example.org",
                "commit",
                "--quiet",
                "--message=Path guard",
            ],
            &["tag", "v1.0.0"],
        ] {
            let mut git = self.here.command("git");
            git.args(arguments).current_dir(&repository);
            let ran = run_quietly(git, b"")?;
            if ran.exit != 0 {
                return Err(Failure::new(format!("git {}: {}", arguments[0], ran.stderr)));
            }
        }
        self.said.note(format!("home:      {}", home.display()));
        self.said.note(format!("project:   {}", project.display()));
        self.said
            .note(format!("published: {PUBLISHED} (a git setting, `insteadOf`, leads to a local folder)"));
        self.shell("cat \"$HOME\"/.claude/settings.json", b"", Show::All)?;
        self.before = self.home_now()?;
        Ok(())
    }

    /// Without agreement: everything is shown, nothing is done. Gives the command that would go on.
    fn look_and_refuse(&mut self) -> Outcome<String> {
        self.said.step("Install without having agreed: it shows what would run, and stops");
        let ran =
            self.shell(&format!("gsdctl install {PUBLISHED}#v1.0.0 --runtime claude"), b"", Show::All)?;
        self.said.check(ran.exit == 3, "the exit status is 3, consent needed");
        let script = sha256_of(&self.here, "docs/examples/acme-path-guard/hooks/guard.sh")?;
        self.said.check(
            ran.stderr.contains("hooks/guard.sh") && ran.stderr.contains(&script),
            "the script that would run is shown with its SHA-256",
        );
        let untouched = self.home_now()? == self.before;
        self.said.check(untouched, "nothing was written into the home (but gsdd's own state in .local)");
        let line = ran.stderr.lines().find_map(|line| line.trim_start().strip_prefix("fix:"));
        let command = line.and_then(|line| line.split("  ·  ").next()).map(str::trim).unwrap_or_default();
        self.said.check(
            command.starts_with("gsdctl install ") && command.contains(" --consent sha256:"),
            "the command that goes on is printed, with the digest of exactly this content",
        );
        let digest = command.split(" --consent ").nth(1).unwrap_or_default();
        let other = command.replace(digest, &format!("sha256:{}", "0".repeat(64)));
        let ran = self.shell(&other, b"", Show::Lines(3))?;
        self.said.check(ran.exit == 3 && self.home_now()? == self.before, "another digest agrees to nothing");
        Ok(command.to_owned())
    }

    /// With agreement.
    fn agree(&mut self, command: &str) -> Outcome {
        self.said.step("Agree to exactly that: the command that was printed");
        let ran = self.shell(command, b"", Show::All)?;
        self.said.check(ran.exit == 0, "it is installed");
        self.shell("gsdctl list", b"", Show::All)?;
        let status = self.status("acme-path-guard")?;
        self.said.check(status.as_deref() == Some("active"), "`gsdctl list` has it as active");
        self.said.note("what is different in the home now:");
        let after = self.home_now()?;
        let differences = self.before.differences(&after);
        for difference in &differences {
            self.said.note(difference);
        }
        self.settings_diff()?;
        let edited: Vec<_> = differences.iter().filter(|d| !matches!(d, Difference::Added(_))).collect();
        self.said.check(
            matches!(edited[..], [Difference::Changed(path)] if path == Path::new(".claude/settings.json")),
            "of the person's own files only .claude/settings.json is different",
        );
        let settings = self.settings_text()?;
        let own = OWN_SETTINGS.trim_end().trim_end_matches('}').trim_end();
        self.said.check(settings.starts_with(own), "and there each byte of theirs stands as it did");
        let ran = self.shell(command, b"", Show::All)?;
        self.said.check(ran.exit == 0 && self.home_now()? == after, "the same again changes nothing");
        Ok(())
    }

    /// Three calls of the host, through the command in its settings file.
    fn play_host(&mut self) -> Outcome {
        self.said.step("Claude Code's part: three calls through the command in settings.json");
        let command = self.registered("PreToolUse")?;
        self.said.note(format!("the command is: {command}"));
        let notes = self.payload("PreToolUse-Write", Some("notes.txt"))?;
        let ran = self.hook(&command, "writes notes.txt", &notes)?;
        self.said.check(ran.exit == 0 && ran.stdout.is_empty(), "writing notes.txt: no objection");
        let secret = self.payload("PreToolUse-Write", Some(".env"))?;
        let ran = self.hook(&command, "writes .env", &secret)?;
        let answer = &ran.json()["hookSpecificOutput"];
        self.said.check(
            ran.exit == 0
                && answer["permissionDecision"] == "deny"
                && answer["permissionDecisionReason"]
                    .as_str()
                    .is_some_and(|why| why.contains("acme-path-guard")),
            "writing .env: denied, in Claude Code's own form, with the reason and who gave it",
        );
        let bash = self.payload("PreToolUse", None)?;
        let ran = self.hook(&command, "runs a shell command: not what the hook asked for", &bash)?;
        self.said.check(ran.exit == 0 && ran.stdout.is_empty(), "another tool: silence");
        self.shell("gsdctl hook list", b"", Show::All)?;
        let rows = self.quiet("gsdctl hook list --json")?.json();
        self.said
            .check(rows["data"][0]["calls"] == 2, "the script was started twice, not for the other tool");
        Ok(())
    }

    /// Two more capabilities, which have something to say in the loop.
    fn loop_points(&mut self) -> Outcome {
        self.said.step("The loop: two more capabilities, nothing executable in them, so nobody is asked");
        for id in ["acme-risk-planning", "acme-ship-checklist"] {
            let folder = programs::repository().join("docs/examples").join(id);
            let shown = format!("gsdctl install {} --runtime claude", folder.display());
            let mut command = self.here.command(self.here.program("gsdctl"));
            command.arg("install").arg(&folder).args(["--runtime", "claude"]);
            let ran = self.said.run(&shown, command, b"", Show::Lines(8))?;
            self.said.check(ran.exit == 0, format!("{id} is installed"));
        }
        let skill = self.here.home().join(".claude/skills/gsd-acme-ship-checklist/SKILL.md");
        self.said.check(skill.is_file(), "Claude Code finds the skill in ~/.claude/skills");
        self.shell("gsdctl loop render plan:pre --markdown", b"", Show::Lines(12))?;
        let envelope = self.quiet("gsdctl loop render plan:pre --json")?.json();
        let has = |capability: &str, kind: &str, envelope: &Value| {
            envelope["data"]["activeHooks"].as_array().is_some_and(|hooks| {
                hooks.iter().any(|hook| hook["capId"] == capability && hook["kind"] == kind)
            })
        };
        self.said.check(
            has("acme-risk-planning", "step", &envelope),
            "plan:pre has the step of acme-risk-planning",
        );
        self.said.check(
            has("acme-ship-checklist", "contribution", &envelope),
            "plan:pre has the text of acme-ship-checklist for the planner",
        );
        self.shell("gsdctl loop render ship:pre --markdown", b"", Show::All)?;
        let envelope = self.quiet("gsdctl loop render ship:pre --json")?.json();
        self.said.check(
            has("acme-ship-checklist", "gate", &envelope),
            "ship:pre has the gate of acme-ship-checklist",
        );
        Ok(())
    }

    /// A script that is not the one that was agreed to.
    fn tamper(&mut self) -> Outcome {
        self.said.step("Somebody changes the script: it does not run any more, and the person is told");
        let mark = self.here.root().join("the-changed-script-ran");
        let script = self.here.home().join(".gsd/capabilities/acme-path-guard/hooks/guard.sh");
        let text = read(&script)?;
        let changed = text.replacen("#!/bin/sh\n", &format!("#!/bin/sh\n: > '{}'\n", mark.display()), 1);
        write(&script, &changed)?;
        self.said.note(format!("a line is added to {}", script.display()));
        let command = self.registered("PreToolUse")?;
        let secret = self.payload("PreToolUse-Write", Some(".env"))?;
        let ran = self.hook(&command, "writes .env", &secret)?;
        self.said.check(!mark.exists(), "the changed script did not run");
        self.said.check(
            ran.exit == 0
                && ran.json()["systemMessage"]
                    .as_str()
                    .is_some_and(|text| text.contains("acme-path-guard") && text.contains("did NOT run")),
            "Claude Code is handed a message for the person that says so",
        );
        self.shell("gsdctl list", b"", Show::All)?;
        let status = self.status("acme-path-guard")?;
        self.said.check(status.as_deref() == Some("changed"), "`gsdctl list` says so too");
        Ok(())
    }

    /// Everything out again.
    fn remove_all(&mut self) -> Outcome {
        self.said.step("Remove all of it");
        for id in ["acme-path-guard", "acme-risk-planning", "acme-ship-checklist"] {
            let ran = self.shell(&format!("gsdctl remove {id}"), b"", Show::All)?;
            self.said.check(ran.exit == 0, format!("{id} is removed"));
        }
        self.shell("gsdctl list", b"", Show::All)?;
        self.said.check(self.installed()?.is_empty(), "nothing but the first-party capabilities is listed");
        let ran = self.shell("gsdctl daemon stop", b"", Show::All)?;
        self.said.check(ran.exit == 0, "the daemon is sent home");
        self.said.step("What is different in the home, compared with before the first step");
        let differences = self.before.differences(&self.home_now()?);
        for difference in &differences {
            self.said.note(difference);
        }
        self.said.check(differences.is_empty(), "nothing: same files, same bytes, same modes");
        self.said.note("gsdd's own records and its log stay in the home's .local:");
        self.shell("cd \"$HOME\" && find .local -type f", b"", Show::All)?;
        Ok(())
    }

    /// Rows of `gsdctl list` that are not shipped with the program.
    fn installed(&self) -> Outcome<Vec<Value>> {
        let listed = self.quiet("gsdctl list --json")?.json();
        let rows = listed["data"].as_array().doing("reading what `gsdctl list --json` printed")?;
        Ok(rows.iter().filter(|row| row["scope"] != "first-party").cloned().collect())
    }

    fn status(&self, id: &str) -> Outcome<Option<String>> {
        let row = self.installed()?.into_iter().find(|row| row["id"] == id);
        Ok(row.and_then(|row| row["status"].as_str().map(str::to_owned)))
    }

    fn shell(&mut self, line: &str, input: &[u8], show: Show) -> Outcome<Ran> {
        let command = self.shell_command(line);
        self.said.run(line, command, input, show)
    }

    fn quiet(&self, line: &str) -> Outcome<Ran> {
        run_quietly(self.shell_command(line), b"")
    }

    fn shell_command(&self, line: &str) -> Command {
        let mut command = self.here.command("sh");
        command.args(["-c", line]);
        command
    }

    /// Calls the registered command as Claude Code does.
    fn hook(&mut self, registered: &str, what: &str, payload: &Value) -> Outcome<Ran> {
        let mut command = self.shell_command(registered);
        command.env("CLAUDE_PROJECT_DIR", self.here.project()).env("CLAUDECODE", "1");
        self.said.run(&format!("{registered}   # {what}"), command, payload.to_string().as_bytes(), Show::All)
    }

    /// A recorded payload of the real program, moved into this home and project.
    fn payload(&self, name: &str, file: Option<&str>) -> Outcome<Value> {
        let path = programs::repository().join(format!("tests/vectors/hosts/claude/{name}.json"));
        let (home, project) = (self.here.home(), self.here.project());
        let text = read(&path)?.replace("$HOME", &home.to_string_lossy());
        let text = text.replace("$PROJECT", &project.to_string_lossy());
        let mut payload: Value = serde_json::from_str(&text).doing(format!("parsing {}", path.display()))?;
        if let Some(file) = file {
            payload["tool_input"]["file_path"] = project.join(file).to_string_lossy().into();
        }
        Ok(payload)
    }

    fn registered(&self, event: &str) -> Outcome<String> {
        let settings: Value = serde_json::from_str(&self.settings_text()?).doing("parsing settings.json")?;
        let command = settings["hooks"][event][0]["hooks"][0]["command"].as_str();
        command.map(str::to_owned).doing(format!("looking for the {event} hook in settings.json"))
    }

    fn settings_text(&self) -> Outcome<String> {
        read(&self.here.home().join(".claude/settings.json"))
    }

    fn settings_diff(&mut self) -> Outcome {
        let old = self.here.root().join("settings-before.json");
        write(&old, OWN_SETTINGS)?;
        let line = format!("diff -u '{}' \"$HOME\"/.claude/settings.json", old.display());
        self.shell(&line, b"", Show::All).map(drop)
    }

    fn home_now(&self) -> Outcome<Tree> {
        Tree::read(&self.here.home(), ".local")
    }
}

/// SHA-256 of a file of the repository, by the machine's own means.
fn sha256_of(here: &Throwaway, file: &str) -> Outcome<String> {
    let mut command = here.command("sh");
    let path = programs::repository().join(file);
    command
        .args(["-c", "sha256sum \"$0\" 2>/dev/null || shasum -a 256 \"$0\""])
        .arg(path)
        .stdin(Stdio::null());
    let ran = run_quietly(command, b"")?;
    ran.stdout.split_whitespace().next().map(str::to_owned).doing(format!("computing the SHA-256 of {file}"))
}

fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).doing(format!("reading {}", path.display()))
}

fn write(path: &Path, text: &str) -> Outcome {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).doing(format!("making {}", folder.display()))?;
    }
    std::fs::write(path, text).doing(format!("writing {}", path.display()))
}

/// Copies a folder with its files and their modes.
fn copy(from: &Path, to: &Path) -> Outcome {
    std::fs::create_dir_all(to).doing(format!("making {}", to.display()))?;
    for entry in std::fs::read_dir(from).doing(format!("reading {}", from.display()))? {
        let entry = entry.doing(format!("reading {}", from.display()))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            std::fs::copy(&source, &target).doing(format!("copying {}", source.display()))?;
        }
    }
    Ok(())
}
