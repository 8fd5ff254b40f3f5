//! Collecting a disclosure out of a manifest of any shape.

use serde_json::Value;

use super::canonical_json::canonical;
use super::disclosure::{
    CommandCode, CommandSurface, Disclosure, GateCommand, HookSurface, LaneSurface, McpSurface,
};
use super::surfaces::{self, RawServer, items, object_items, text};

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
        disclosure.send_to(None);
        disclosure.read_gates(manifest);
        disclosure.read_steps(manifest);
        disclosure.read_fragments(manifest);
        disclosure.inert.config_keys =
            manifest.get("config").and_then(Value::as_object).map_or(0, serde_json::Map::len);
        disclosure
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
                if let Some(inline) = fragment.get("inline") {
                    let place = format!("inline text of {kind}[{index}]");
                    self.inline_bytes.insert(place.clone(), plain(inline).len() as u64);
                    self.fragments.push(place);
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
        destination: None,
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::trust::lines::{Detail, FileFact, FileFacts};

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
            "mcpServers": {"s": {"command": "node", "args": ["${ROOT}/server.js", "--port", "/abs", "--require=./lib/x.js"]}},
        }));
        assert_eq!(disclosure.executable_files(), ["bin/g", "hooks/a.sh", "lib/m.cjs"]);
        let present = ["server.js", "lib/x.js", "hooks/a.sh", "unused.js"];
        let fact = FileFact { digest: String::new(), bytes: 0 };
        let facts = FileFacts { files: present.map(|file| (file.to_owned(), fact.clone())).into() };
        assert_eq!(
            disclosure.files_that_run(&facts),
            ["bin/g", "hooks/a.sh", "lib/m.cjs", "lib/x.js", "server.js"]
        );
        assert_eq!(disclosure.unusable_files(), ["../x", "/bin/sh"]);
    }

    #[test]
    fn t118_instructions_are_a_class_of_their_own() {
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
        let mut with_documents = disclosure.clone();
        with_documents.add_documents(["commands/a.md", "commands/sub/b.md", "commands/c.sh", "x.md"]);
        assert_eq!(with_documents.commands, ["go", "commands/a.md", "commands/sub/b.md"]);
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
            let lines = disclosure.lines(&FileFacts::default(), Detail::PROMPT);
            prop_assert!(!lines.is_empty());
            prop_assert!(lines.iter().all(|line| !line.text.chars().any(crate::text::is_hostile)));
            prop_assert!(crate::trust::signature::disclosure_signature(&manifest).starts_with("[["));
        }
    }
}
