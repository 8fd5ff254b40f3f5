//! What a capability becomes in one host: files of its own, and entries in the host's documents.
//!
//! Pure: the caller says what the bundle holds and where the host's folders are; it compares the result with the disk
//! and turns it into steps.
//!
//! Source: ADR-1016 (feature capabilities produce artifacts, runtime capabilities project them); decisions D-04, D-17.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::edit::{Dialect, Insert};
use crate::ids::has_id_shape;
use crate::runtime::{Descriptor, DocumentDialect, HooksPlace, McpBase, McpPlace, WiringScope};
use crate::text::shown;

/// What the bundle of a capability holds.
#[derive(Clone, Debug, Default)]
pub struct Produced {
    /// Id.
    pub id: String,
    /// Title, as declared.
    pub title: String,
    /// Declared lifecycle hooks.
    pub hooks: Vec<ProducedHook>,
    /// Skill stem → files below its folder.
    pub skills: BTreeMap<String, Vec<ProducedFile>>,
    /// Agent stem → its file.
    pub agents: BTreeMap<String, Vec<u8>>,
    /// Command family → its document in the bundle, when there is one.
    pub commands: BTreeMap<String, Option<Vec<u8>>>,
    /// MCP servers.
    pub servers: Vec<ProducedServer>,
    /// Declared skills and agents whose files are not in the bundle.
    pub absent: Vec<String>,
}

/// A declared lifecycle hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducedHook {
    /// Event.
    pub event: String,
    /// Script, relative to the bundle.
    pub script: String,
    /// Matcher, when there is one.
    pub matcher: Option<String>,
}

impl ProducedHook {
    /// What people are told it is.
    #[must_use]
    pub fn surface(&self) -> String {
        format!("hook {} ({})", shown(&self.event), shown(&self.script))
    }
}

/// A file of a skill.
#[derive(Clone, Debug)]
pub struct ProducedFile {
    /// Path below the skill's folder.
    pub path: String,
    /// Contents.
    pub bytes: Vec<u8>,
    /// Whether it can be executed.
    pub executable: bool,
}

/// An MCP server.
#[derive(Clone, Debug)]
pub struct ProducedServer {
    /// Name.
    pub name: String,
    /// As declared.
    pub config: Value,
    /// Whether its command or arguments name a file of the bundle, so that it starts through the launcher.
    pub local: bool,
}

/// Folders of one host on this machine.
#[derive(Clone, Debug)]
pub struct HostPlaces {
    /// Configuration home.
    pub config_home: PathBuf,
    /// Whether an environment variable moved it.
    pub moved: bool,
    /// The project, for project scope.
    pub project_root: Option<PathBuf>,
    /// The launcher as a word of a shell line; the same in every file, so that hosts run it once.
    pub launcher_word: String,
    /// The launcher as an absolute path.
    pub launcher_path: PathBuf,
}

/// A file that belongs to the capability alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedFile {
    /// Where.
    pub path: PathBuf,
    /// Contents.
    pub bytes: Vec<u8>,
    /// Whether it can be executed.
    pub executable: bool,
    /// Surface that it is for.
    pub surface: String,
}

/// An entry in a document of the host.
#[derive(Clone, Debug)]
pub struct PlacedEntry {
    /// The document.
    pub document: PathBuf,
    /// How the host reads it.
    pub dialect: Dialect,
    /// What to insert.
    pub insert: Insert,
    /// What it is.
    pub what: EntryKind,
    /// Surface that it is for.
    pub surface: String,
}

/// A hook as it is registered in a shared file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HookEntry {
    /// The host's name for the event.
    pub event: String,
    /// Script, relative to the bundle.
    pub script: String,
    /// Matcher, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// The one registration of an event.
    Event(String),
    /// The registration of one hook in a shared file.
    Script(HookEntry),
    /// A server.
    Server(String),
}

/// Everything that a capability becomes in one host.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// Files.
    pub files: Vec<PlacedFile>,
    /// Entries.
    pub entries: Vec<PlacedEntry>,
    /// Surfaces that the host has no place for, with the reason.
    pub degraded: Vec<(String, String)>,
}

/// Says what `produced` becomes in the host `descriptor`.
#[must_use]
pub fn place(
    descriptor: &Descriptor,
    scope: WiringScope,
    places: &HostPlaces,
    produced: &Produced,
) -> Placement {
    let mut placer = Placer { descriptor, scope, places, produced, out: Placement::default() };
    for missing in &produced.absent {
        placer.degrade(missing.clone(), "the bundle does not contain it");
    }
    placer.skills();
    placer.agents();
    placer.commands();
    placer.hooks();
    placer.servers();
    placer.out
}

/// Name of the member that marks a skill folder as ours; upstream looks for it too.
pub const SKILL_MARKER: &str = ".gsd-capability-skill";

struct Placer<'a> {
    descriptor: &'a Descriptor,
    scope: WiringScope,
    places: &'a HostPlaces,
    produced: &'a Produced,
    out: Placement,
}

impl Placer<'_> {
    fn degrade(&mut self, surface: impl Into<String>, reason: &str) {
        let reason = format!("{}: {reason}", self.descriptor.id);
        self.out.degraded.push((surface.into(), reason));
    }

    /// Folder of the host for this scope: its configuration home, or its folder in the project.
    fn base(&self) -> Option<PathBuf> {
        match self.scope {
            WiringScope::Global => Some(self.places.config_home.clone()),
            WiringScope::Project => {
                let root = self.places.project_root.as_ref()?;
                Some(root.join(self.descriptor.local_config_dir.as_ref()?))
            }
        }
    }

    fn file(&mut self, path: PathBuf, bytes: &[u8], executable: bool, surface: &str) {
        self.out.files.push(PlacedFile {
            path,
            bytes: bytes.to_vec(),
            executable,
            surface: surface.to_owned(),
        });
    }

    fn skills(&mut self) {
        let place = self.descriptor.surfaces.as_ref().and_then(|surfaces| surfaces.skills.as_ref());
        let folder =
            place.and_then(|place| Some((self.base()?.join(place.dir(self.scope)?), place.prefix.as_str())));
        for (stem, files) in &self.produced.skills {
            let surface = format!("skill {stem}");
            let Some((folder, prefix)) = &folder else {
                self.degrade(surface, "this host has no place for skills in this scope");
                continue;
            };
            let home = folder.join(format!("{prefix}{stem}"));
            for file in files {
                self.file(home.join(&file.path), &file.bytes, file.executable, &surface);
            }
            let marker = format!("{}\n", self.produced.id);
            self.file(home.join(SKILL_MARKER), marker.as_bytes(), false, &surface);
        }
    }

    fn agents(&mut self) {
        let place = self.descriptor.surfaces.as_ref().and_then(|surfaces| surfaces.agents.as_ref());
        let folder = place.and_then(|place| Some((self.base()?.join(place.dir(self.scope)?), place)));
        for (stem, bytes) in &self.produced.agents {
            let surface = format!("agent {stem}");
            let Some((folder, place)) = &folder else {
                self.degrade(surface, "this host has no place for agents in this scope");
                continue;
            };
            let path = folder.join(format!("{}{stem}{}", place.prefix, place.suffix));
            self.file(path, bytes, false, &surface);
        }
    }

    fn commands(&mut self) {
        let commands = self.descriptor.surfaces.as_ref().and_then(|surfaces| surfaces.commands.as_ref());
        let folder = commands
            .and_then(|commands| Some((self.base()?.join(commands.place.dir(self.scope)?), commands)));
        for (family, document) in &self.produced.commands {
            let surface = format!("command {}", shown(family));
            if !has_id_shape(family) {
                self.degrade(surface, "its name can't be a file name");
                continue;
            }
            let Some((folder, commands)) = &folder else {
                self.degrade(surface, "this host has no place for commands in this scope");
                continue;
            };
            let path = folder.join(format!("{}{family}{}", commands.place.prefix, commands.place.suffix));
            let generated;
            let bytes = match document {
                Some(bytes) => bytes.as_slice(),
                None => {
                    let placeholder = commands.arguments_placeholder.as_deref().unwrap_or_default();
                    generated = command_document(&self.produced.title, family, placeholder);
                    generated.as_bytes()
                }
            };
            self.file(path, bytes, false, &surface);
        }
    }

    fn hooks(&mut self) {
        let place = self.descriptor.surfaces.as_ref().and_then(|surfaces| surfaces.hooks.as_ref());
        let document = place.and_then(|place| Some((self.base()?.join(place.file(self.scope)?), place)));
        let mut seen = BTreeSet::new();
        for hook in &self.produced.hooks {
            let declared = &hook.event;
            let surface = hook.surface();
            let Some((document, place)) = &document else {
                self.degrade(surface, "this host has no place for hooks in this scope");
                continue;
            };
            let Some(event) = place.host_event(declared).map(ToOwned::to_owned) else {
                self.degrade(surface, "this host does not know the event");
                continue;
            };
            let rule = place.events.get(&event);
            if rule.is_some_and(|rule| rule.replaces) {
                self.degrade(
                    surface,
                    "the host's own work would be replaced, which one registration for all can't do",
                );
                continue;
            }
            if rule.is_some_and(|rule| rule.watch) {
                self.degrade(surface, "the host wants a list of files with this event, which one registration for all can't give");
                continue;
            }
            if seen.insert(event.clone()) {
                let entry = self.registration(place, document, &event, surface);
                self.out.entries.push(entry);
            }
        }
    }

    /// The one registration of an event: it runs the launcher, and nothing in it changes between updates, so that
    /// hosts which remember a hash of it do not ask again.
    fn registration(&self, place: &HooksPlace, document: &Path, event: &str, surface: String) -> PlacedEntry {
        let mut handler = json!({
            "type": place.handler.kind,
            "command": format!("{} hook {event} --host {}", self.places.launcher_word, self.descriptor.id),
        });
        if let (Some(timeout), Some(handler)) = (place.timeout, handler.as_object_mut()) {
            handler.insert("timeout".to_owned(), timeout.value.into());
        }
        let mut container = place.container.clone();
        container.push(event.to_owned());
        PlacedEntry {
            document: document.to_owned(),
            dialect: dialect(place.document),
            insert: Insert::Item { container, value: json!({ place.group.handlers.as_str(): [handler] }) },
            what: EntryKind::Event(event.to_owned()),
            surface,
        }
    }

    fn servers(&mut self) {
        let place = self.descriptor.surfaces.as_ref().and_then(|surfaces| surfaces.mcp.as_ref());
        let document = place.and_then(|place| Some((self.mcp_document(place)?, place)));
        for server in &self.produced.servers {
            let surface = format!("MCP server {}", shown(&server.name));
            let Some((document, place)) = &document else {
                self.degrade(surface, "this host has no place for MCP servers in this scope");
                continue;
            };
            if server.name.is_empty() || server.name.chars().any(crate::text::is_hostile) {
                self.degrade(surface, "its name can't be used");
                continue;
            }
            let value = server_value(server, &self.produced.id, self.scope, self.places);
            self.out.entries.push(PlacedEntry {
                document: document.clone(),
                dialect: dialect(place.document),
                insert: Insert::Member {
                    container: place.container.clone(),
                    key: server.name.clone(),
                    value,
                },
                what: EntryKind::Server(server.name.clone()),
                surface,
            });
        }
    }

    fn mcp_document(&self, place: &McpPlace) -> Option<PathBuf> {
        let target = place.target(self.scope)?;
        let folder = match target.base {
            McpBase::ConfigHome => self.places.config_home.clone(),
            McpBase::ConfigHomeSibling if target.in_config_home_when_env && self.places.moved => {
                self.places.config_home.clone()
            }
            McpBase::ConfigHomeSibling => self.places.config_home.parent()?.to_owned(),
            McpBase::Project => self.places.project_root.clone()?,
            McpBase::LocalConfigDir => {
                self.places.project_root.as_ref()?.join(self.descriptor.local_config_dir.as_ref()?)
            }
        };
        Some(folder.join(&target.file))
    }
}

/// What a host is told to start for a server. One of the bundle starts through the launcher; a file of the project goes
/// to other machines, so there the home directory is found by the shell.
pub(super) fn server_value(
    server: &ProducedServer,
    id: &str,
    scope: WiringScope,
    places: &HostPlaces,
) -> Value {
    if !server.local {
        return server.config.clone();
    }
    let name = crate::text::shell_quoted(&server.name);
    match scope {
        WiringScope::Global => json!({
            "command": places.launcher_path.to_string_lossy(),
            "args": ["mcp", "exec", id, server.name],
        }),
        WiringScope::Project => json!({
            "command": "sh",
            "args": ["-c", format!("exec {} mcp exec {id} {name}", places.launcher_word)],
        }),
    }
}

fn dialect(dialect: DocumentDialect) -> Dialect {
    match dialect {
        DocumentDialect::StrictJson => Dialect::StrictJson,
        DocumentDialect::Jsonc => Dialect::Jsonc,
    }
}

/// The document of a command family that ships none.
fn command_document(title: &str, family: &str, placeholder: &str) -> String {
    let description = json!(format!("{}: run the {family} command", shown(title)));
    let arguments = if placeholder.is_empty() { String::new() } else { format!(" {placeholder}") };
    format!(
        "---\ndescription: {description}\n---\n\nRun this command in the project root and show its output to the person as it is:\n\n```sh\ngsdctl run {family}{arguments}\n```\n\nIf it fails, quote what it printed; do not retry with other arguments unless the person asks for it.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor() -> Descriptor {
        let manifest = json!({"id": "lantern", "title": "Lantern", "runtime": {
        "configHome": {"kind": "dot-home", "name": ".lantern", "env": []},
        "localConfigDir": ".lantern",
        "projection": {
            "skills": {"global": {"dir": "skills"}, "local": {"dir": "skills"}, "prefix": "gsd-"},
            "agents": {"global": {"dir": "agents"}, "suffix": ".md"},
            "commands": {"global": {"dir": "commands"}, "prefix": "gsd-", "suffix": ".md", "argumentsPlaceholder": "$ARGS"},
            "hooks": {"document": "strict-json", "global": {"file": "settings.json"}, "local": {"file": "settings.local.json"},
                "container": ["hooks"], "group": {"handlers": "hooks", "matcher": "matcher"}, "handler": {"type": "command"},
                "timeout": {"unit": "s", "value": 60}, "events": {"BeforeTool": {"neutral": "PreToolUse"}}},
            "mcp": {"document": "strict-json", "global": {"base": "config-home-sibling", "file": ".lantern.json", "inConfigHomeWhenEnv": true},
                "local": {"base": "project", "file": ".mcp.json"}, "container": ["mcpServers"]},
            "reply": {"dialect": "hook-specific-output"}
        }}});
        Descriptor::from_manifest(&manifest).unwrap()
    }

    fn places() -> HostPlaces {
        HostPlaces {
            config_home: "/h/.lantern".into(),
            moved: false,
            project_root: Some("/p".into()),
            launcher_word: "\"$HOME\"/.gsd/bin/gsdctl".into(),
            launcher_path: "/h/.gsd/bin/gsdctl".into(),
        }
    }

    fn produced() -> Produced {
        let file = ProducedFile { path: "SKILL.md".into(), bytes: b"x".to_vec(), executable: false };
        Produced {
            id: "acme".into(),
            title: "Acme".into(),
            hooks: [("PreToolUse", "a.sh"), ("BeforeTool", "b.sh"), ("Odd", "c.sh")]
                .map(|(event, script)| ProducedHook {
                    event: event.into(),
                    script: script.into(),
                    matcher: None,
                })
                .into(),
            skills: BTreeMap::from([("plan".into(), vec![file])]),
            agents: BTreeMap::from([("planner".into(), b"y".to_vec())]),
            commands: BTreeMap::from([("standup".into(), None)]),
            servers: vec![
                ProducedServer { name: "notes".into(), config: json!({"command": "python3"}), local: true },
                ProducedServer {
                    name: "out".into(),
                    config: json!({"command": "srv", "x": 1}),
                    local: false,
                },
            ],
            absent: vec![],
        }
    }

    #[test]
    fn everything_finds_its_place_globally() {
        let placement = place(&descriptor(), WiringScope::Global, &places(), &produced());
        let files: Vec<_> = placement.files.iter().map(|file| file.path.to_str().unwrap()).collect();
        assert_eq!(
            files,
            [
                "/h/.lantern/skills/gsd-plan/SKILL.md",
                "/h/.lantern/skills/gsd-plan/.gsd-capability-skill",
                "/h/.lantern/agents/planner.md",
                "/h/.lantern/commands/gsd-standup.md",
            ]
        );
        let entries: Vec<_> =
            placement.entries.iter().map(|entry| (entry.document.to_str().unwrap(), &entry.what)).collect();
        assert_eq!(
            entries,
            [
                ("/h/.lantern/settings.json", &EntryKind::Event("BeforeTool".into())),
                ("/h/.lantern.json", &EntryKind::Server("notes".into())),
                ("/h/.lantern.json", &EntryKind::Server("out".into())),
            ]
        );
        assert_eq!(placement.degraded.len(), 1);
        assert!(placement.degraded[0].0.contains("Odd"));
    }

    #[test]
    fn project_files_name_no_home_directory() {
        let placement = place(&descriptor(), WiringScope::Project, &places(), &produced());
        for entry in &placement.entries {
            assert!(!format!("{:?}", entry.insert).contains("/h/"), "{entry:?}");
        }
        let degraded: Vec<_> = placement.degraded.iter().map(|(surface, _)| surface.as_str()).collect();
        assert_eq!(degraded, ["agent planner", "command standup", "hook Odd (c.sh)"]);
    }

    #[test]
    fn a_moved_configuration_home_takes_the_servers_along() {
        let places = HostPlaces { moved: true, config_home: "/srv/lantern".into(), ..places() };
        let placement = place(&descriptor(), WiringScope::Global, &places, &produced());
        assert_eq!(placement.entries[1].document, Path::new("/srv/lantern/.lantern.json"));
    }
}
