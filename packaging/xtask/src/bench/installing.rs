//! What installing an archive costs, beside fetching, unpacking and hashing the same bytes with stock tools; and how
//! much memory a large one takes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use gsd_tests::{HttpsServer, Reply};
use serde_json::json;

use super::hooks::gsdctl;
use super::report::Row;
use super::resting::number_in;
use super::timing::{Times, whole_process};
use crate::failure::{Doing as _, Outcome};
use crate::registries;
use crate::throwaway::Throwaway;
use crate::transcript::run;

/// Homes that are measured one after the other.
const HOMES: usize = 3;

/// Installs in each home, one capability each; the first is not counted. Nothing is removed before the last one: ext4
/// without a journal is slow to make files for up to five minutes after others were removed beside them.
const INSTALLS: usize = 9;

/// Until a daemon that was just started has nothing more to do.
const SETTLE: Duration = Duration::from_secs(6);

/// Before each measurement: what a daemon does after its answer is not to slow down the tools.
const PAUSE: Duration = Duration::from_millis(300);

/// Files of the archive beside its manifest and its script, and bytes of each: 5 MiB when they are packed.
const FILES: (usize, usize) = (198, 35_000);

/// An install, in times of the stock tools.
const INSTALL: f64 = 1.5;

/// The same of the large one: 100 MiB, which do not compress.
const LARGE: (usize, usize) = (50, 2 * 1024 * 1024);

/// Where that one is.
const LARGE_PATH: &str = "/large.tgz";

/// Most content that the person allows for it, in bytes.
const ALLOWED: &str = "110000000";

/// Memory of the daemon at most while it installs the large one, in MiB.
const MEMORY: f64 = 64.0;

/// Measures installs in turns with the stock tools; without those, or `/proc`, only what can be.
pub(super) fn measure(programs: &Path) -> Outcome<Vec<Row>> {
    let small = (0..INSTALLS).map(|at| archive(&id(at), FILES, true)).collect::<Outcome<Vec<_>>>()?;
    let large = archive("acme-large", LARGE, false)?;
    let bytes = small.first().map_or(0, Vec::len);
    let server = HttpsServer::start(&[], move |seen| {
        let wanted = small.iter().enumerate().find(|(at, _)| seen.target == path(*at));
        match wanted {
            Some((_, archive)) => Reply::ok(archive.clone()),
            None if seen.target == LARGE_PATH => Reply::ok(large.clone()),
            // Nobody signed them.
            None => Reply::status(404),
        }
    });
    let mut rows = Vec::new();
    let mut tools = Command::new("curl");
    tools.arg("--version");
    if run(tools, b"").is_ok_and(|ran| ran.exit == 0) {
        rows.push(times(programs, &server, bytes)?);
    }
    if Path::new("/proc/self/status").is_file() {
        rows.push(memory(programs, &server)?);
    }
    Ok(rows)
}

fn times(programs: &Path, server: &HttpsServer, bytes: usize) -> Outcome<Row> {
    let mut columns: [Vec<_>; 2] = Default::default();
    let homes = (0..HOMES).map(|_| trusting(programs, server)).collect::<Outcome<Vec<_>>>()?;
    for here in &homes {
        gsdctl(here, &["daemon", "start"])?;
        std::thread::sleep(SETTLE);
        for at in 0..INSTALLS {
            let url = server.url(&path(at));
            let unpacked = here.root().join(id(at));
            std::fs::create_dir(&unpacked).doing("making a folder to unpack into")?;
            for (column, mut command) in
                columns.iter_mut().zip([stock(here, &url, &unpacked), install(here, &url)])
            {
                std::thread::sleep(PAUSE);
                let (time, _) = whole_process(&mut command, b"")?;
                if at > 0 {
                    column.push(time);
                }
            }
        }
        gsdctl(here, &["daemon", "stop"])?;
    }
    let [stock, ours] = columns.map(Times::of);
    let ratio = ours.median() / stock.median();
    Ok(Row {
        what: "installing an archive of 200 files",
        target: format!("≤ {INSTALL} × curl, tar, sha256sum and sha512sum"),
        #[expect(clippy::cast_precision_loss, reason = "a few million")]
        measured: format!(
            "{ratio:.2} × ({:.0} ms, {:.0} ms; {:.1} MiB)",
            ours.median() / 1000.0,
            stock.median() / 1000.0,
            bytes as f64 / 1024.0 / 1024.0
        ),
        share: ratio / INSTALL,
    })
}

fn memory(programs: &Path, server: &HttpsServer) -> Outcome<Row> {
    let here = trusting(programs, server)?;
    gsdctl(&here, &["config", "set", "limits.bundle_bytes", ALLOWED])?;
    gsdctl(&here, &["daemon", "restart", "--json"])?;
    let status = gsdctl(&here, &["daemon", "status", "--json"])?;
    let pid = status["data"]["pid"].as_u64().doing("asking for the daemon's process")?;
    whole_process(&mut install(&here, &server.url(LARGE_PATH)), b"")?;
    let peak = number_in(Path::new(&format!("/proc/{pid}/status")), "VmHWM:")? / 1024.0;
    Ok(Row {
        what: "daemon's memory, installing 100 MiB",
        target: format!("< {MEMORY} MiB"),
        measured: format!("{peak:.1} MiB"),
        share: peak / MEMORY,
    })
}

/// A home with one host, whose person trusts the server.
fn trusting(programs: &Path, server: &HttpsServer) -> Outcome<Throwaway> {
    let here = Throwaway::new(programs)?;
    registries::write(
        &here.home().join(".config/gsd/policy.toml"),
        format!("[network]\nprivate_hosts = [\"localhost:{}\"]\n", server.port()),
    )?;
    server.write_authority(&here.root().join("ca.pem"));
    std::fs::create_dir_all(here.home().join(".claude")).doing("making a host's folder")?;
    Ok(here)
}

fn install(here: &Throwaway, url: &str) -> Command {
    let mut command = here.command(here.program("gsdctl"));
    command.args(["install", url, "--runtime", "claude", "--yes", "--json"]);
    command.env("SSL_CERT_FILE", here.root().join("ca.pem"));
    command
}

/// Fetches, unpacks, and takes both digests of every file, as an install does.
fn stock(here: &Throwaway, url: &str, into: &Path) -> Command {
    let mut command = here.command("/bin/sh");
    let script = "set -e; curl -sSf --cacert \"$1\" \"$2\" | tar -xz -C \"$3\"; cd \"$3\"; \
        find . -type f -exec sha256sum {} + >/dev/null; find . -type f -exec sha512sum {} + >/dev/null";
    command.args(["-c", script, "sh"]).arg(here.root().join("ca.pem")).arg(url).arg(into);
    command
}

fn id(at: usize) -> String {
    format!("acme-archive-{at}")
}

fn path(at: usize) -> String {
    format!("/{at}.tgz")
}

/// A packed bundle of so many files and bytes of each; text, or what does not compress.
fn archive(id: &str, (files, bytes): (usize, usize), text: bool) -> Outcome<Vec<u8>> {
    let manifest = json!({
        "id": id, "role": "feature", "version": "1.0.0", "title": "Archive", "description": "Has many files.",
        "tier": "full", "requires": [], "engines": {"gsd": ">=1.6.0"},
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": [], "agents": [], "hooks": [{"event": "PreToolUse", "matcher": "Bash", "script": "hooks/nothing.sh"}],
        "config": {}, "steps": [], "contributions": [], "gates": []
    });
    let doing = "packing an archive";
    let mut packed = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut add = |path: &str, data: &[u8], mode: u32| {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(mode);
        packed.append_data(&mut header, path, data).doing(doing)
    };
    add("capability.json", manifest.to_string().as_bytes(), 0o644)?;
    add("hooks/nothing.sh", b"#!/bin/sh\nexit 0\n", 0o755)?;
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    for at in 0..files {
        let mut data: Vec<u8> = noise.by_ref().take(bytes).collect();
        if text {
            data.iter_mut().for_each(|byte| *byte = b' ' + *byte % 64);
        }
        add(&format!("data/{}/{at}.txt", at % 8), &data, 0o644)?;
    }
    packed.into_inner().doing(doing)?.finish().doing(doing)
}

/// Bytes that are always the same and look like none.
struct Noise(u64);

impl Iterator for Noise {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Some(self.0.to_le_bytes()[3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_have_the_size_that_is_told() {
        let size = |files, text| archive("acme-test", files, text).map_or(0, |packed| packed.len());
        assert!((100_000..115_000).contains(&size((4, 35_000), true)));
        assert!(size((1, 100_000), false) > 100_000);
    }
}
