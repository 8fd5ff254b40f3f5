//! What it costs to prove that what runs is what was agreed to, and to show what would change.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::composing::OverPipes;
use super::hooks::{gsdctl, make_executable};
use super::report::Row;
use super::timing::Times;
use crate::failure::{Doing as _, Failure, Outcome};
use crate::throwaway::Throwaway;

/// Capabilities that listen to one event, beside the first one.
const MORE: u32 = 10;
/// Questions about a tool call.
const CALLS: usize = 401;
/// Touches of the large capability.
const TOUCHES: usize = 31;
/// Content that is hashed again after a touch, in bytes.
const LARGE: usize = 1024 * 1024;
/// Files of the update that is previewed.
const FILES: usize = 200;
/// Previews.
const PREVIEWS: usize = 15;
/// How long a touch leaves a doubt about time stamps.
const DOUBT: Duration = Duration::from_millis(60);

/// Measures the proof of an unchanged capability and of a touched one, and the preview of an update.
pub(super) fn measure(programs: &Path) -> Outcome<Vec<Row>> {
    let unchanged = unchanged(programs)?;
    let touched = touched(programs)? / 1000.0;
    let preview = preview(programs)? / 1000.0;
    Ok(vec![
        Row {
            what: "proving one unchanged capability",
            target: "< 50 µs of a hook call".into(),
            measured: format!("{unchanged:.0} µs"),
            share: unchanged / 50.0,
        },
        Row {
            what: "hashing 1 MiB again after a touch",
            target: "< 5 ms more than unchanged".into(),
            measured: format!("{touched:.1} ms"),
            share: touched / 5.0,
        },
        Row {
            what: "previewing an update of 200 files",
            target: "< 200 ms".into(),
            measured: format!("{preview:.0} ms"),
            share: preview / 200.0,
        },
    ])
}

/// What one more listening capability adds to a question, in microseconds: its files and those of its private copy are
/// looked at.
fn unchanged(programs: &Path) -> Outcome<f64> {
    let few = Throwaway::new(programs)?;
    let many = Throwaway::new(programs)?;
    install(&few, "acme-listener-00", &[])?;
    for number in 0..=MORE {
        install(&many, &format!("acme-listener-{number:02}"), &[])?;
    }
    let mut processes = [(OverPipes::start(&few)?, &few, 1), (OverPipes::start(&many)?, &many, MORE + 1)];
    let mut times: [Vec<Duration>; 2] = Default::default();
    for _ in 0..CALLS {
        for (column, (process, here, listening)) in times.iter_mut().zip(&mut processes) {
            column.push(question(process, here, *listening)?);
        }
    }
    let [one, all] = times.map(|times| Times::of(times).median());
    Ok((all - one) / f64::from(MORE))
}

/// What a question costs more after a file of 1 MiB was touched, in microseconds.
fn touched(programs: &Path) -> Outcome<f64> {
    let here = Throwaway::new(programs)?;
    let data: Vec<u8> = (0..LARGE).map(|at| (at % 251) as u8).collect();
    install(&here, "acme-listener-00", &[("data.bin", data)])?;
    let mut process = OverPipes::start(&here)?;
    let file = here.home().join(".gsd/capabilities/acme-listener-00/data.bin");
    let mut times: [Vec<Duration>; 2] = Default::default();
    question(&mut process, &here, 1)?;
    for _ in 0..TOUCHES {
        // A file that has just changed is looked at twice.
        std::thread::sleep(DOUBT);
        question(&mut process, &here, 1)?;
        times[0].push(question(&mut process, &here, 1)?);
        let file = File::options().write(true).open(&file).doing("touching a file")?;
        file.set_modified(SystemTime::now()).doing("touching a file")?;
        times[1].push(question(&mut process, &here, 1)?);
    }
    let [same, touched] = times.map(|times| Times::of(times).median());
    Ok(touched - same)
}

/// What a person waits for who looks at an update, in microseconds.
fn preview(programs: &Path) -> Outcome<f64> {
    let here = Throwaway::new(programs)?;
    let text = |at: usize, word: &str| format!("{word} {at}\n").repeat(100).into_bytes();
    let names: Vec<String> = (0..FILES).map(|at| format!("data/file-{at:03}.txt")).collect();
    let files = |word: &str| -> Vec<(&str, Vec<u8>)> {
        names.iter().enumerate().map(|(at, name)| (name.as_str(), text(at, word))).collect()
    };
    let source = install(&here, "acme-listener-00", &files("old"))?;
    write(&source, &files("new"))?;
    gsdctl(&here, &["daemon", "start"])?;
    let mut times = Vec::new();
    for round in 0..=PREVIEWS {
        let begun = Instant::now();
        let seen = gsdctl(&here, &["consent", "preview", "acme-listener-00", "--json"])?;
        if round > 0 {
            times.push(begun.elapsed());
        }
        let differing = seen["data"]["differs"]["other"].as_array().map_or(0, Vec::len);
        if differing != FILES {
            return Err(Failure::new(format!("{differing} of {FILES} files differ: {seen}")));
        }
    }
    Ok(Times::of(times).median())
}

/// Asks about a tool call that `listening` capabilities have a script for.
fn question(process: &mut OverPipes, here: &Throwaway, listening: u32) -> Outcome<Duration> {
    let params = json!({"host": "claude", "event": "PreToolUse", "payload": {"tool_name": "Bash"}});
    let begun = Instant::now();
    let answer = process.call(here, "hook.evaluate", params)?;
    let took = begun.elapsed();
    let parsed: Value = serde_json::from_str(&answer).doing("parsing an answer of gsdd")?;
    match parsed["result"]["scripts"].as_array().map(Vec::len) {
        Some(scripts) if scripts == listening as usize => Ok(took),
        _ => Err(Failure::new(format!("{listening} scripts were expected: {answer}"))),
    }
}

/// Installs a capability with a script, a skill and more files, and gives its source.
fn install(here: &Throwaway, id: &str, more: &[(&str, Vec<u8>)]) -> Outcome<PathBuf> {
    let source = here.root().join(id);
    let manifest = json!({
        "id": id, "role": "feature", "version": "1.0.0", "title": "Listener", "description": "Listens.",
        "tier": "full", "requires": [], "engines": {"gsd": ">=1.6.0"},
        "runtimeCompat": {"supported": ["*"], "unsupported": []}, "skills": [], "agents": [],
        "hooks": [{"event": "PreToolUse", "matcher": "Bash", "script": "hooks/nothing.sh"}],
        "config": {}, "steps": [], "contributions": [], "gates": []
    });
    write(
        &source,
        &[
            ("capability.json", manifest.to_string().into_bytes()),
            ("hooks/nothing.sh", b"#!/bin/sh\nexit 0\n".to_vec()),
            ("README.md", b"Nothing.\n".to_vec()),
        ],
    )?;
    write(&source, more)?;
    make_executable(&source.join("hooks/nothing.sh"))?;
    std::fs::create_dir_all(here.home().join(".claude")).doing("making a host's folder")?;
    let spec = source.to_string_lossy().into_owned();
    gsdctl(here, &["install", &spec, "--runtime", "claude", "--yes", "--json"])?;
    Ok(source)
}

fn write(folder: &Path, files: &[(&str, Vec<u8>)]) -> Outcome {
    for (name, bytes) in files {
        let path = folder.join(name);
        let parent = path.parent().doing("looking at a bundle")?;
        std::fs::create_dir_all(parent).doing(format!("making {}", parent.display()))?;
        std::fs::write(&path, bytes).doing(format!("writing {}", path.display()))?;
    }
    Ok(())
}
