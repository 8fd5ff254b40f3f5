//! What a capability would do on this machine, collected from its manifest for a person to read.
//!
//! Five classes in three groups (decision D-07): *executable* (hooks, command modules, MCP servers, a reviewer lane,
//! gates that run a command), *instructing* (skills, agents, slash commands, fragments: the agent is the
//! interpreter, nothing scans them), *inert* (the rest). Collecting is total: a bad shape becomes less to show,
//! never an error, and nothing that would run is left out because something else is broken.
//!
//! Source: ADR-1244 D5 rule 2, ADR-2363 (instruction surfaces), decision D-07, threats T104 to T121.

use std::collections::BTreeSet;

use serde_json::Value;

use super::canonical_json::canonical;
use super::surfaces::{self, RawServer, items, object_items, text};
use crate::bundle::RelPath;

/// Everything that a manifest declares, by class, in the order of the manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disclosure {
    /// Scripts that a host runs on its events.
    pub hooks: Vec<HookSurface>,
    /// Command families with code of the bundle behind them.
    pub modules: Vec<CommandSurface>,
    /// Servers that a host starts or talks to.
    pub servers: Vec<McpSurface>,
    /// A reviewer that receives plans.
    pub lane: Option<LaneSurface>,
    /// Gates whose check runs a shell command.
    pub gate_commands: Vec<GateCommand>,
    /// Skills by name.
    pub skills: Vec<String>,
    /// Agents by name.
    pub agents: Vec<String>,
    /// Slash commands that steps refer to.
    pub commands: Vec<String>,
    /// Prompt fragments: the file, or where the inline text stands.
    pub fragments: Vec<String>,
    /// What neither runs nor instructs.
    pub inert: InertSurfaces,
}

/// A hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSurface {
    /// Event name as declared; may be empty.
    pub event: String,
    /// Script as declared: a bundle-relative path.
    pub script: String,
    /// Matcher as declared, JSON text when it is not a string; `None` means every tool.
    pub matcher: Option<String>,
}

/// A command family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSurface {
    /// The family name.
    pub family: String,
    /// What runs.
    pub runs: CommandCode,
}

/// The two ways of giving a command family its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandCode {
    /// A module loaded by a launcher; `router` is the function.
    Module {
        /// Bundle-relative path.
        module: String,
        /// Name of the function.
        router: String,
    },
    /// An executable file of the bundle.
    Exec {
        /// Bundle-relative path.
        exec: String,
    },
}

/// An MCP server.
#[derive(Clone, Debug, PartialEq)]
pub struct McpSurface {
    /// Its name in the host.
    pub name: String,
    /// `type`, else `transport`, else empty (a local process).
    pub transport: String,
    /// The program.
    pub command: String,
    /// Every argument: strings as they are, anything else as JSON text, so that none is hidden.
    pub args: Vec<String>,
    /// The endpoint of a remote server.
    pub url: String,
    /// Names of the headers that are sent; values may be secrets and are not collected.
    pub header_names: Vec<String>,
    /// Environment of the process.
    pub env: Vec<(String, String)>,
    /// Working directory.
    pub cwd: String,
    /// Names of configuration members beyond these; the host may act on them.
    pub other_fields: Vec<String>,
    /// Names of environment variables that make other programs run code or change what is loaded.
    pub env_warnings: Vec<String>,
}

/// A reviewer lane: a program or service that receives plan text, requirements, research findings and decisions.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneSurface {
    /// Its slug.
    pub slug: String,
    /// `spawn` or `openai-http`.
    pub transport: String,
    /// The program.
    pub binary: String,
    /// Every argument, as in [`McpSurface::args`].
    pub args: Vec<String>,
    /// The configuration key that names the destination.
    pub host_config_key: String,
    /// The destination that the author proposes when the key is not set.
    pub default_host: String,
    /// How the prompt reaches the program.
    pub prompt_channel: String,
    /// Name of the built-in handler.
    pub handler: String,
    /// The program that is run to find out whether the lane is available.
    pub probe_binary: String,
    /// Every member of the lane beyond these, as canonical JSON, for the digest.
    pub rest: String,
}

/// A gate that runs a shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateCommand {
    /// The loop point.
    pub point: String,
    /// The exact command text.
    pub command: String,
    /// The time limit as written, empty when there is none.
    pub timeout: String,
}

/// What neither runs nor instructs, by count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InertSurfaces {
    /// Configuration keys.
    pub config_keys: usize,
    /// Gates without a command.
    pub gates: usize,
}

impl Disclosure {
    /// Collects from a manifest of any shape.
    #[must_use]
    pub fn collect(manifest: &Value) -> Self {
        let mut disclosure = Self {
            hooks: surfaces::hooks(manifest)
                .into_iter()
                .map(|hook| HookSurface {
                    event: hook.event.to_owned(),
                    script: hook.script.to_owned(),
                    matcher: hook.matcher.filter(|matcher| !matcher.is_null()).map(plain),
                })
                .collect(),
            modules: modules(manifest),
            servers: surfaces::servers(manifest).iter().map(server).collect(),
            lane: lane(manifest),
            skills: names(manifest, "skills"),
            agents: names(manifest, "agents"),
            ..Self::default()
        };
        disclosure.read_gates(manifest);
        disclosure.read_steps(manifest);
        disclosure.read_fragments(manifest);
        disclosure.inert.config_keys =
            manifest.get("config").and_then(Value::as_object).map_or(0, serde_json::Map::len);
        disclosure
    }

    /// Whether anything in it runs.
    #[must_use]
    pub fn has_executable(&self) -> bool {
        !self.hooks.is_empty()
            || !self.modules.is_empty()
            || !self.servers.is_empty()
            || self.lane.is_some()
            || !self.gate_commands.is_empty()
    }

    /// Whether anything in it instructs the agent.
    #[must_use]
    pub fn has_instructions(&self) -> bool {
        !self.skills.is_empty()
            || !self.agents.is_empty()
            || !self.commands.is_empty()
            || !self.fragments.is_empty()
    }

    /// The files of the bundle that would run, each once, sorted: hook scripts, command code, and every command or
    /// argument of a server or lane that is the name of a bundle file. Names that the member rules refuse are not
    /// files of a bundle and are left out; see [`Disclosure::unusable_files`].
    #[must_use]
    pub fn executable_files(&self) -> Vec<String> {
        let mut files: BTreeSet<String> = self.declared_files().filter_map(bundle_file).collect();
        for server in &self.servers {
            files.extend(
                std::iter::once(&server.command).chain(&server.args).filter_map(|part| possible_file(part)),
            );
        }
        if let Some(lane) = &self.lane {
            let parts = [&lane.binary, &lane.probe_binary].into_iter().chain(&lane.args);
            files.extend(parts.filter_map(|part| possible_file(part)));
        }
        files.into_iter().collect()
    }

    /// Declared scripts, modules and executables that can't be files of a bundle: absolute, with `..`, or refused by
    /// another member rule. Any of them blocks an install.
    #[must_use]
    pub fn unusable_files(&self) -> Vec<String> {
        self.declared_files().filter(|file| bundle_file(file).is_none()).map(str::to_owned).collect()
    }

    /// Files that must exist in the bundle: hook scripts, command modules and executables.
    #[must_use]
    pub fn required_files(&self) -> Vec<String> {
        let files: BTreeSet<String> = self.declared_files().filter_map(bundle_file).collect();
        files.into_iter().collect()
    }

    fn declared_files(&self) -> impl Iterator<Item = &str> {
        let code = self.modules.iter().map(|command| match &command.runs {
            CommandCode::Module { module, .. } => module.as_str(),
            CommandCode::Exec { exec } => exec.as_str(),
        });
        self.hooks.iter().map(|hook| hook.script.as_str()).chain(code)
    }

    fn read_gates(&mut self, manifest: &Value) {
        for gate in object_items(manifest, "gates") {
            let predicate = gate.get("check").and_then(|check| check.get("predicate"));
            // Any predicate with a command counts, whatever its kind says: a later evaluator may run it.
            let command = predicate.and_then(|predicate| predicate.get("command"));
            let declared =
                predicate.and_then(|p| p.get("kind")).and_then(Value::as_str) == Some("command-exit-zero");
            if command.is_none() && !declared {
                self.inert.gates += 1;
                continue;
            }
            self.gate_commands.push(GateCommand {
                point: text(gate, "point").to_owned(),
                command: command.map(plain).unwrap_or_default(),
                timeout: predicate.and_then(|p| p.get("timeout")).map(plain).unwrap_or_default(),
            });
        }
    }

    fn read_steps(&mut self, manifest: &Value) {
        for step in object_items(manifest, "steps") {
            if let Some(command) = step.get("ref").and_then(|reference| reference.get("command")) {
                self.commands.push(plain(command));
            }
        }
    }

    fn read_fragments(&mut self, manifest: &Value) {
        for kind in ["steps", "contributions", "gates"] {
            for (index, item) in items_of(manifest, kind).iter().enumerate() {
                let Some(fragment) = item.get("fragment").and_then(Value::as_object) else { continue };
                if let Some(path) = fragment.get("path") {
                    self.fragments.push(plain(path));
                }
                if fragment.contains_key("inline") {
                    self.fragments.push(format!("inline text of {kind}[{index}]"));
                }
            }
            for (index, item) in items_of(manifest, kind).iter().enumerate() {
                if item.get("check").is_some_and(|check| check.get("agentVerdict").is_some()) {
                    self.fragments.push(format!("agent verdict of {kind}[{index}]"));
                }
            }
        }
    }
}

fn items_of<'a>(manifest: &'a Value, key: &str) -> &'a [Value] {
    manifest.as_object().map_or(&[], |members| items(members, key))
}

/// A string as it is, anything else as JSON text: what is declared is shown, whatever its type.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| canonical(value), str::to_owned)
}

fn names(manifest: &Value, key: &str) -> Vec<String> {
    items_of(manifest, key)
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| !name.trim().is_empty())
        .map(str::to_owned)
        .collect()
}

fn modules(manifest: &Value) -> Vec<CommandSurface> {
    let mut commands: Vec<CommandSurface> = surfaces::modules(manifest)
        .into_iter()
        .map(|command| CommandSurface {
            family: command.family.to_owned(),
            runs: CommandCode::Module {
                module: command.module.to_owned(),
                router: command.router.to_owned(),
            },
        })
        .collect();
    let executables = object_items(manifest, "commands").filter(|command| !text(command, "exec").is_empty());
    commands.extend(executables.map(|command| CommandSurface {
        family: text(command, "family").to_owned(),
        runs: CommandCode::Exec { exec: text(command, "exec").to_owned() },
    }));
    commands
}

fn server(raw: &RawServer<'_>) -> McpSurface {
    const SHOWN: [&str; 8] = ["type", "transport", "command", "args", "url", "headers", "env", "cwd"];
    McpSurface {
        name: raw.name.to_owned(),
        transport: raw.transport.to_owned(),
        command: raw.command.to_owned(),
        args: raw.args.iter().map(plain).collect(),
        url: raw.url.to_owned(),
        header_names: raw.headers.iter().map(|(name, _)| (*name).to_owned()).collect(),
        env: raw.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        cwd: raw.cwd.to_owned(),
        other_fields: raw
            .config
            .iter()
            .filter(|(key, value)| !SHOWN.contains(&key.as_str()) || !has_expected_shape(key, value))
            .map(|(key, _)| key.clone())
            .collect(),
        env_warnings: raw
            .env
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| changes_what_runs(name))
            .map(str::to_owned)
            .collect(),
    }
}

/// Whether a known member was read completely; otherwise its name is shown among the other fields.
fn has_expected_shape(key: &str, value: &Value) -> bool {
    match key {
        "args" => value.is_array(),
        "headers" | "env" => value.as_object().is_some_and(|members| members.values().all(Value::is_string)),
        _ => value.is_string(),
    }
}

/// Whether an environment variable is a way to make a program run or load something else (threat T107).
fn changes_what_runs(name: &str) -> bool {
    const NAMES: [&str; 24] = [
        "PATH",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTHONHOME",
        "RUBYOPT",
        "RUBYLIB",
        "PERL5OPT",
        "PERL5LIB",
        "BASH_ENV",
        "ENV",
        "SHELL",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "EDITOR",
        "PAGER",
        "BROWSER",
        "PROMPT_COMMAND",
        "NODE_TLS_REJECT_UNAUTHORIZED",
        "DOTNET_STARTUP_HOOKS",
    ];
    let upper = name.to_ascii_uppercase();
    NAMES.contains(&upper.as_str())
        || ["LD_", "DYLD_", "GIT_CONFIG"].iter().any(|prefix| upper.starts_with(prefix))
}

fn lane(manifest: &Value) -> Option<LaneSurface> {
    const SHOWN: [&str; 4] = ["slug", "transport", "handler", "invoke"];
    const SHOWN_INVOKE: [&str; 5] = ["binary", "args", "hostConfigKey", "defaultHost", "promptChannel"];
    let raw = surfaces::lane(manifest)?;
    let rest = |members: &serde_json::Map<String, Value>, shown: &[&str]| {
        let others = members.iter().filter(|(key, _)| !shown.contains(&key.as_str()));
        Value::Object(others.map(|(key, value)| (key.clone(), value.clone())).collect())
    };
    let invoked = |key: &str| raw.invoke.map_or("", |invoke| text(invoke, key)).to_owned();
    let body_rest = rest(raw.body, &SHOWN);
    let invoke_rest = raw.invoke.map_or(Value::Null, |invoke| rest(invoke, &SHOWN_INVOKE));
    Some(LaneSurface {
        slug: raw.slug.to_owned(),
        transport: raw.transport.to_owned(),
        binary: raw.binary.to_owned(),
        args: raw.args.iter().map(plain).collect(),
        host_config_key: raw.host_config_key.to_owned(),
        default_host: invoked("defaultHost"),
        prompt_channel: raw.prompt_channel.to_owned(),
        handler: raw.handler.to_owned(),
        probe_binary: raw
            .body
            .get("probe")
            .and_then(|probe| probe.get("binary"))
            .map(plain)
            .unwrap_or_default(),
        rest: canonical(&Value::Array(vec![body_rest, invoke_rest])),
    })
}

/// A declared file as the path in the bundle.
fn bundle_file(declared: &str) -> Option<String> {
    RelPath::parse(declared).ok().map(|path| path.as_str().to_owned())
}

/// A command or argument that may name a file of the bundle, also behind one `${…}/` that a host replaces by the
/// bundle's folder. The caller keeps those that exist.
fn possible_file(part: &str) -> Option<String> {
    let behind = part.strip_prefix("${").and_then(|rest| rest.split_once("}/")).map(|(_, file)| file);
    bundle_file(behind.unwrap_or(part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn t117_a_gate_command_is_executable() {
        let disclosure = Disclosure::collect(&json!({"gates": [
            {"point": "ship:pre", "check": {"predicate": {"kind": "command-exit-zero", "command": "id", "timeout": 5}}},
            {"point": "plan:pre", "check": {"predicate": {"kind": "later-kind", "command": ["id"]}}},
            {"point": "plan:pre", "check": {"query": "x"}},
        ]}));
        assert!(disclosure.has_executable());
        assert_eq!(disclosure.gate_commands[0].command, "id");
        assert_eq!(disclosure.gate_commands[0].timeout, "5");
        assert_eq!(disclosure.gate_commands[1].command, "[\"id\"]");
        assert_eq!(disclosure.inert.gates, 1);
    }

    #[test]
    fn t108_t109_every_argument_and_unknown_field_is_collected() {
        let disclosure = Disclosure::collect(&json!({"mcpServers": {"db": {
            "command": "node", "args": ["a", 1, {"k": "v"}], "env": {"NODE_OPTIONS": "--require x", "LD_AUDIT": "y", "A": "b"},
            "envFile": ".env", "headers": {"Authorization": "secret", "X": 5},
        }}}));
        let server = &disclosure.servers[0];
        assert_eq!(server.args, ["a", "1", "{\"k\":\"v\"}"]);
        assert_eq!(server.other_fields, ["envFile", "headers"]);
        assert_eq!(server.env_warnings, ["NODE_OPTIONS", "LD_AUDIT"]);
        assert_eq!(server.header_names, ["Authorization"]);
    }

    #[test]
    fn executable_files_are_those_of_the_bundle() {
        let disclosure = Disclosure::collect(&json!({
            "hooks": [{"event": "Stop", "script": "./hooks/a.sh"}, {"script": "../x"}, {"script": "/bin/sh"}],
            "commands": [{"family": "f", "module": "lib/m.cjs", "router": "r"}, {"family": "g", "exec": "bin/g"}],
            "mcpServers": {"s": {"command": "node", "args": ["${ROOT}/server.js", "--port", "/abs"]}},
        }));
        assert_eq!(
            disclosure.executable_files(),
            ["--port", "bin/g", "hooks/a.sh", "lib/m.cjs", "node", "server.js"]
        );
        assert_eq!(disclosure.required_files(), ["bin/g", "hooks/a.sh", "lib/m.cjs"]);
        assert_eq!(disclosure.unusable_files(), ["../x", "/bin/sh"]);
    }

    #[test]
    fn instructions_are_a_class_of_their_own() {
        let disclosure = Disclosure::collect(&json!({
            "skills": ["a", " ", 5, "a"], "agents": ["b"],
            "steps": [{"ref": {"command": "go"}, "fragment": {"path": "f.md"}}],
            "contributions": [{"fragment": {"inline": "x"}}],
            "gates": [{"check": {"agentVerdict": {"ref": "b"}}}],
            "config": {"k": {}},
        }));
        assert!(!disclosure.has_executable());
        assert!(disclosure.has_instructions());
        assert_eq!(disclosure.skills, ["a", "a"]);
        assert_eq!(disclosure.commands, ["go"]);
        assert_eq!(
            disclosure.fragments,
            ["f.md", "inline text of contributions[0]", "agent verdict of gates[0]"]
        );
        assert_eq!(disclosure.inert.config_keys, 1);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z./]{0,6}".prop_map(Value::from),
        ];
        let key = prop::sample::select(vec![
            "hooks",
            "script",
            "event",
            "matcher",
            "commands",
            "module",
            "exec",
            "mcpServers",
            "name",
            "config",
            "args",
            "env",
            "headers",
            "reviewer",
            "invoke",
            "binary",
            "probe",
            "gates",
            "check",
            "predicate",
            "command",
            "steps",
            "ref",
            "fragment",
            "path",
            "skills",
        ]);
        leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((key.clone(), inner), 0..5).prop_map(|members| {
                    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Value>()
                }),
            ]
        })
    }

    proptest! {
        /// Any shape can be collected, shown and signed.
        #[test]
        fn collecting_is_total(manifest in any_json()) {
            let disclosure = Disclosure::collect(&manifest);
            let lines = disclosure.lines(&crate::trust::FileFacts::default());
            prop_assert!(!lines.is_empty());
            prop_assert!(lines.iter().all(|line| !line.text.chars().any(crate::text::is_hostile)));
            prop_assert!(crate::trust::signature::disclosure_signature(&manifest).starts_with("[["));
        }
    }
}
