//! Claude Code: does an installed hook block, is a server started, is a skill found, and is all of it gone afterwards?

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::model::Model;
use crate::failure::{Doing as _, Failure, Outcome};
use crate::programs::repository;
use crate::throwaway::Throwaway;
use crate::transcript::{Ran, Show, Transcript, run};

/// The version that the recorded payloads are from.
pub(super) const RECORDED_VERSION: &str = "2.1.332";

const PACKAGE: &str = "@anthropic-ai/claude-code";

/// What is installed for the first session.
const CAPABILITIES: [&str; 3] = ["acme-path-guard", "acme-notes-mcp", "acme-ship-checklist"];

const OWN_SETTINGS: &str = "{\n   \"env\" : {\"EDITOR\":\"vi\"},\n\t\"cleanupPeriodDays\": 30 }\n";

/// Seconds after which a session is taken for stuck.
const PATIENCE: &str = "120";

/// Installs the host's package into `folder`, unless it is there, and gives the program.
pub(super) fn installed(folder: &Path, version: &str) -> Outcome<PathBuf> {
    let program = folder.join("node_modules/.bin/claude");
    let manifest = folder.join("node_modules").join(PACKAGE).join("package.json");
    let there: Value = std::fs::read_to_string(manifest)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    if there["version"] == version && program.exists() {
        return Ok(program);
    }
    println!("installing {PACKAGE} {version} into {} …", folder.display());
    std::fs::create_dir_all(folder).doing(format!("making {}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(folder);
    npm.arg(format!("{PACKAGE}@{version}")).current_dir(folder).stdin(Stdio::null());
    let status = npm.status().doing("starting npm")?;
    if status.success() {
        Ok(program)
    } else {
        Err(Failure::new(format!("npm did not install {PACKAGE} {version}")))
    }
}

/// Two sessions that are told the same: one with the capabilities, one after their removal.
pub(super) fn drive(program: &Path, programs: &Path) -> Outcome {
    let here = Throwaway::new(programs)?;
    let settings = here.home().join(".claude/settings.json");
    std::fs::create_dir_all(here.home().join(".claude")).doing("making the host's folder")?;
    std::fs::write(&settings, OWN_SETTINGS).doing("writing the person's settings")?;
    let mut said = Transcript::default();

    said.step("Install a hook, an MCP server and a skill");
    for id in CAPABILITIES {
        let ran = install(&mut said, &here, id)?;
        said.check(ran.exit == 0, format!("{id} is installed"));
    }

    said.step("A session: the model writes .env, writes notes.txt, and uses the server");
    let session = Session::held(&mut said, &here, program)?;
    session.show(&said);
    said.check(session.servers().contains(&"acme-notes: connected".to_owned()), "the server is connected");
    said.check(session.skills().contains(&"gsd-acme-ship-checklist".to_owned()), "the skill is found");
    let (refused, text) = session.result("toolu_0001");
    said.check(
        refused && text.contains("acme-path-guard"),
        "writing .env is refused, and the model is told by whom",
    );
    said.check(!here.project().join(".env").exists(), "there is no .env");
    let (refused, _) = session.result("toolu_0002");
    said.check(!refused && here.project().join("notes.txt").is_file(), "notes.txt is written");
    let (refused, _) = session.result("toolu_0003");
    let notes = std::fs::read_to_string(here.project().join(".acme-notes.md")).unwrap_or_default();
    said.check(!refused && notes.contains("remember the milk"), "the server has written its note");

    said.step("Remove all three");
    for id in CAPABILITIES {
        let ran = gsdctl(&mut said, &here, &["remove", id])?;
        said.check(ran.exit == 0, format!("{id} is removed"));
    }
    let left = std::fs::read_to_string(&settings).unwrap_or_default();
    said.check(left == OWN_SETTINGS, "settings.json has its former bytes");
    let left = std::fs::read_to_string(here.home().join(".claude.json")).unwrap_or_default();
    said.check(!mentions_server(&left), ".claude.json registers no server");

    said.step("The same session again: nothing of it is left");
    let _ = std::fs::remove_file(here.project().join("notes.txt"));
    let session = Session::held(&mut said, &here, program)?;
    session.show(&said);
    said.check(session.servers().is_empty(), "no server is listed");
    said.check(!session.skills().iter().any(|skill| skill.contains("acme")), "the skill is not found");
    let (refused, _) = session.result("toolu_0001");
    said.check(!refused && here.project().join(".env").is_file(), ".env is written: nobody objects any more");
    let (refused, _) = session.result("toolu_0003");
    said.check(refused, "the server's tool does not exist");
    said.finish()
}

/// Whether a host file of this text still registers a server.
fn mentions_server(text: &str) -> bool {
    let parsed: Value = serde_json::from_str(text).unwrap_or_default();
    !parsed["mcpServers"]["acme-notes"].is_null()
}

/// Agrees to exactly what a first attempt shows.
fn install(said: &mut Transcript, here: &Throwaway, id: &str) -> Outcome<Ran> {
    let folder = repository().join("docs/examples").join(id);
    let folder = folder.to_string_lossy();
    let mut look = here.command(here.program("gsdctl"));
    look.args(["install", &folder, "--runtime", "claude", "--json"]);
    let looked = run(look, b"")?;
    if looked.exit == 0 {
        // Nothing executable in it, so nobody is asked.
        return Ok(looked);
    }
    let next = &looked.json()["error"]["fix"][0]["argv"];
    let next: Vec<&str> = next.as_array().into_iter().flatten().skip(1).filter_map(Value::as_str).collect();
    if next.is_empty() {
        return Ok(looked);
    }
    gsdctl(said, here, &next)
}

fn gsdctl(said: &mut Transcript, here: &Throwaway, arguments: &[&str]) -> Outcome<Ran> {
    let mut command = here.command(here.program("gsdctl"));
    command.args(arguments);
    said.run(&format!("gsdctl {}", arguments.join(" ")), command, b"", Show::All)
}

/// One headless session, as the host reported it: one document a line.
struct Session(Vec<Value>);

impl Session {
    fn held(said: &mut Transcript, here: &Throwaway, program: &Path) -> Outcome<Self> {
        let project = here.project();
        let model = Model::start(
            here,
            &json!([
                {"tool": "Write", "input": {"file_path": project.join(".env"), "content": "KEY=1\n"}},
                {"tool": "Write", "input": {"file_path": project.join("notes.txt"), "content": "a\n"}},
                {"tool": "mcp__acme-notes__add_note", "input": {"text": "remember the milk"}},
                {"text": "all done"}
            ]),
        )?;
        let arguments =
            ["-p", "go", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"];
        let mut command = here.command("timeout");
        command.arg(PATIENCE).arg(program).args(arguments);
        command.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "none-needed-by-the-script");
        // The last one: in a container everybody may be root, and the host asks for this word then.
        for name in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_TELEMETRY",
            "DISABLE_AUTOUPDATER",
            "IS_SANDBOX",
        ] {
            command.env(name, "1");
        }
        let ran = said.run(&format!("claude {}", arguments.join(" ")), command, b"", Show::Lines(0))?;
        said.check(ran.exit == 0, "the session ends well");
        Ok(Self(ran.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()))
    }

    /// What was loaded: the first line.
    fn loaded(&self) -> Value {
        self.0.iter().find(|line| line["subtype"] == "init").cloned().unwrap_or_default()
    }

    fn servers(&self) -> Vec<String> {
        let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
        let loaded = self.loaded();
        let servers = loaded["mcp_servers"].as_array().into_iter().flatten();
        servers.map(|server| format!("{}: {}", word(&server["name"]), word(&server["status"]))).collect()
    }

    fn skills(&self) -> Vec<String> {
        let loaded = self.loaded();
        let skills = loaded["skills"].as_array().into_iter().flatten();
        skills.filter_map(|skill| skill.as_str().map(str::to_owned)).collect()
    }

    /// Whether a tool call came back as an error, and its text.
    fn result(&self, call: &str) -> (bool, String) {
        let contents = self.0.iter().filter_map(|line| line["message"]["content"].as_array()).flatten();
        let mut results =
            contents.filter(|part| part["type"] == "tool_result" && part["tool_use_id"] == call);
        results
            .next()
            .map_or((true, String::new()), |part| (part["is_error"] == true, part["content"].to_string()))
    }

    fn show(&self, said: &Transcript) {
        said.note(format!("host version {}", self.loaded()["claude_code_version"]));
        said.note(format!("servers: {:?}", self.servers()));
        said.note(format!("skills:  {:?}", self.skills()));
        for call in ["toolu_0001", "toolu_0002", "toolu_0003"] {
            let (refused, text) = self.result(call);
            said.note(format!("{call}: {} {text}", if refused { "refused" } else { "done" }));
        }
    }
}
