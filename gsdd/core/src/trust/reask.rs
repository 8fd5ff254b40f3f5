//! Whether an update needs a new approval.
//!
//! Upstream asks when its signature changes. That misses new bytes behind an old path, a wider matcher, a changed
//! gate command, an older version and another source, so here each of them is a reason of its own.
//!
//! Source: ADR-1244 D5 rule 4, threats T104, T105, T133, T147, T148.

use super::digest::surface_digest;
use super::disclosure::Disclosure;
use super::lines::FileFacts;
use super::signature::disclosure_signature;

/// What can run, at one point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutableState {
    /// Upstream's signature.
    pub signature: String,
    /// Our wider digest.
    pub surfaces: String,
    /// Whether anything runs at all.
    pub has_executable: bool,
}

impl ExecutableState {
    /// The state of a bundle.
    #[must_use]
    pub fn of(manifest: &serde_json::Value, files: &FileFacts) -> Self {
        let disclosure = Disclosure::collect(manifest);
        let signature = disclosure_signature(manifest);
        let surfaces = surface_digest(&signature, &disclosure, files);
        Self { signature, surfaces, has_executable: disclosure.has_executable() }
    }
}

/// Why a person is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReaskReason {
    /// What is installed was never approved on this machine, or changed since.
    NotApproved,
    /// The declared executable surfaces differ.
    SurfacesChanged,
    /// The declared surfaces are the same to upstream, but a matcher, a gate command or executable content differs.
    ContentChanged,
    /// The new version is older.
    Downgrade,
    /// It comes from another source.
    SourceChanged,
}

/// The reasons to ask before `new` replaces `old`; none when nothing in `new` runs.
#[must_use]
pub fn reasons_to_ask_again(
    old: &ExecutableState,
    new: &ExecutableState,
    facts: &UpdateFacts,
) -> Vec<ReaskReason> {
    if !new.has_executable {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    if !facts.old_is_approved {
        reasons.push(ReaskReason::NotApproved);
    }
    if old.signature != new.signature {
        reasons.push(ReaskReason::SurfacesChanged);
    } else if old.surfaces != new.surfaces {
        reasons.push(ReaskReason::ContentChanged);
    }
    if facts.is_downgrade {
        reasons.push(ReaskReason::Downgrade);
    }
    if facts.source_changed {
        reasons.push(ReaskReason::SourceChanged);
    }
    reasons
}

/// Facts about an update that the manifests do not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateFacts {
    /// The bundle that is live now is approved on this machine, by content.
    pub old_is_approved: bool,
    /// The new version is lower than the installed one.
    pub is_downgrade: bool,
    /// The source spec is not the recorded one.
    pub source_changed: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::trust::lines::FileFact;

    fn state(manifest: &Value, script: &str) -> ExecutableState {
        let fact = FileFact { digest: script.to_owned(), bytes: 1 };
        ExecutableState::of(manifest, &FileFacts { files: [("a.sh".to_owned(), fact)].into() })
    }

    const QUIET: UpdateFacts =
        UpdateFacts { old_is_approved: true, is_downgrade: false, source_changed: false };

    #[test]
    fn t104_t105_t147_t148_each_change_is_a_reason() {
        let hook = |matcher: Value| json!({"hooks": [{"event": "E", "script": "a.sh", "matcher": matcher}]});
        let old = state(&hook(json!("Write")), "1");
        assert_eq!(reasons_to_ask_again(&old, &old, &QUIET), []);
        let wider = state(&hook(Value::Null), "1");
        assert_eq!(reasons_to_ask_again(&old, &wider, &QUIET), [ReaskReason::ContentChanged]);
        let other_bytes = state(&hook(json!("Write")), "2");
        assert_eq!(reasons_to_ask_again(&old, &other_bytes, &QUIET), [ReaskReason::ContentChanged]);
        let facts = UpdateFacts { old_is_approved: false, is_downgrade: true, source_changed: true };
        assert_eq!(
            reasons_to_ask_again(&old, &old, &facts),
            [ReaskReason::NotApproved, ReaskReason::Downgrade, ReaskReason::SourceChanged]
        );
        let nothing = state(&json!({}), "1");
        assert_eq!(reasons_to_ask_again(&old, &nothing, &facts), []);
        assert_eq!(reasons_to_ask_again(&nothing, &old, &QUIET), [ReaskReason::SurfacesChanged]);
    }
    /// Whatever decides what is started, where, with what, or whom it talks to.
    #[test]
    fn t106_t107_t109_t110_t113_t116_t117_each_part_of_a_launch_is_a_reason() {
        let manifest = json!({
            "mcpServers": {
                "local": {"command": "node", "args": ["a.js", {"k": 1}], "env": {"A": "b"}, "cwd": "x", "envFile": ".env"},
                "remote": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "one"}},
            },
            "reviewer": {
                "slug": "acme", "transport": "cli", "handler": "plain", "probe": {"binary": "acme", "args": ["--version"]},
                "invoke": {"binary": "acme", "args": ["-x"], "hostConfigKey": "acme.host", "defaultHost": "a.example",
                    "promptChannel": "stdin"},
            },
            "gates": [{"point": "ship:pre", "check": {"predicate": {"kind": "command-exit-zero", "command": "true"}}}],
        });
        let old = state(&manifest, "1");
        for pointer in [
            "/mcpServers/local/command",
            "/mcpServers/local/args/0",
            "/mcpServers/local/args/1/k",
            "/mcpServers/local/env/A",
            "/mcpServers/local/cwd",
            "/mcpServers/local/envFile",
            "/mcpServers/remote/url",
            "/mcpServers/remote/headers/Authorization",
            "/reviewer/transport",
            "/reviewer/handler",
            "/reviewer/probe/binary",
            "/reviewer/probe/args/0",
            "/reviewer/invoke/binary",
            "/reviewer/invoke/args/0",
            "/reviewer/invoke/hostConfigKey",
            "/reviewer/invoke/defaultHost",
            "/reviewer/invoke/promptChannel",
            "/gates/0/check/predicate/command",
        ] {
            let mut other = manifest.clone();
            *other.pointer_mut(pointer).unwrap() = json!("evil");
            let reasons = reasons_to_ask_again(&old, &state(&other, "1"), &QUIET);
            assert_eq!(reasons.len(), 1, "{pointer}: {reasons:?}");
        }
        // Variables that make a program load something else are named as such, and values of headers are not repeated.
        let mut loud = manifest.clone();
        loud["mcpServers"]["local"]["env"] = json!({"LD_PRELOAD": "./x.so", "PATH": "./bin"});
        let lines =
            Disclosure::collect(&loud).lines(&FileFacts::default(), crate::trust::lines::Detail::PROMPT);
        let text: Vec<String> = lines.into_iter().map(|line| line.text).collect();
        let text = text.join("\n");
        assert_eq!(text.matches("(changes what runs)").count(), 2, "{text}");
        assert!(text.contains("https://a.example/mcp") && text.contains("Authorization"), "{text}");
        assert!(!text.contains("\"one\""), "{text}");
        assert!(text.contains("runs \"acme\" to see whether it works"), "{text}");
    }
}
