//! Which hooks of a point are active, and their wire shape.

use serde_json::{Map, Value, json};

use super::markdown::markdown;
use crate::activation::ConfigView;
use crate::ids::is_reserved_property_name;
use crate::registry::{PointHooks, Wired};

/// Kind of a loop hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookKind {
    /// An independent unit of work.
    Step,
    /// A fragment for an agent role.
    Contribution,
    /// A check that can block.
    Gate,
}

impl HookKind {
    /// Word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Contribution => "contribution",
            Self::Gate => "gate",
        }
    }

    /// The list of a manifest that declares such hooks.
    fn list(self) -> &'static str {
        match self {
            Self::Step => "steps",
            Self::Contribution => "contributions",
            Self::Gate => "gates",
        }
    }
}

/// A hook as composed: owner, declared members, materialised fragment text.
#[derive(Clone, Debug)]
pub struct PointHook<'a> {
    /// Owner; never taken from the entry itself.
    pub owner: &'a str,
    /// Kind.
    pub kind: HookKind,
    /// Members as declared.
    pub entry: Map<String, Value>,
    /// Fragment text.
    pub inline: Option<&'a str>,
}

/// Steps, contributions and gates of a point, in composed order.
#[must_use]
pub fn point_hooks<'a>(hooks: &PointHooks<'a>) -> Vec<PointHook<'a>> {
    let mut all = Vec::new();
    for wired in &hooks.steps {
        all.extend(point_hook(wired, HookKind::Step, wired.hook.index));
    }
    for wired in &hooks.contributions {
        all.extend(point_hook(wired, HookKind::Contribution, wired.hook.index));
    }
    for wired in &hooks.gates {
        all.extend(point_hook(wired, HookKind::Gate, wired.hook.index));
    }
    all
}

fn point_hook<'a, T>(wired: &Wired<'a, T>, kind: HookKind, index: usize) -> Option<PointHook<'a>> {
    let entry = wired.written(kind.list(), index)?;
    Some(PointHook { owner: wired.owner_id().as_str(), kind, entry, inline: wired.body.map(AsRef::as_ref) })
}

/// A hook that is active, with its wire shape.
#[derive(Clone, Debug)]
pub struct ActiveHook {
    /// Owner.
    pub owner: String,
    /// Kind.
    pub kind: HookKind,
    /// Members in wire order.
    pub wire: Map<String, Value>,
}

impl ActiveHook {
    /// Whether it is a gate whose check is a shell command.
    #[must_use]
    pub fn runs_command(&self) -> bool {
        let kind = self.wire.get("check").and_then(|check| check.get("predicate")?.get("kind")?.as_str());
        self.kind == HookKind::Gate && kind == Some("command-exit-zero")
    }
}

/// Keeps the hooks whose owner is active and whose own `when` is on.
pub fn select<'a>(
    hooks: impl IntoIterator<Item = PointHook<'a>>,
    owner_is_active: &dyn Fn(&str) -> bool,
    config: &ConfigView,
) -> Vec<ActiveHook> {
    hooks
        .into_iter()
        .filter(|hook| owner_is_active(hook.owner) && is_configured(&hook.entry, config))
        .map(|hook| ActiveHook { owner: hook.owner.to_owned(), kind: hook.kind, wire: wire(&hook, config) })
        .collect()
}

/// Whether a hook's own `when` is on: absent or null is; a non-empty key is asked; anything else is off.
#[must_use]
pub(super) fn is_configured(entry: &Map<String, Value>, config: &ConfigView) -> bool {
    match entry.get("when") {
        None | Some(Value::Null) => true,
        Some(Value::String(key)) if !key.is_empty() => config.is_on(key),
        Some(_) => false,
    }
}

/// The envelope: `point`, `activeHooks`, `rendered`, and `warnings` only when there are any.
#[must_use]
pub fn envelope(point: &str, hooks: &[ActiveHook], warnings: &[String]) -> Value {
    let mut envelope = Map::new();
    envelope.insert("point".to_owned(), point.into());
    let active = hooks.iter().map(|hook| Value::Object(hook.wire.clone())).collect();
    envelope.insert("activeHooks".to_owned(), Value::Array(active));
    envelope.insert("rendered".to_owned(), markdown(point, hooks).into());
    if !warnings.is_empty() {
        envelope.insert("warnings".to_owned(), json!(warnings));
    }
    Value::Object(envelope)
}

/// Members in the order of the wire; absent ones are left out; no other member of the manifest gets through.
fn wire(hook: &PointHook<'_>, config: &ConfigView) -> Map<String, Value> {
    let mut wire = Map::new();
    wire.insert("capId".to_owned(), hook.owner.into());
    wire.insert("kind".to_owned(), hook.kind.as_str().into());
    let members: &[&str] = match hook.kind {
        HookKind::Step => &["ref", "fragment", "when", "produces", "consumes", "onError"],
        HookKind::Contribution => &["into", "fragment", "when", "produces", "consumes", "onError"],
        HookKind::Gate => &["when", "check", "blocking", "onError"],
    };
    for member in members {
        match (*member, hook.entry.get(*member)) {
            ("fragment", declared) => {
                if let Some(fragment) = fragment(declared, hook.inline) {
                    wire.insert("fragment".to_owned(), fragment);
                }
            }
            (_, None | Some(Value::Null)) => {}
            ("produces" | "consumes", Some(Value::Array(list))) if list.is_empty() => {}
            (_, Some(value)) => {
                wire.insert((*member).to_owned(), value.clone());
            }
        }
    }
    if hook.kind == HookKind::Contribution {
        let values = config_values(hook.entry.get("configValues"), config);
        if !values.is_empty() {
            wire.insert("configValues".to_owned(), Value::Object(values));
        }
    }
    wire
}

fn fragment(declared: Option<&Value>, inline: Option<&str>) -> Option<Value> {
    let declared = declared?.as_object()?;
    let mut kept = Map::new();
    if let Some(inline) = inline.or_else(|| declared.get("inline").and_then(Value::as_str)) {
        kept.insert("inline".to_owned(), inline.into());
    }
    if let Some(path) = declared.get("path").filter(|path| path.is_string()) {
        kept.insert("path".to_owned(), path.clone());
    }
    Some(Value::Object(kept))
}

fn config_values(declared: Option<&Value>, config: &ConfigView) -> Map<String, Value> {
    let aliases = declared.and_then(Value::as_object).into_iter().flatten();
    aliases
        .filter(|(alias, _)| !is_reserved_property_name(alias))
        .filter_map(|(alias, key)| Some((alias.clone(), config.resolve(key.as_str()?)?.clone())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook<'a>(owner: &'a str, kind: HookKind, entry: &'a Value) -> PointHook<'a> {
        PointHook { owner, kind, entry: entry.as_object().unwrap().clone(), inline: Some("Text.") }
    }

    #[test]
    fn only_known_members_in_wire_order() {
        let entry = json!({"onError": "skip", "point": "plan:pre", "capId": "security", "ref": {"skill": "s"},
            "produces": ["A.md"], "consumes": [], "fragment": {"path": "f.md", "x": 1}, "extra": true});
        let hooks = select([hook("acme", HookKind::Step, &entry)], &|_| true, &ConfigView::default());
        assert_eq!(
            Value::Object(hooks[0].wire.clone()).to_string(),
            r#"{"capId":"acme","kind":"step","ref":{"skill":"s"},"fragment":{"inline":"Text.","path":"f.md"},"produces":["A.md"],"onError":"skip"}"#
        );
    }

    #[test]
    fn an_inactive_owner_or_an_off_key_drops_the_hook() {
        let entry = json!({"when": "acme.on", "check": {"query": "q"}, "blocking": true, "onError": "halt"});
        let config = ConfigView::default();
        assert!(select([hook("acme", HookKind::Gate, &entry)], &|_| true, &config).is_empty());
        let entry = json!({"check": {"query": "q"}, "blocking": true, "onError": "halt"});
        assert!(select([hook("acme", HookKind::Gate, &entry)], &|_| false, &config).is_empty());
        assert_eq!(select([hook("acme", HookKind::Gate, &entry)], &|_| true, &config).len(), 1);
    }

    #[test]
    fn warnings_are_there_only_when_there_are_any() {
        assert!(envelope("ship:pre", &[], &[]).get("warnings").is_none());
        assert_eq!(envelope("ship:pre", &[], &["w".to_owned()])["warnings"], json!(["w"]));
    }
}
