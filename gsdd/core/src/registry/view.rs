//! The registry in its wire shape.

use serde_json::{Map, Value, json};

use super::composed::{Composed, PointHooks, Registry, Wired};
use super::loop_point::LoopPoint;
use crate::compose::Composition;
use crate::manifest::{CommandDecl, SliceType};

/// Version of the wire shape.
const SCHEMA_VERSION: &str = "1";

/// Which part of the registry is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// Everything.
    All,
    /// Id to manifest, fragments inlined.
    Capabilities,
    /// Skill to owner.
    BySkill,
    /// Agent to owner.
    ByAgent,
    /// Loop point to ordered hooks.
    ByLoopPoint,
    /// Config key to declaration.
    Config,
    /// Config key to owner.
    ConfigKeys,
    /// Command family to module and router.
    Families,
    /// Id to manifest, runtimes only.
    Runtimes,
    /// Id to sorted skills.
    Clusters,
    /// Id to tier and profiles.
    Profiles,
    /// Id to every id that it needs, directly or not.
    RequiresClosure,
    /// What was left out and why, and from where commands run.
    Overlay,
}

impl View {
    /// Every view with its word.
    pub const ALL: [(&'static str, Self); 13] = [
        ("all", Self::All),
        ("capabilities", Self::Capabilities),
        ("by-skill", Self::BySkill),
        ("by-agent", Self::ByAgent),
        ("by-loop-point", Self::ByLoopPoint),
        ("config", Self::Config),
        ("config-keys", Self::ConfigKeys),
        ("families", Self::Families),
        ("runtimes", Self::Runtimes),
        ("clusters", Self::Clusters),
        ("profiles", Self::Profiles),
        ("requires-closure", Self::RequiresClosure),
        ("overlay", Self::Overlay),
    ];

    /// The view with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(name, _)| *name == word).map(|(_, view)| view)
    }
}

impl Registry {
    /// One view as JSON. `overlay` adds the account of what was left out and why, to [`View::All`] and
    /// [`View::Overlay`] only.
    #[must_use]
    pub fn view(&self, view: View, overlay: Option<&Composition>) -> Value {
        match view {
            View::All => self.everything(overlay),
            View::Capabilities => {
                object(self.capabilities().iter().map(|c| (c.id().as_str(), manifest_with_bodies(c))))
            }
            View::BySkill => object(self.skills().map(|(name, owner)| (name, json!(owner.as_str())))),
            View::ByAgent => object(self.agents().map(|(name, owner)| (name, json!(owner.as_str())))),
            View::ByLoopPoint => {
                object(LoopPoint::ALL.into_iter().map(|p| (p.as_str(), point(&self.hooks_at(p)))))
            }
            View::Config => self.config_schema(),
            View::Families => {
                object(self.families().map(|f| (&f.command.family, family(f.owner.id().as_str(), f.command))))
            }
            View::Runtimes => {
                object(self.runtimes().map(|runtime| (runtime.id().as_str(), manifest_with_bodies(runtime))))
            }
            View::Clusters => object(self.clusters().map(|(id, skills)| (id.as_str(), json!(skills)))),
            View::Profiles => object(self.profile_membership().map(|(id, membership)| {
                let shape = json!({"tier": membership.tier.as_str(), "profiles": membership.profiles});
                (id.as_str(), shape)
            })),
            View::ConfigKeys => {
                object(self.config().map(|entry| (entry.key, json!(entry.owner.id().as_str()))))
            }
            View::RequiresClosure => object(self.capabilities().iter().map(|capability| {
                let id = capability.id().as_str();
                let closure = self.requires_closure(id);
                (id, json!(closure.iter().map(crate::ids::CapabilityId::as_str).collect::<Vec<_>>()))
            })),
            View::Overlay => overlay.map_or_else(|| json!({}), account),
        }
    }

    fn everything(&self, overlay: Option<&Composition>) -> Value {
        let mut all = Map::new();
        let mut put = |key: &str, value: Value| drop(all.insert(key.to_owned(), value));
        put("version", json!(SCHEMA_VERSION));
        put("capabilities", self.view(View::Capabilities, None));
        put("bySkill", self.view(View::BySkill, None));
        put("byAgent", self.view(View::ByAgent, None));
        put("byLoopPoint", self.view(View::ByLoopPoint, None));
        put("configKeys", self.view(View::ConfigKeys, None));
        put("configSchema", self.view(View::Config, None));
        put("runtimes", self.view(View::Runtimes, None));
        put("commandFamilies", self.view(View::Families, None));
        put("capabilityClusters", self.view(View::Clusters, None));
        put("profileMembership", self.view(View::Profiles, None));
        if let Some(composition) = overlay.filter(|composition| composition.overlay_attached) {
            put("_overlay", account(composition));
        }
        Value::Object(all)
    }

    fn config_schema(&self) -> Value {
        object(self.config().map(|entry| {
            let mut shape = json!({
                "owner": entry.owner.id().as_str(),
                "type": entry.slice.kind.as_str(),
                "default": entry.slice.default,
                "description": entry.slice.description,
            });
            if let (SliceType::Enum, Some(fields)) = (entry.slice.kind, shape.as_object_mut()) {
                fields.insert("values".to_owned(), json!(entry.slice.values));
            }
            (entry.key, shape)
        }))
    }
}

fn object<K: Into<String>>(entries: impl Iterator<Item = (K, Value)>) -> Value {
    Value::Object(entries.map(|(key, value)| (key.into(), value)).collect())
}

fn family(owner: &str, command: &CommandDecl) -> Value {
    match &command.exec {
        Some(exec) => json!({"capId": owner, "exec": exec}),
        None => json!({"capId": owner, "module": command.module, "router": command.router}),
    }
}

fn point(hooks: &PointHooks<'_>) -> Value {
    let steps = hooks.steps.iter().map(|w| entry(w, "steps", w.hook.index));
    let contributions = hooks.contributions.iter().map(|w| entry(w, "contributions", w.hook.index));
    let gates = hooks.gates.iter().map(|w| entry(w, "gates", w.hook.index));
    json!({
        "steps": steps.collect::<Vec<_>>(),
        "contributions": contributions.collect::<Vec<_>>(),
        "gates": gates.collect::<Vec<_>>(),
    })
}

/// The entry as written, under its true owner: a member `capId` of the manifest never shows.
fn entry<T>(wired: &Wired<'_, T>, list: &str, index: usize) -> Value {
    let mut fields = Map::new();
    fields.insert("capId".to_owned(), json!(wired.owner_id().as_str()));
    for (key, value) in wired.written(list, index).into_iter().flatten() {
        if key != "capId" {
            fields.insert(key, value);
        }
    }
    if let Some(body) = wired.body {
        inline(fields.get_mut("fragment"), body);
    }
    Value::Object(fields)
}

fn inline(fragment: Option<&mut Value>, body: &str) {
    if let Some(fragment) = fragment.and_then(Value::as_object_mut) {
        fragment.insert("inline".to_owned(), json!(body));
    }
}

fn manifest_with_bodies(capability: &Composed) -> Value {
    let mut manifest = capability.manifest.document.read();
    for (list, bodies) in
        [("steps", &capability.step_bodies), ("contributions", &capability.contribution_bodies)]
    {
        for (index, body) in bodies.iter().enumerate() {
            let entry = manifest.get_mut(list).and_then(|list| list.get_mut(index));
            if let (Some(entry), Some(body)) = (entry, body) {
                inline(entry.get_mut("fragment"), body);
            }
        }
    }
    manifest
}

/// What was left out, in upstream's shape.
fn account(composition: &Composition) -> Value {
    let warnings = composition.skips.iter().map(|skip| {
        let mut fields = json!({"id": skip.id, "scope": skip.scope.as_str(), "reason": skip.text()});
        if let (Some(kind), Some(fields)) = (skip.reason.kind(), fields.as_object_mut()) {
            fields.insert("kind".to_owned(), json!(kind));
        }
        fields
    });
    let blocked = composition.blocked_gates.iter().map(|gate| {
        json!({"point": gate.point, "capId": gate.id, "scope": gate.scope.as_str(), "reason": gate.reason})
    });
    json!({
        "warnings": warnings.collect::<Vec<_>>(),
        "diagnostics": composition.diagnostics,
        "incompatibleGateCapIds": composition.gate_caps,
        "blockedGates": blocked.collect::<Vec<_>>(),
        "commandRoots": object(composition.command_roots.iter().map(|(id, dir)| (id.as_str(), json!(dir)))),
    })
}
