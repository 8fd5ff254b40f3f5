//! The table, on the terminal and in `docs/benchmarks.md`.

use std::fmt::Write as _;

/// One measured value beside its target.
#[derive(Debug)]
pub(super) struct Row {
    /// What was measured.
    pub(super) what: &'static str,
    /// What it should be at most, in words.
    pub(super) target: String,
    /// What it was, in words.
    pub(super) measured: String,
    /// What it was, divided by what it should be at most.
    pub(super) share: f64,
}

impl Row {
    /// By how much the target is missed; 0 and below when it is met.
    pub(super) fn excess(&self) -> f64 {
        // Nothing measured is nothing met.
        if self.share.is_nan() { f64::INFINITY } else { self.share - 1.0 }
    }

    fn verdict(&self) -> &'static str {
        if self.excess() <= 0.0 { "ok" } else { "MISSED" }
    }
}

/// The table for the terminal.
pub(super) fn table(rows: &[Row]) -> String {
    let width =
        |column: fn(&Row) -> &str| rows.iter().map(|row| column(row).chars().count()).max().unwrap_or(0);
    let (what, target) = (width(|row| row.what), width(|row| row.target.as_str()));
    let mut out = String::new();
    for row in rows {
        let _ = writeln!(
            out,
            "{:<6} {:<what$}  target {:<target$}  measured {}",
            row.verdict(),
            row.what,
            row.target,
            row.measured
        );
    }
    out
}

/// The whole document.
pub(super) fn document(rows: &[Row], runs: u32) -> String {
    let mut out = format!(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench --write`; do not edit. Measured on {}.\n\n\
         A hook call runs on every tool call of everybody, so its cost is a promise. Times of different machines cannot be\n\
         compared, ratios can: what is compared here was measured in turns in one run ({runs} rounds, medians), with the\n\
         same code starting each process, a recorded payload on its standard input, and the answer read. `true` stands for\n\
         starting and ending `/bin/true` that way.\n\n\
         | | Target | Measured | |\n|---|---|---|---|\n",
        machine()
    );
    for row in rows {
        let _ = writeln!(out, "| {} | {} | {} | {} |", row.what, row.target, row.measured, row.verdict());
    }
    out.push_str(
        "\nHow each is measured:\n\n\
         - **Hook calls.** `gsdctl hook PreToolUse --host claude` with a running daemon and 44 first-party capabilities.\n  \
           First nothing listens; then one capability with the script `#!/bin/sh exit 0` does, which is verified and run on\n  \
           each call. Hosts start hooks through a shell, which costs about as much as `true` again and is not ours.\n\
         - **In the daemon.** From a request's arrival to its answer, as `gsdctl daemon status` tells it.\n\
         - **Composing.** The first `registry.list` of a fresh process, minus the same with an empty home: reading and\n  \
           judging 500 or 1,000 manifests with their fragments, and composing them with the first-party ones. One changed\n  \
           bundle: the same question to a process that knows the set, minus that question when nothing changed.\n\
         - **Validating.** A `manifest.validate` with a manifest of ordinary size, minus one without any; writing the request is not part of it.\n\
         - **Looking up.** `source.resolve` in a daemon, from a request's arrival to its answer: the configuration is read,\n  \
           a TLS connection is made, one file of an index with 100,000 is fetched from a stock web server on loopback, and a\n  \
           version is chosen. Nothing is kept from one lookup to the next.\n\
         - **Installing.** `gsdctl install URL --yes` of an archive of 200 files, 5 MiB packed and 7 MiB unpacked, with a hook that\n  \
           is wired into one host, in turns with `curl | tar -xz` and `sha256sum` and `sha512sum` of every file; server and\n  \
           clients share one machine. Unlike those, an install writes everything twice and waits for the disk. Memory is the\n  \
           largest resident set of a fresh daemon (`VmHWM`) that installs 100 MiB in 50 files, with `limits.bundle_bytes` set.\n\
         - **At rest.** Memory is the resident set after the set with 500 overlays has been composed and asked for. Wake-ups\n  \
           are voluntary context switches of all threads over five seconds in which nobody asks, in the quietest of three.\n\n\
         `cargo xtask bench --check` ends with an error when a target is missed by more than a quarter. A p99 on a machine\n\
         that others use too says as much about them as about us; the p99 of `true` in the same run stands beside it.\n",
    );
    out
}

fn machine() -> String {
    let about_cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = about_cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "{} {} ({cores} cores, {})",
        std::env::consts::OS,
        std::env::consts::ARCH,
        model.unwrap_or("unknown processor")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_target_is_told_apart() {
        let row = |share| Row { what: "a", target: "≤ 2".into(), measured: "3".into(), share };
        assert!(table(&[row(1.0)]).starts_with("ok"));
        assert!(table(&[row(1.1)]).starts_with("MISSED"));
        assert!(row(f64::NAN).excess().is_infinite());
    }
}
