//! What a host waits for on each tool call.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::report::Row;
use super::timing::{Times, whole_process};
use crate::failure::{Doing as _, Failure, Outcome};
use crate::programs::repository;
use crate::throwaway::Throwaway;
use crate::transcript::run;

/// Rounds before the first one that counts.
const WARM_UP: u32 = 20;

/// Measures calls without and with a listener, in turns with the programs they are compared with.
pub(super) fn measure(programs: &Path, runs: u32) -> Outcome<Vec<Row>> {
    let silent = Throwaway::new(programs)?;
    let listening = Throwaway::new(programs)?;
    let script = make_listener(&listening)?;
    for here in [&silent, &listening] {
        gsdctl(here, &["daemon", "start"])?;
    }
    let [payload_silent, payload_listening] = [&silent, &listening].map(payload);
    let (payload_silent, payload_listening) = (payload_silent?, payload_listening?);
    let mut columns: [Vec<_>; 4] = Default::default();
    for round in 0..WARM_UP + runs {
        let measured = [
            whole_process(&mut silent.command("/bin/true"), &payload_silent)?,
            whole_process(&mut hook(&silent), &payload_silent)?,
            whole_process(&mut hook(&listening), &payload_listening)?,
            whole_process(&mut listening.command(&script), &payload_listening)?,
        ];
        for (column, (time, answer)) in columns.iter_mut().zip(measured) {
            if !answer.is_empty() {
                return Err(Failure::new(format!("a hook call that should be silent answered {answer}")));
            }
            if round >= WARM_UP {
                column.push(time);
            }
        }
    }
    let [truth, quiet, heard, script] = columns.map(Times::of);
    let calls =
        gsdctl(&listening, &["hook", "list", "--json"])?["data"][0]["calls"].as_u64().unwrap_or_default();
    if calls < u64::from(runs) {
        return Err(Failure::new(format!("the script was run {calls} times in {runs} calls")));
    }
    let status = gsdctl(&silent, &["daemon", "status", "--json"])?;
    let inside = status["data"]["latencies"]["hook.evaluate"]["p99_us"].as_f64().unwrap_or(f64::NAN);
    let times_true = quiet.median() / truth.median();
    let tail = quiet.p99() / quiet.median();
    let noise = truth.p99() / truth.median();
    let allowed = quiet.median() + 2.0 * script.median();
    Ok(vec![
        Row {
            what: "hook call, nothing listens",
            target: "≤ 2.5 × `true`".into(),
            measured: format!(
                "{times_true:.2} × ({:.0} µs, `true` {:.0} µs)",
                quiet.median(),
                truth.median()
            ),
            share: times_true / 2.5,
        },
        Row {
            what: "its p99",
            target: "≤ 3 × its median, or as restless as `true`".into(),
            measured: format!("{tail:.2} × (`true`: {noise:.2} ×)"),
            // On a machine that others use too, starting any process has a tail; that much is not ours.
            share: tail / noise.max(3.0),
        },
        Row {
            what: "the daemon's part of it, p99",
            target: "< 300 µs".into(),
            measured: format!("{inside:.0} µs"),
            share: inside / 300.0,
        },
        Row {
            what: "hook call, one script listens",
            target: "≤ the former + 2 × the script alone".into(),
            measured: format!(
                "{:.0} µs of {allowed:.0} µs (script alone {:.0} µs)",
                heard.median(),
                script.median()
            ),
            share: heard.median() / allowed,
        },
    ])
}

/// Installs a capability with one script that does nothing, and gives the script's path.
fn make_listener(here: &Throwaway) -> Outcome<std::path::PathBuf> {
    let bundle = here.root().join("acme-nothing");
    let script = bundle.join("hooks/nothing.sh");
    let manifest = json!({
        "id": "acme-nothing", "role": "feature", "version": "1.0.0", "title": "Nothing", "description": "Does nothing.",
        "tier": "full", "requires": [], "engines": {"gsd": ">=1.6.0"},
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": [], "agents": [], "hooks": [{"event": "PreToolUse", "matcher": "Bash", "script": "hooks/nothing.sh"}],
        "config": {}, "steps": [], "contributions": [], "gates": []
    });
    std::fs::create_dir_all(bundle.join("hooks")).doing("making a bundle")?;
    std::fs::write(bundle.join("capability.json"), manifest.to_string()).doing("writing a manifest")?;
    std::fs::write(&script, "#!/bin/sh\nexit 0\n").doing("writing a script")?;
    make_executable(&script)?;
    std::fs::create_dir_all(here.home().join(".claude")).doing("making a host's folder")?;
    let bundle = bundle.to_string_lossy();
    gsdctl(here, &["install", &bundle, "--runtime", "claude", "--yes", "--json"])?;
    Ok(script)
}

#[cfg(unix)]
pub(super) fn make_executable(path: &Path) -> Outcome {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).doing("making a script executable")
}

#[cfg(not(unix))]
pub(super) fn make_executable(_: &Path) -> Outcome {
    Ok(())
}

fn hook(here: &Throwaway) -> Command {
    let mut command = here.command(here.program("gsdctl"));
    command.args(["hook", "PreToolUse", "--host", "claude"]);
    command
}

/// What Claude Code sent before a shell command.
fn payload(here: &Throwaway) -> Outcome<Vec<u8>> {
    let path = repository().join("tests/vectors/hosts/claude/PreToolUse.json");
    let text = std::fs::read_to_string(&path).doing(format!("reading {}", path.display()))?;
    let text = text.replace("$HOME", &here.home().to_string_lossy());
    Ok(text.replace("$PROJECT", &here.project().to_string_lossy()).into_bytes())
}

/// Runs the client, which must succeed; its JSON document, if it printed one.
pub(super) fn gsdctl(here: &Throwaway, arguments: &[&str]) -> Outcome<Value> {
    let mut command = here.command(here.program("gsdctl"));
    command.args(arguments);
    let ran = run(command, b"")?;
    if ran.exit != 0 {
        return Err(Failure::new(format!("gsdctl {}: {}{}", arguments.join(" "), ran.stdout, ran.stderr)));
    }
    Ok(ran.json())
}
