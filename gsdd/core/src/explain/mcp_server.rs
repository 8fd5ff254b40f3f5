//! Who brings an MCP server.

use serde_json::Value;

use super::explanation::{Explanation, Party, Verdict};
use super::subject::SubjectKind;
use super::world::{World, declares};
use crate::policy::SurfaceClass;
use crate::text::{shown, shown_up_to};

pub(super) fn explain(world: &World<'_>, name: &str) -> Option<Explanation> {
    let mut parties = Vec::new();
    for composed in world.composition.registry.capabilities() {
        let Some(config) = server(composed.manifest.mcp_servers.as_ref(), name) else { continue };
        let target = ["command", "url"].into_iter().find_map(|key| config.get(key).and_then(Value::as_str));
        let found = world.bundle_of(composed);
        let resting = world.resting(SurfaceClass::McpServers, composed);
        let runs = found.is_some() && resting.is_none();
        let why = resting.or_else(|| Some(found?.executable.sentence())).unwrap_or_default();
        let state = world.state(composed);
        let verdict = if runs { state.verdict } else { Verdict::Inactive };
        let note = format!("{}; {why}", target.unwrap_or("no command"));
        parties.push(Party {
            id: composed.id().to_string(),
            scope: composed.scope.as_str(),
            part: "owner",
            status: verdict.word(),
            note: shown_up_to(&note, 300),
        });
    }
    for (found, skip) in world.skipped() {
        if declares(found.candidate, |document| server(document.get("mcpServers"), name).is_some()) {
            parties.push(world.left_out(skip, "also-declares"));
        }
    }
    let first = parties.first()?;
    let verdict = [Verdict::Active, Verdict::Inactive, Verdict::Skipped]
        .into_iter()
        .find(|verdict| parties.iter().any(|party| party.status == verdict.word()))
        .unwrap_or(Verdict::Empty);
    Some(Explanation {
        kind: SubjectKind::Mcp,
        name: shown(name),
        verdict,
        text: format!("MCP server of {} ({}): {}", first.id, first.scope, first.note),
        rule: "decision D-05".to_owned(),
        parties,
        predicates: Vec::new(),
        fixes: Vec::new(),
    })
}

/// The server's configuration, in both shapes that authors use.
fn server<'v>(written: Option<&'v Value>, name: &str) -> Option<&'v Value> {
    match written? {
        Value::Object(by_name) => by_name.get(name),
        Value::Array(items) => {
            let item = items.iter().find(|item| item.get("name").and_then(Value::as_str) == Some(name))?;
            Some(item.get("config").unwrap_or(item))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
