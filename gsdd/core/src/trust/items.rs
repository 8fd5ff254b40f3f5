//! The disclosure as values for programs: every item with everything that is declared of it, in full.
//!
//! Texts are exact: a program compares arguments and addresses. Who prints them cleans them first, as
//! [`super::lines`] does for people.

use serde_json::{Map, Value, json};

use super::disclosure::{CommandCode, Disclosure, LaneSurface, McpSurface, file_named_by};
use super::lines::FileFacts;
use super::tokens::{Instruction, estimated_tokens};

/// What a reviewer lane is given to read.
pub const LANE_RECEIVES: [&str; 4] =
    ["plan text", "requirements", "research findings", "CONTEXT.md decisions"];

impl Disclosure {
    /// What runs or sends data away, each an object with `kind`: `hook`, `command`, `gate_command`, `mcp_server` or
    /// `reviewer_lane`. Files of the bundle come with `sha256:<hex>` and size.
    #[must_use]
    pub fn executable_items(&self, files: &FileFacts) -> Vec<Value> {
        let mut items = Vec::new();
        for hook in &self.hooks {
            items.push(with_file(
                json!({"kind": "hook", "event": hook.event, "matcher": hook.matcher, "script": hook.script}),
                &hook.script,
                files,
            ));
        }
        for command in &self.modules {
            let family = &command.family;
            items.push(match &command.runs {
                CommandCode::Module { module, router } => with_file(
                    json!({"kind": "command", "family": family, "module": module, "router": router}),
                    module,
                    files,
                ),
                CommandCode::Exec { exec } => {
                    with_file(json!({"kind": "command", "family": family, "exec": exec}), exec, files)
                }
            });
        }
        for gate in &self.gate_commands {
            items.push(json!({"kind": "gate_command", "point": gate.point, "command": gate.command,
                "timeout": gate.timeout}));
        }
        items.extend(self.servers.iter().map(|server| server_item(server, files)));
        items.extend(self.lane.as_ref().map(lane_item));
        items
    }

    /// What instructs the agent, each an object with `kind` (`skill`, `agent`, `command`, `fragment`), `name`, and the
    /// size of what the agent gets to read.
    #[must_use]
    pub fn instructing_items(&self, files: &FileFacts) -> Vec<Value> {
        let item = |instruction: &Instruction| {
            json!({
                "kind": instruction.kind,
                "name": instruction.name,
                "bytes": instruction.bytes,
                "tokens": estimated_tokens(instruction.bytes),
            })
        };
        self.instructions(files).iter().map(item).collect()
    }
}

fn with_file(item: Value, declared: &str, files: &FileFacts) -> Value {
    let Value::Object(mut members) = item else { return item };
    let fact = files.get(declared);
    members.insert("digest".to_owned(), fact.map(|fact| fact.digest.as_str()).into());
    members.insert("bytes".to_owned(), fact.map(|fact| fact.bytes).into());
    Value::Object(members)
}

fn server_item(server: &McpSurface, files: &FileFacts) -> Value {
    let env: Map<String, Value> =
        server.env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    let named: Map<String, Value> = std::iter::once(&server.command)
        .chain(&server.args)
        .filter_map(|part| file_named_by(part, files))
        .filter_map(|file| Some((file.clone(), Value::from(files.get(&file)?.digest.as_str()))))
        .collect();
    json!({
        "kind": "mcp_server",
        "name": server.name,
        "transport": server.transport,
        "command": server.command,
        "args": server.args,
        "url": server.url,
        "headers": server.header_names,
        "env": env,
        "env_warnings": server.env_warnings,
        "cwd": server.cwd,
        "other_fields": server.other_fields,
        "files": named,
    })
}

fn lane_item(lane: &LaneSurface) -> Value {
    let destination = lane
        .destination
        .as_ref()
        .map(|destination| json!({"address": destination.address, "local": destination.is_local}));
    json!({
        "kind": "reviewer_lane",
        "slug": lane.slug,
        "transport": lane.transport,
        "binary": lane.binary,
        "args": lane.args,
        "handler": lane.handler,
        "prompt_channel": lane.prompt_channel,
        "probe_binary": lane.probe_binary,
        "host_config_key": lane.host_config_key,
        "default_host": lane.default_host,
        "destination": destination,
        "receives": LANE_RECEIVES,
    })
}
