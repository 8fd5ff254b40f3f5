//! The disclosure signature: which executable surfaces a manifest declares, as one comparable text.
//!
//! It is upstream's format and stays as it is, gaps included: matchers, gate commands and file contents are not in
//! it. What it leaves out is bound by [`super::digest`].
//!
//! Source: ADR-1244 D5 rule 4 (re-consent on a changed surface), lifecycle formats section 9.3.

use serde_json::{Map, Value, json};

use super::canonical_json::{canonical, utf16_order};
use super::surfaces;

/// The signature of a manifest of any shape; what is not an executable surface does not change it.
#[must_use]
pub fn disclosure_signature(manifest: &Value) -> String {
    let hooks = surfaces::hooks(manifest)
        .into_iter()
        .map(|hook| canonical(&json!(["hook", hook.event, hook.script])));
    let modules = surfaces::modules(manifest)
        .into_iter()
        .map(|module| canonical(&json!(["mod", module.family, module.module, module.router])));
    let servers = surfaces::servers(manifest).into_iter().map(|server| {
        canonical(&json!([
            "mcp",
            server.name,
            server.transport,
            server.command,
            server.args,
            server.url,
            object(server.headers),
            object(server.env),
            server.cwd,
            server.config,
        ]))
    });
    let mut parts = vec![sorted(hooks), sorted(modules), sorted(servers)];
    if let Some(lane) = surfaces::lane(manifest) {
        parts.push(json!([canonical(&json!([
            "lane",
            lane.slug,
            lane.transport,
            lane.binary,
            lane.args,
            lane.host_config_key,
            lane.prompt_channel,
            lane.handler,
        ]))]));
    }
    canonical(&Value::Array(parts))
}

fn sorted(lines: impl Iterator<Item = String>) -> Value {
    let mut lines: Vec<String> = lines.collect();
    lines.sort_by(|left, right| utf16_order(left, right));
    Value::Array(lines.into_iter().map(Value::String).collect())
}

fn object(members: Vec<(&str, &str)>) -> Map<String, Value> {
    members.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and values can hold every character that a flat text would separate them with.
    #[test]
    fn t128_no_delimiter_makes_two_declarations_one() {
        let command = |family: &str, module: &str, router: &str| json!({"commands": [{"family": family, "module": module, "router": router}]});
        let server = |name: &str, command: &str, args: Value| json!({"mcpServers": {name: {"command": command, "args": args}}});
        let hook = |event: &str, script: &str| json!({"hooks": [{"event": event, "script": script}]});
        let manifests = [
            command("x:a", "b", "c"),
            command("x", "a:b", "c"),
            command("x", "a", "b:c"),
            command("x\",\"a", "b", "c"),
            server("x:a", "b", json!([])),
            server("x", "a:b", json!([])),
            server("x", "b", json!(["c d"])),
            server("x", "b", json!(["c", "d"])),
            server("x", "b c", json!(["d"])),
            hook("x", "a"),
            hook("x:a", "b"),
            hook("x", "a:b"),
            hook("x\",\"a", "b"),
        ];
        let signatures: std::collections::BTreeSet<String> =
            manifests.iter().map(disclosure_signature).collect();
        assert_eq!(signatures.len(), manifests.len(), "{signatures:#?}");
    }
}
