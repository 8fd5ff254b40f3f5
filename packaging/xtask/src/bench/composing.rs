//! What a set of overlays costs a process that knows nothing yet.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::report::Row;
use super::timing::Times;
use crate::failure::{Doing as _, Failure, Outcome};
use crate::throwaway::Throwaway;

/// Fresh processes for each size of set.
const RUNS: usize = 21;
/// Changes of one bundle.
const CHANGES: usize = 51;
/// Manifests that are judged.
const VALIDATIONS: usize = 501;

/// Measures 500 and 1,000 overlays against none.
pub(super) fn measure(programs: &Path) -> Outcome<Vec<Row>> {
    let mut homes = Vec::new();
    for overlays in [0, 500, 1000] {
        let here = Throwaway::new(programs)?;
        place_overlays(&here, overlays)?;
        homes.push((overlays, here));
    }
    let mut first: [Vec<Duration>; 3] = Default::default();
    let mut again: [Vec<Duration>; 3] = Default::default();
    for _ in 0..RUNS {
        for (size, (overlays, here)) in homes.iter().enumerate() {
            let (one, two) = first_and_second(here, *overlays)?;
            first[size].push(one);
            again[size].push(two);
        }
    }
    let [none, five_hundred, thousand] = first.map(|times| Times::of(times).median());
    let [_, again, _] = again.map(|times| Times::of(times).median());
    let (half, all) = ((five_hundred - none) / 1000.0, (thousand - none) / 1000.0);
    let [.., (_, many)] = homes.as_slice() else { return Err(Failure::new("no set was made")) };
    let [(_, nothing), ..] = homes.as_slice() else { return Err(Failure::new("no set was made")) };
    let (unchanged, changed) = after_one_change(many)?;
    let one = (changed - unchanged) / 1000.0;
    let judging = judging_one(nothing)?;
    Ok(vec![
        Row {
            what: "composing 44 + 500, fresh process",
            target: "< 150 ms".into(),
            measured: format!("{half:.0} ms"),
            share: half / 150.0,
        },
        Row {
            what: "composing 44 + 1,000",
            target: "≤ 2.2 × that".into(),
            measured: format!("{:.2} × ({all:.0} ms)", all / half),
            share: all / half / 2.2,
        },
        Row {
            what: "composing 44 + 1,000, in all",
            target: "< 300 ms".into(),
            measured: format!("{all:.0} ms"),
            share: all / 300.0,
        },
        Row {
            what: "one bundle of 1,000 changed",
            target: "< 5 ms more than none".into(),
            measured: format!("{one:.1} ms (asking took {:.1} ms)", unchanged / 1000.0),
            share: one / 5.0,
        },
        Row {
            what: "validating one manifest",
            target: "< 50 µs".into(),
            measured: format!("{judging:.0} µs"),
            share: judging / 50.0,
        },
        Row {
            what: "asking again, nothing changed",
            target: "same generation, < 1/5 of the first".into(),
            measured: format!("same generation, 1/{:.0} ({again:.0} µs)", five_hundred / again),
            share: again / five_hundred * 5.0,
        },
    ])
}

/// Medians of the same question to a process that knows the set: when nothing changed, and when one manifest did.
fn after_one_change(here: &Throwaway) -> Outcome<(f64, f64)> {
    let manifest = here.home().join(".gsd/capabilities/acme-overlay-0500/capability.json");
    let text = std::fs::read_to_string(&manifest).doing(format!("reading {}", manifest.display()))?;
    let mut process = OverPipes::start(here)?;
    let mut unchanged = Vec::new();
    let mut changed = Vec::new();
    process.registry_list(here)?;
    for round in 0..CHANGES {
        let begun = Instant::now();
        process.registry_list(here)?;
        unchanged.push(begun.elapsed());
        let version = format!("\"1.0.{round}\"");
        std::fs::write(&manifest, text.replacen("\"1.0.0\"", &version, 1)).doing("changing a manifest")?;
        let begun = Instant::now();
        let answer = process.registry_list(here)?;
        changed.push(begun.elapsed());
        if !answer.contains(&version) {
            return Err(Failure::new("a changed manifest was not noticed"));
        }
    }
    Ok((Times::of(unchanged).median(), Times::of(changed).median()))
}

/// Median of what one more manifest costs in a call that judges it, against the same call without anything to judge.
fn judging_one(here: &Throwaway) -> Outcome<f64> {
    let manifest = overlay("acme-overlay-0000").to_string();
    let mut process = OverPipes::start(here)?;
    let mut times: [Vec<Duration>; 2] = Default::default();
    for _ in 0..VALIDATIONS {
        for (kind, text) in ["", &manifest].into_iter().enumerate() {
            let params = json!({"manifest": text, "dirName": "acme-overlay-0000"});
            // Writing the request is our part, and not measured.
            let request = request(here, "manifest.validate", params);
            let begun = Instant::now();
            let answer = process.ask(&request)?;
            times[kind].push(begun.elapsed());
            if answer.contains("\"valid\":true") != (kind == 1) {
                return Err(Failure::new(format!("gsdd judged wrongly: {answer}")));
            }
        }
    }
    let [nothing, one] = times.map(|times| Times::of(times).median());
    Ok(one - nothing)
}

/// Puts features with a contribution, a step, a gate and a setting into the person's root.
pub(super) fn place_overlays(here: &Throwaway, count: usize) -> Outcome {
    for number in 0..count {
        let id = format!("acme-overlay-{number:04}");
        let manifest = overlay(&id);
        let bundle = here.home().join(".gsd/capabilities").join(&id);
        for (file, text) in [
            ("capability.json", format!("{manifest:#}")),
            ("fragments/plan.md", "Plan the release notes as a task of their own.\n".repeat(10)),
            (
                &format!("skills/{id}/SKILL.md"),
                format!("---\nname: {id}\ndescription: One of many.\n---\n\nDo it.\n"),
            ),
        ] {
            let path = bundle.join(file);
            let folder = path.parent().doing("looking at a bundle")?;
            std::fs::create_dir_all(folder).doing(format!("making {}", folder.display()))?;
            std::fs::write(&path, text).doing(format!("writing {}", path.display()))?;
        }
    }
    Ok(())
}

/// A manifest of ordinary size.
fn overlay(id: &str) -> Value {
    let key = format!("{}.enabled", id.replace('-', "_"));
    let artifact = format!("{}.md", id.to_uppercase());
    json!({
        "id": id, "role": "feature", "version": "1.0.0", "title": format!("Overlay {id}"),
        "description": "One of many, to see what many cost.", "tier": "standard", "requires": [],
        "engines": {"gsd": ">=1.6.0"}, "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": [id], "agents": [],
        "config": {key.clone(): {"type": "boolean", "default": true, "description": "Whether it takes part"}},
        "steps": [{"point": "verify:post", "ref": {"skill": id}, "produces": [artifact], "consumes": ["SUMMARY.md"],
            "when": key, "onError": "skip"}],
        "contributions": [{"point": "plan:pre", "into": "planner", "fragment": {"path": "fragments/plan.md"},
            "produces": [], "consumes": ["CONTEXT.md"], "when": key, "onError": "skip"}],
        "gates": [{"point": "ship:pre", "check": {"predicate": {"kind": "artifact-frontmatter-equals",
            "artifact": artifact, "field": "open_items", "equals": 0}}, "when": key, "blocking": true, "onError": "halt"}]
    })
}

/// Times of a fresh process to its first answer, and of the same question again.
fn first_and_second(here: &Throwaway, overlays: usize) -> Outcome<(Duration, Duration)> {
    let begun = Instant::now();
    let mut process = OverPipes::start(here)?;
    let answer = process.registry_list(here)?;
    let first = begun.elapsed();
    let begun = Instant::now();
    let answer_again = process.registry_list(here)?;
    let second = begun.elapsed();
    // Reading the answers is our part, and not measured.
    let (list, generation) = parsed(&answer)?;
    let (_, generation_again) = parsed(&answer_again)?;
    let active = list.iter().filter(|item| item["scope"] == "global" && item["status"] == "active").count();
    if active != overlays {
        return Err(Failure::new(format!("{active} of {overlays} overlays are active")));
    }
    if generation != generation_again {
        return Err(Failure::new("an unchanged set was composed again"));
    }
    Ok((first, second))
}

/// `gsdd --stdio`, one document a line.
pub(super) struct OverPipes {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl OverPipes {
    pub(super) fn start(here: &Throwaway) -> Outcome<Self> {
        let mut command = here.command(here.program("gsdd"));
        command.arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().doing("starting gsdd")?;
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().doing("connecting to gsdd")?);
        Ok(Self { child, requests, answers })
    }

    fn registry_list(&mut self, here: &Throwaway) -> Outcome<String> {
        self.call(here, "registry.list", json!({}))
    }

    pub(super) fn call(&mut self, here: &Throwaway, method: &str, params: Value) -> Outcome<String> {
        self.ask(&request(here, method, params))
    }

    /// Sends a line and reads one.
    fn ask(&mut self, request: &str) -> Outcome<String> {
        let requests = self.requests.as_mut().doing("asking gsdd")?;
        requests.write_all(request.as_bytes()).doing("asking gsdd")?;
        let mut line = String::new();
        self.answers.read_line(&mut line).doing("reading an answer of gsdd")?;
        Ok(line)
    }
}

/// A request as the line that is sent.
fn request(here: &Throwaway, method: &str, mut params: Value) -> String {
    params["ctx"] =
        json!({"protocol": 1, "client": "bench", "cwd": here.project(), "env": {"HOME": here.home()}});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

/// Rows and generation of an answer.
fn parsed(answer: &str) -> Outcome<(Vec<Value>, Value)> {
    let answer: Value = serde_json::from_str(answer).doing("parsing an answer of gsdd")?;
    let items = answer["result"]["items"].as_array().cloned();
    let items = items.ok_or_else(|| Failure::new(format!("gsdd answered {answer}")))?;
    Ok((items, answer["result"]["snapshot"].clone()))
}

impl Drop for OverPipes {
    fn drop(&mut self) {
        // It ends with its caller; waiting keeps its last moments out of the next measurement.
        self.requests = None;
        let _ = self.child.wait();
    }
}
