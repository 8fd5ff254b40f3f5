//! From a document without a broken rule to [`Manifest`].
//!
//! Every step answers `None` instead of guessing; that happens only when a rule is missing, and then the
//! manifest counts as broken.

use std::sync::Arc;

use serde_json::Value;

use super::capability::{
    CommandDecl, ConfigSlice, Contribution, Fragment, Gate, GateCheck, HookDecl, Manifest, OnError,
    Predicate, ReviewerLane, Role, RuntimeCompat, SliceType, Step, StepRef, Tier,
};
use super::document::Document;
use super::findings::{Object, non_empty};
use crate::ids::CapabilityId;
use crate::registry::LoopPoint;
use crate::version::EngineRange;

/// Builds the manifest.
pub(super) fn build(raw: &Value, document: &Document) -> Option<Manifest> {
    let object = raw.as_object()?;
    let role = match text(object, "role")? {
        "feature" => Role::Feature,
        "runtime" => Role::Runtime,
        "reviewer" => Role::Reviewer,
        _ => return None,
    };
    let tier = Tier::ALL
        .into_iter()
        .find(|tier| object.get("tier").and_then(Value::as_str) == Some(tier.as_str()))?;
    let engines_gsd = object.get("engines").and_then(|engines| non_empty(engines.get("gsd")));
    let feature = role == Role::Feature;
    let list = |key: &str| -> &[Value] {
        let items = object.get(key).and_then(Value::as_array).filter(|_| feature);
        items.map(Vec::as_slice).unwrap_or_default()
    };
    Some(Manifest {
        id: CapabilityId::parse(text(object, "id")?).ok()?,
        role,
        version: text(object, "version")?.to_owned(),
        title: text(object, "title")?.to_owned(),
        description: text(object, "description")?.to_owned(),
        tier,
        requires: texts(object.get("requires")),
        engines_gsd: engines_gsd.map(str::to_owned),
        engine_range: match engines_gsd {
            Some(range) => Some(EngineRange::parse(range).ok()?),
            None => None,
        },
        runtime_compat: if feature { Some(runtime_compat(object.get("runtimeCompat")?)) } else { None },
        skills: if feature { texts(object.get("skills")) } else { Vec::new() },
        agents: if feature { texts(object.get("agents")) } else { Vec::new() },
        hooks: exactly(list("hooks").iter().map(hook))?,
        commands: exactly(list("commands").iter().map(command))?,
        steps: indexed(list("steps"), step)?,
        contributions: indexed(list("contributions"), contribution)?,
        gates: indexed(list("gates"), gate)?,
        config: config(object.get("config"))?,
        activation_key: list_free_text(object, "activationKey", feature),
        reviewer: object.get("reviewer").and_then(Value::as_object).and_then(lane),
        mcp_servers: object.get("mcpServers").cloned(),
        runtime: object.get("runtime").filter(|_| role == Role::Runtime).cloned(),
        document: document.clone(),
    })
}

fn text<'v>(object: &'v Object, key: &str) -> Option<&'v str> {
    object.get(key).and_then(Value::as_str)
}

fn owned(object: &Object, key: &str) -> Option<String> {
    text(object, key).map(str::to_owned)
}

fn list_free_text(object: &Object, key: &str, wanted: bool) -> Option<String> {
    if wanted { owned(object, key) } else { None }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Box<[_]>>().into()
}

/// Without room for more: manifests stay in memory.
fn exactly<T>(items: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    items.collect::<Option<Box<[T]>>>().map(Vec::from)
}

fn indexed<T>(items: &[Value], build: impl Fn(usize, &Object) -> Option<T>) -> Option<Vec<T>> {
    exactly(items.iter().enumerate().map(|(index, item)| build(index, item.as_object()?)))
}

fn runtime_compat(value: &Value) -> RuntimeCompat {
    let notes = value.get("notes").and_then(Value::as_object);
    RuntimeCompat {
        supported: texts(value.get("supported")),
        unsupported: texts(value.get("unsupported")),
        noted: notes.into_iter().flat_map(Object::keys).cloned().collect(),
    }
}

fn hook(value: &Value) -> Option<HookDecl> {
    let hook = value.as_object()?;
    Some(HookDecl {
        event: owned(hook, "event")?,
        script: owned(hook, "script")?,
        matcher: owned(hook, "matcher"),
    })
}

fn command(value: &Value) -> Option<CommandDecl> {
    let command = value.as_object()?;
    Some(CommandDecl {
        family: owned(command, "family")?,
        module: owned(command, "module"),
        router: owned(command, "router"),
        exec: owned(command, "exec"),
        subcommands: texts(command.get("subcommands")),
    })
}

fn point(entry: &Object) -> Option<LoopPoint> {
    LoopPoint::parse(text(entry, "point")?)
}

fn on_error(entry: &Object) -> Option<OnError> {
    match text(entry, "onError")? {
        "skip" => Some(OnError::Skip),
        "halt" => Some(OnError::Halt),
        _ => None,
    }
}

fn fragment(entry: &Object) -> Option<Fragment> {
    let fragment = entry.get("fragment")?.as_object()?;
    Some(Fragment { path: owned(fragment, "path"), inline: text(fragment, "inline").map(Arc::from) })
}

fn step(index: usize, entry: &Object) -> Option<Step> {
    let reference = entry.get("ref")?.as_object()?;
    let reference = owned(reference, "skill")
        .map(StepRef::Skill)
        .or_else(|| owned(reference, "agent").map(StepRef::Agent))
        .or_else(|| owned(reference, "command").map(StepRef::Command))?;
    Some(Step {
        point: point(entry)?,
        reference,
        produces: texts(entry.get("produces")),
        consumes: texts(entry.get("consumes")),
        on_error: on_error(entry)?,
        when: owned(entry, "when"),
        fragment: fragment(entry),
        index,
    })
}

fn contribution(index: usize, entry: &Object) -> Option<Contribution> {
    let values = entry.get("configValues").and_then(Value::as_object);
    let aliased = |(alias, key): (&String, &Value)| Some((alias.clone(), key.as_str()?.to_owned()));
    Some(Contribution {
        point: point(entry)?,
        into: owned(entry, "into")?,
        fragment: fragment(entry)?,
        produces: texts(entry.get("produces")),
        consumes: texts(entry.get("consumes")),
        on_error: on_error(entry),
        when: owned(entry, "when"),
        config_values: values.into_iter().flatten().filter_map(aliased).collect(),
        index,
    })
}

fn gate(index: usize, entry: &Object) -> Option<Gate> {
    let check = entry.get("check")?.as_object()?;
    let check = if let Some(query) = check.get("query") {
        GateCheck::Query(query.as_str().unwrap_or_default().to_owned())
    } else if let Some(condition) = check.get("predicate") {
        GateCheck::Predicate(predicate(condition))
    } else {
        GateCheck::AgentVerdict(check.get("agentVerdict")?.clone())
    };
    Some(Gate {
        point: point(entry)?,
        check,
        blocking: entry.get("blocking")?.as_bool()?,
        on_error: on_error(entry)?,
        when: owned(entry, "when"),
        index,
    })
}

fn predicate(value: &Value) -> Predicate {
    let known = value.as_object().and_then(|fields| match text(fields, "kind")? {
        "command-exit-zero" => Some(Predicate::CommandExitZero {
            command: owned(fields, "command")?,
            timeout_seconds: fields.get("timeout").and_then(Value::as_f64),
        }),
        "artifact-frontmatter-equals" => Some(Predicate::ArtifactFrontmatterEquals {
            artifact: owned(fields, "artifact")?,
            field: owned(fields, "field")?,
            equals: fields.get("equals")?.clone(),
        }),
        _ => None,
    });
    known.unwrap_or_else(|| Predicate::Unknown(value.clone()))
}

fn config(value: Option<&Value>) -> Option<Vec<(String, ConfigSlice)>> {
    let config = value.and_then(Value::as_object);
    exactly(
        config
            .into_iter()
            .flatten()
            .map(|(key, slice)| Some((key.clone(), config_slice(slice.as_object()?)?))),
    )
}

fn config_slice(slice: &Object) -> Option<ConfigSlice> {
    let kind = match text(slice, "type")? {
        "boolean" => SliceType::Boolean,
        "string" => SliceType::String,
        "number" => SliceType::Number,
        "enum" => SliceType::Enum,
        _ => return None,
    };
    Some(ConfigSlice {
        kind,
        default: slice.get("default")?.clone(),
        values: if kind == SliceType::Enum { texts(slice.get("values")) } else { Vec::new() },
        description: owned(slice, "description")?,
    })
}

fn lane(lane: &Object) -> Option<ReviewerLane> {
    Some(ReviewerLane {
        slug: owned(lane, "slug")?,
        flags: texts(lane.get("flags")),
        section: owned(lane, "reviewsSection")?,
    })
}
