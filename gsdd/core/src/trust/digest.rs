//! The values that an approval of ours names.
//!
//! A person approves what was shown for one exact content. [`consent_digest`] is the token of that content, so that a
//! yes for one bundle is worth nothing for another (threat T183); it also decides, later, whether what lies there is
//! still what was approved. [`surface_digest`] is the comparison value for updates: unlike upstream's signature it
//! covers matchers, gate commands, the whole lane, and the bytes of everything that runs (threats T104, T105, T116,
//! T117).

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::canonical_json::{canonical, write_string};
use super::disclosure::{CommandCode, Disclosure};
use super::lines::FileFacts;
use crate::json::parse_strict;

/// The token that an approval carries: `sha256:<64 hex>` over the manifest, the bytes of every other file (so of all
/// that runs and all that instructs) and the names of all folders.
///
/// Of the manifest it covers what it says and not how it is spelled: the order of keys and blanks are free, every
/// number counts with all its digits, and what is not one clean document counts byte by byte. Upstream's signature
/// has neither property (threat T129).
///
/// `files` are the facts about all files of the bundle; its entry for the manifest is not looked at.
#[must_use]
pub fn consent_digest<'f>(
    manifest: Option<&[u8]>,
    files: &FileFacts,
    folders: impl IntoIterator<Item = &'f str>,
) -> String {
    let contents: Vec<Value> = files
        .files
        .iter()
        .filter(|(path, _)| *path != MANIFEST)
        .map(|(path, fact)| json!([path, fact.digest]))
        .collect();
    let mut folders: Vec<&str> = folders.into_iter().collect();
    folders.sort_unstable();
    sha256_of(&json!(["gsdd consent 2", manifest.map(meaning), contents, folders]))
}

const MANIFEST: &str = "capability.json";

/// What a manifest says, without how it is spelled.
fn meaning(manifest: &[u8]) -> Value {
    // Where two readers could disagree about a document, every byte counts.
    let document =
        parse_strict(manifest).ok().and_then(|_| serde_json::from_slice::<&RawValue>(manifest).ok());
    match document {
        Some(document) => {
            let mut text = String::with_capacity(manifest.len());
            write_meaning(document, &mut text);
            json!(["document", sha256(text.as_bytes())])
        }
        None => json!(["bytes", sha256(manifest)]),
    }
}

/// Recursion is bounded: the strict reader has refused deep documents.
fn write_meaning(value: &RawValue, out: &mut String) {
    let text = value.get().trim();
    if let Some(members) = text.strip_prefix('{').and_then(|_| parsed::<BTreeMap<String, &RawValue>>(text)) {
        out.push('{');
        for (key, member) in members {
            write_string(&key, out);
            out.push(':');
            write_meaning(member, out);
            out.push(',');
        }
        out.push('}');
    } else if let Some(items) = text.strip_prefix('[').and_then(|_| parsed::<Vec<&RawValue>>(text)) {
        out.push('[');
        for item in items {
            write_meaning(item, out);
            out.push(',');
        }
        out.push(']');
    } else if let Some(string) = text.strip_prefix('"').and_then(|_| parsed::<String>(text)) {
        write_string(&string, out);
    } else {
        // Numbers as they are written: a double would make two long ones equal.
        out.push_str(text);
    }
}

fn parsed<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// The token of an agreement to a linked folder: what was shown for its present content, and that every later content
/// of `folder` runs without another question. `shown` is the [`consent_digest`] of a copy. Source: threat T183.
#[must_use]
pub fn link_digest(shown: &str, folder: &str) -> String {
    sha256_of(&json!(["gsdd consent to a link 1", folder, shown]))
}

/// The token of an agreement to a reviewer lane that sends to `address`: the same content with another destination in
/// the configuration is another agreement. `shown` is the token without it. Source: ADR-2782 D5; threat T114.
#[must_use]
pub fn destination_digest(shown: &str, address: &str) -> String {
    sha256_of(&json!(["gsdd consent to a destination 1", address, shown]))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::lines::FileFact;

    fn token(manifest: &str, content: &[u8]) -> String {
        let fact = FileFact { digest: sha256(content), bytes: content.len() as u64 };
        let files = FileFacts { files: [("a".to_owned(), fact)].into() };
        consent_digest(Some(manifest.as_bytes()), &files, ["empty"])
    }

    #[test]
    fn t183_an_approval_fits_one_content_and_one_disclosure() {
        let narrow = r#"{"hooks":[{"event":"PreToolUse","script":"a","matcher":"Write"}]}"#;
        let wide = r#"{"hooks":[{"event":"PreToolUse","script":"a"}]}"#;
        let tokens = [
            token(narrow, b"1"),
            token(narrow, b"2"),
            token(wide, b"1"),
            token("{}", b"1"),
            token("[]", b"1"),
            token("", b"1"),
            consent_digest(None, &FileFacts::default(), []),
            consent_digest(None, &FileFacts::default(), ["folder"]),
        ];
        for (index, left) in tokens.iter().enumerate() {
            assert!(left.starts_with("sha256:") && left.len() == 71);
            for right in &tokens[index + 1..] {
                assert_ne!(left, right);
            }
        }
        assert_eq!(token(narrow, b"1"), tokens[0]);
    }

    #[test]
    fn the_spelling_of_a_manifest_is_free_and_what_it_says_is_not() {
        let plain = token(r#"{"a":[1,{"x":"é","y":null}],"b":true}"#, b"");
        assert_eq!(token("{ \"b\": true,\n \"a\": [ 1, {\"y\":null, \"x\":\"\\u00e9\"} ] }\n", b""), plain);
        for other in [
            r#"{"a":[{"x":"é","y":null},1],"b":true}"#,
            r#"{"a":[1,{"x":"é","y":null}],"b":"true"}"#,
            r#"{"a":[1,{"x":"e","y":null}],"b":true}"#,
            r#"{"a":[1.0,{"x":"é","y":null}],"b":true}"#,
            r#"{"a":[1,{"x":"é","y":null}],"b":true,"b":true}"#,
            r#"{"a":[1,{"x":"é","y":null}],"b":true} x"#,
        ] {
            assert_ne!(token(other, b""), plain, "{other}");
        }
    }

    #[test]
    fn t129_what_the_shared_signature_cannot_tell_apart_is_told_apart() {
        // Numbers that one double stands for, and what no document says.
        let numbers = ["18446744073709551616", "18446744073709551617", "1e400", "null"];
        // Deeper than the shared form looks.
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(6000), "]".repeat(6000));
        let manifests = numbers
            .map(|number| format!(r#"{{"mcpServers":{{"s":{{"command":"x","port":{number}}}}}}}"#))
            .into_iter()
            .chain([deep("1"), deep("2")].map(|value| format!(r#"{{"mcpServers":{value}}}"#)));
        let tokens: std::collections::BTreeSet<String> =
            manifests.map(|manifest| token(&manifest, b"")).collect();
        assert_eq!(tokens.len(), 6);
    }

    #[test]
    fn t183_an_approval_of_a_copy_is_none_of_a_link() {
        let copy = token("{}", b"1");
        let link = link_digest(&copy, "/a");
        assert!(link.starts_with("sha256:") && link.len() == 71);
        assert_ne!(link, copy);
        assert_ne!(link, link_digest(&copy, "/b"));
        assert_ne!(link, link_digest(&token("{}", b"2"), "/a"));
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
