//! What of each composed capability is installed, on the surface, and active.
//!
//! Source: ADR-1244 D7 (`state`); loop rules, section 7.5.

use serde_json::{Map, Value, json};

use super::envelope::{HookKind, is_configured};
use crate::activation::{ConfigView, EnabledSkills};
use crate::registry::Registry;

/// One object per capability, sorted by id, in upstream's shape.
#[must_use]
pub fn capability_states(registry: &Registry, skills: &EnabledSkills, config: &ConfigView) -> Vec<Value> {
    let mut capabilities: Vec<_> = registry.capabilities().iter().collect();
    capabilities.sort_by(|left, right| left.id().cmp(right.id()));
    capabilities
        .into_iter()
        .map(|composed| {
            let manifest = &composed.manifest;
            let enabled = skills.enabled(&manifest.skills);
            let active = enabled && manifest.activation_key.as_deref().is_none_or(|key| config.is_on(key));
            json!({
                "id": composed.id().as_str(),
                "tier": manifest.tier.as_str(),
                "skills": manifest.skills,
                "installed": skills.installed(&manifest.skills),
                "surfaced": skills.surfaced(&manifest.skills),
                "enabled": enabled,
                "active": active,
                "hooks": hooks(&manifest.document.read(), active, config),
            })
        })
        .collect()
}

/// Steps, gates, contributions, in this order.
fn hooks(manifest: &Value, owner_is_active: bool, config: &ConfigView) -> Vec<Value> {
    let lists =
        [("steps", HookKind::Step), ("gates", HookKind::Gate), ("contributions", HookKind::Contribution)];
    let entries = lists.into_iter().flat_map(|(list, kind)| {
        let entries = manifest.get(list).and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(Value::as_object).map(move |entry| (kind, entry))
    });
    entries
        .map(|(kind, entry)| {
            let configured = is_configured(entry, config);
            let mut row = Map::new();
            row.insert("point".to_owned(), entry.get("point").cloned().unwrap_or_default());
            row.insert("kind".to_owned(), kind.as_str().into());
            if let Some(when) = entry.get("when") {
                row.insert("when".to_owned(), when.clone());
            }
            row.insert("configured".to_owned(), configured.into());
            row.insert("active".to_owned(), (owner_is_active && configured).into());
            Value::Object(row)
        })
        .collect()
}
