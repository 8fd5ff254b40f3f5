//! The lenient reading of a manifest that signature and disclosure share: any bad shape becomes "nothing of this
//! class", never an error, so that a broken manifest can't hide a surface behind a failure.

use serde_json::{Map, Value};

use crate::ids::is_reserved_property_name;

/// A hook as declared: event and matcher may be empty, the script never is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawHook<'a> {
    pub(super) event: &'a str,
    pub(super) script: &'a str,
    pub(super) matcher: Option<&'a Value>,
}

/// A command family with a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawModule<'a> {
    pub(super) family: &'a str,
    pub(super) module: &'a str,
    pub(super) router: &'a str,
}

/// An MCP server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawServer<'a> {
    pub(super) name: &'a str,
    pub(super) transport: &'a str,
    pub(super) command: &'a str,
    pub(super) args: &'a [Value],
    pub(super) url: &'a str,
    pub(super) headers: Vec<(&'a str, &'a str)>,
    pub(super) env: Vec<(&'a str, &'a str)>,
    pub(super) cwd: &'a str,
    /// The own members of the configuration, reserved names left out at this level.
    pub(super) config: Map<String, Value>,
}

/// A reviewer lane.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawLane<'a> {
    pub(super) slug: &'a str,
    pub(super) transport: &'a str,
    pub(super) binary: &'a str,
    pub(super) args: &'a [Value],
    pub(super) host_config_key: &'a str,
    pub(super) prompt_channel: &'a str,
    pub(super) handler: &'a str,
    pub(super) invoke: Option<&'a Map<String, Value>>,
    pub(super) body: &'a Map<String, Value>,
}

/// The string member `key`, or the empty string.
pub(super) fn text<'a>(members: &'a Map<String, Value>, key: &str) -> &'a str {
    members.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The array member `key`, or no items.
pub(super) fn items<'a>(members: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    members.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The object items of the top-level array `key`.
pub(super) fn object_items<'a>(
    manifest: &'a Value,
    key: &str,
) -> impl Iterator<Item = &'a Map<String, Value>> {
    manifest.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

pub(super) fn hooks(manifest: &Value) -> Vec<RawHook<'_>> {
    object_items(manifest, "hooks")
        .map(|hook| RawHook {
            event: text(hook, "event"),
            script: text(hook, "script"),
            matcher: hook.get("matcher"),
        })
        .filter(|hook| !hook.script.is_empty())
        .collect()
}

pub(super) fn modules(manifest: &Value) -> Vec<RawModule<'_>> {
    object_items(manifest, "commands")
        .map(|command| RawModule {
            family: text(command, "family"),
            module: text(command, "module"),
            router: text(command, "router"),
        })
        .filter(|command| !command.module.is_empty())
        .collect()
}

pub(super) fn servers(manifest: &Value) -> Vec<RawServer<'_>> {
    match manifest.get("mcpServers") {
        Some(Value::Object(by_name)) => by_name
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, config)| server(name, config))
            .collect(),
        Some(Value::Array(listed)) => listed
            .iter()
            .filter_map(|item| {
                let name = item.get("name")?.as_str().filter(|name| !name.is_empty())?;
                let config = item.get("config").filter(|config| !config.is_null()).unwrap_or(item);
                Some(server(name, config))
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn server<'a>(name: &'a str, config: &'a Value) -> RawServer<'a> {
    static NOTHING: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    let members = config.as_object().unwrap_or(&NOTHING);
    let own = match config {
        Value::Array(listed) => {
            listed.iter().enumerate().map(|(index, item)| (index.to_string(), item.clone())).collect()
        }
        _ => members
            .iter()
            .filter(|(key, _)| !is_reserved_property_name(key))
            .map(|(key, member)| (key.clone(), member.clone()))
            .collect(),
    };
    let declared_type = text(members, "type");
    RawServer {
        name,
        transport: if declared_type.is_empty() { text(members, "transport") } else { declared_type },
        command: text(members, "command"),
        args: items(members, "args"),
        url: text(members, "url"),
        headers: string_members(members, "headers"),
        env: string_members(members, "env"),
        cwd: text(members, "cwd"),
        config: own,
    }
}

fn string_members<'a>(members: &'a Map<String, Value>, key: &str) -> Vec<(&'a str, &'a str)> {
    members
        .get(key)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(name, _)| !is_reserved_property_name(name))
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        .collect()
}

pub(super) fn lane(manifest: &Value) -> Option<RawLane<'_>> {
    let body = manifest.get("reviewer")?.as_object()?;
    let invoke = body.get("invoke").and_then(Value::as_object);
    let invoked = |key: &str| invoke.map_or("", |invoke| text(invoke, key));
    let lane = RawLane {
        slug: text(body, "slug"),
        transport: text(body, "transport"),
        binary: invoked("binary"),
        args: invoke.map_or(&[], |invoke| items(invoke, "args")),
        host_config_key: invoked("hostConfigKey"),
        prompt_channel: invoked("promptChannel"),
        handler: text(body, "handler"),
        invoke,
        body,
    };
    let says_something =
        [lane.slug, lane.transport, lane.binary, lane.host_config_key, lane.prompt_channel, lane.handler]
            .iter()
            .any(|part| !part.is_empty())
            || !lane.args.is_empty();
    says_something.then_some(lane)
}
