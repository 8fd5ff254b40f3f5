//! The values that an approval of ours names.
//!
//! A person approves what was shown for one exact content. [`consent_digest`] puts both into one token, so that a
//! yes for one bundle is worth nothing for another (threat T183). [`surface_digest`] is the comparison value for
//! updates: unlike upstream's signature it covers matchers, gate commands, the whole lane, and the bytes of
//! everything that runs (threats T104, T105, T116, T117).

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::canonical_json::canonical;
use super::content_hash::ContentHash;
use super::disclosure::{CommandCode, Disclosure};
use super::lines::FileFacts;

/// The token that an approval carries: `sha256:<64 hex>`.
#[must_use]
pub fn consent_digest(content_hash: &ContentHash, signature: &str, disclosure: &Disclosure) -> String {
    sha256_of(&json!([
        "gsdd consent 1",
        content_hash.as_str(),
        signature,
        executable(disclosure),
        instructing(disclosure)
    ]))
}

/// The token of an agreement to a linked folder: what was shown for its present content, and that every later content
/// of `folder` runs without another question. `shown` is the [`consent_digest`] of a copy. Source: threat T183.
#[must_use]
pub fn link_digest(shown: &str, folder: &str) -> String {
    sha256_of(&json!(["gsdd consent to a link 1", folder, shown]))
}

/// Digest of everything that would run, file contents included: `sha256:<64 hex>`.
///
/// A script can load any other file of its bundle, so every file counts except the manifest (its surfaces are bound
/// by themselves) and prose. Without an executable surface no file counts. `signature` binds the full server configurations, header values included, which the disclosure does not carry.
#[must_use]
pub fn surface_digest(signature: &str, disclosure: &Disclosure, files: &FileFacts) -> String {
    let declared = disclosure.files_that_run(files);
    let contents: Vec<Value> = files
        .files
        .iter()
        .filter(|(path, _)| disclosure.has_executable() && (may_run(path) || declared.contains(path)))
        .map(|(path, fact)| json!([path, fact.digest]))
        .collect();
    sha256_of(&json!(["gsdd surfaces 1", signature, executable(disclosure), contents]))
}

/// Whether a file of a bundle with executable surfaces may take part in what runs.
fn may_run(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let is_prose = [".md", ".markdown", ".txt", ".rst"].iter().any(|extension| lower.ends_with(extension));
    path != "capability.json" && !is_prose
}

/// `sha256:<64 hex>` of some bytes, the form of digests in disclosures.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    sha256_text(&Sha256::digest(bytes).into())
}

/// The same form of a digest that was computed elsewhere.
#[must_use]
pub fn sha256_text(digest: &[u8; 32]) -> String {
    use std::fmt::Write as _;
    let mut out = String::from("sha256:");
    for byte in digest {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

fn sha256_of(value: &Value) -> String {
    sha256(canonical(value).as_bytes())
}

fn executable(disclosure: &Disclosure) -> Value {
    let hooks: Vec<Value> =
        disclosure.hooks.iter().map(|hook| json!([hook.event, hook.script, hook.matcher])).collect();
    let commands: Vec<Value> = disclosure
        .modules
        .iter()
        .map(|command| match &command.runs {
            CommandCode::Module { module, router } => json!([command.family, "module", module, router]),
            CommandCode::Exec { exec } => json!([command.family, "exec", exec]),
        })
        .collect();
    let servers: Vec<Value> = disclosure
        .servers
        .iter()
        .map(|server| {
            json!([
                server.name,
                server.transport,
                server.command,
                server.args,
                server.url,
                server.header_names,
                server.env,
                server.cwd,
                server.other_fields,
            ])
        })
        .collect();
    let gates: Vec<Value> =
        disclosure.gate_commands.iter().map(|gate| json!([gate.point, gate.command, gate.timeout])).collect();
    let lane = disclosure.lane.as_ref().map(|lane| {
        json!([
            lane.slug,
            lane.transport,
            lane.binary,
            lane.args,
            lane.host_config_key,
            lane.default_host,
            lane.prompt_channel,
            lane.handler,
            lane.probe_binary,
            lane.rest,
        ])
    });
    json!([hooks, commands, servers, gates, lane])
}

fn instructing(disclosure: &Disclosure) -> Value {
    json!([disclosure.skills, disclosure.agents, disclosure.commands, disclosure.fragments])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::content_hash::{EntryKind, content_hash};
    use crate::trust::lines::FileFact;
    use crate::trust::signature::disclosure_signature;

    fn token(manifest: &Value, content: &[u8]) -> String {
        let hash = content_hash(&mut vec![(b"a".to_vec(), EntryKind::File(content))]);
        consent_digest(&hash, &disclosure_signature(manifest), &Disclosure::collect(manifest))
    }

    #[test]
    fn t183_an_approval_fits_one_content_and_one_disclosure() {
        let narrow = json!({"hooks": [{"event": "PreToolUse", "script": "a", "matcher": "Write"}]});
        let wide = json!({"hooks": [{"event": "PreToolUse", "script": "a"}]});
        let gated = json!({"gates": [{"check": {"predicate": {"command": "id"}}}]});
        let tokens = [
            token(&narrow, b"1"),
            token(&narrow, b"2"),
            token(&wide, b"1"),
            token(&gated, b"1"),
            token(&json!({}), b"1"),
        ];
        for (index, left) in tokens.iter().enumerate() {
            assert!(left.starts_with("sha256:") && left.len() == 71);
            for right in &tokens[index + 1..] {
                assert_ne!(left, right);
            }
        }
        assert_eq!(token(&narrow, b"1"), tokens[0]);
    }

    #[test]
    fn t183_an_approval_of_a_copy_is_none_of_a_link() {
        let copy = token(&json!({}), b"1");
        let link = link_digest(&copy, "/a");
        assert!(link.starts_with("sha256:") && link.len() == 71);
        assert_ne!(link, copy);
        assert_ne!(link, link_digest(&copy, "/b"));
        assert_ne!(link, link_digest(&token(&json!({}), b"2"), "/a"));
        assert_eq!(link, link_digest(&copy, "/a"));
    }

    #[test]
    fn t105_script_content_counts_for_updates() {
        let manifest = json!({"hooks": [
            {"event": "Stop", "script": "./a.sh"}, {"event": "Stop", "script": "run.md"},
        ]});
        let disclosure = Disclosure::collect(&manifest);
        let with = |file: &str, digest: &str| {
            let fact = FileFact { digest: digest.to_owned(), bytes: 1 };
            let files = FileFacts { files: [(file.to_owned(), fact)].into() };
            surface_digest("s", &disclosure, &files)
        };
        assert_ne!(with("a.sh", "sha256:1"), with("a.sh", "sha256:2"));
        assert_ne!(with("lib/loaded-by-a.sh", "sha256:1"), with("lib/loaded-by-a.sh", "sha256:2"));
        assert_eq!(with("README.md", "sha256:1"), with("README.md", "sha256:2"));
        assert_ne!(with("run.md", "sha256:1"), with("run.md", "sha256:2"));
    }
}
