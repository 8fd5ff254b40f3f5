//! What looking one capability up costs in a large index.

use std::path::Path;

use gsdd_core::source::index::{Entry, FORMAT, IndexName, Origin, Version};
use gsdd_core::source::{Pin, SourceSpec};
use gsdd_core::trust::ContentHash;
use serde_json::json;

use super::report::Row;
use crate::failure::{Doing as _, Failure, Outcome};
use crate::registries::{self, Server};
use crate::transcript::run;

/// Entries of the index.
const ENTRIES: u32 = 100_000;

/// Lookups that are measured.
const LOOKUPS: u32 = 60;

/// Lookups before them.
const WARM_UP: u32 = 20;

/// One lookup at most, in milliseconds.
const LOOKUP: f64 = 20.0;

/// Measures lookups of a daemon in an index behind a stock web server; without one nothing.
pub(super) fn measure(programs: &Path) -> Outcome<Vec<Row>> {
    let here = registries::prepared(programs)?;
    let port = registries::free_port()?;
    let Some((_, server)) = registries::stock_server(&here, port)? else { return Ok(Vec::new()) };
    fill(&here.root().join("index"))?;
    let _server = Server::start(server, port, &here.root().join("server.log"))?;
    let gsdctl = |arguments: &[&str]| {
        let mut command = here.command(here.program("gsdctl"));
        command.args(arguments).env("SSL_CERT_FILE", here.root().join("ca.pem"));
        let ran = run(command, b"")?;
        match ran.exit {
            0 => Ok(ran.json()),
            _ => Err(Failure::new(format!("gsdctl {}: {}{}", arguments.join(" "), ran.stdout, ran.stderr))),
        }
    };
    gsdctl(&["config", "set", "registries.large", &format!("https://localhost:{port}/")])?;
    // The first ones wait for a disk that is busy with so many new files.
    for at in 0..WARM_UP {
        gsdctl(&["source", "resolve", &format!("{}@large", name(at)), "--json"])?;
    }
    gsdctl(&["daemon", "restart", "--json"])?;
    for at in 0..LOOKUPS {
        let spec = format!("{}@large", name(at * (ENTRIES / LOOKUPS)));
        let found = gsdctl(&["source", "resolve", &spec, "--json"])?;
        if found["data"]["taken"]["version"] != "1.2.0" {
            return Err(Failure::new(format!("{spec} is not found: {found}")));
        }
    }
    let status = gsdctl(&["daemon", "status", "--json"])?;
    let median = &status["data"]["latencies"]["source.resolve"]["p50_us"];
    let median = median.as_f64().doing("reading the time of a lookup")? / 1000.0;
    Ok(vec![Row {
        what: "looking one of 100,000 up in a web index",
        target: format!("< {LOOKUP} ms"),
        measured: format!("{median:.1} ms"),
        share: median / LOOKUP,
    }])
}

fn name(at: u32) -> String {
    format!("acme-tool-{at}")
}

/// Entries as they are: three versions each.
fn fill(index: &Path) -> Outcome {
    registries::write(&index.join("config.json"), json!({"format": FORMAT}).to_string())?;
    let digest = Pin::of(b"archive");
    let content = ContentHash::parse(digest.as_str()).doing("making a content hash")?;
    let versions: Vec<Version> = ["1.2.0", "1.1.0", "1.0.0"]
        .into_iter()
        .filter_map(|version| {
            let source = SourceSpec::parse(&format!("https://caps.example/tool-{version}.tgz")).ok()?;
            Version::new(version, Origin::Source(source), Some(digest.clone()), content.clone())
        })
        .collect();
    for at in 0..ENTRIES {
        let name = IndexName::parse(&name(at)).doing("naming an entry")?;
        let entry = Entry {
            name: name.clone(),
            title: Some(format!("Tool {at}")),
            publisher: None,
            compat_versions: Vec::new(),
            versions: versions.clone(),
            objections: Vec::new(),
        };
        registries::write(&index.join(name.path()), entry.to_json().to_string())?;
    }
    Ok(())
}
