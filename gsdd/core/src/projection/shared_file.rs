//! A capability in a file that the person named (`--shared-file`): one entry for each hook and server, in the shape that
//! both implementations write and strip.
//!
//! Source: ADR-1244 D4 (shared edits), lifecycle formats section 10, decision D-04.

use std::path::{Path, PathBuf};

use super::edit::Dialect;
use super::edit::marked::{HOOKS, SERVERS, is_writable_hook, marked_hook, marked_server};
use super::place::{EntryKind, HookEntry, HostPlaces, PlacedEntry, Placement, Produced, server_value};
use crate::runtime::{
    ConfigHome, Descriptor, DocumentDialect, GroupRule, HandlerRule, HooksPlace, McpPlace, ReplyDialect,
    ReplyRule, ScopedFile, Surfaces, WiringScope,
};
use crate::text::{shell_quoted, shown};

/// What stands before the path in the name of the place that such a file is.
const PREFIX: &str = "shared-file:";

/// A file that the person named.
#[derive(Clone, Debug)]
pub struct SharedFile {
    relative: String,
    document: PathBuf,
    place: Descriptor,
    /// Title of the host that reads it and checks the events.
    host: Option<String>,
}

/// Why a path is no shared file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a shared file is a path below the folder of the scope: not empty, not absolute, without `..`")]
pub struct NotBelowRoot;

impl SharedFile {
    /// The file `relative` below `root`; `hosts` are asked whether one of them reads it.
    ///
    /// # Errors
    /// [`NotBelowRoot`] when the path could lead out of the root.
    pub fn new<'d>(
        root: &Path,
        relative: &str,
        mut hosts: impl Iterator<Item = (&'d Descriptor, PathBuf)>,
    ) -> Result<Self, NotBelowRoot> {
        let segments: Vec<&str> =
            relative.split('/').filter(|segment| !segment.is_empty() && *segment != ".").collect();
        let plain = |segment: &&str| *segment != ".." && !segment.contains(['\\', '\0']);
        if segments.is_empty() || relative.starts_with('/') || !segments.iter().all(plain) {
            return Err(NotBelowRoot);
        }
        let relative = segments.join("/");
        let document = root.join(&relative);
        let host = hosts
            .find(|(host, config_home)| reads(host, config_home, root, &document))
            .map(|(descriptor, _)| descriptor);
        Ok(Self {
            place: place_of(&relative, host),
            host: host.map(|host| host.title.clone()),
            document,
            relative,
        })
    }

    /// The path, below the root of the scope.
    #[must_use]
    pub fn relative(&self) -> &str {
        &self.relative
    }

    /// The file.
    #[must_use]
    pub fn document(&self) -> &Path {
        &self.document
    }

    /// The file as a place that can be wired.
    #[must_use]
    pub fn place(&self) -> &Descriptor {
        &self.place
    }

    /// What a capability becomes in the file.
    ///
    /// # Errors
    /// Surfaces that can't be written, with the reason: an event that the host does not know would make it drop the
    /// whole file (FR-012).
    pub fn placement(
        &self,
        scope: WiringScope,
        places: &HostPlaces,
        produced: &Produced,
    ) -> Result<Placement, Vec<(String, String)>> {
        let mut placement = Placement::default();
        let mut refused = Vec::new();
        let known = self.place.surfaces.as_ref().and_then(|surfaces| surfaces.hooks.as_ref());
        for hook in &produced.hooks {
            let surface = hook.surface();
            let event = match (known, &self.host) {
                (Some(known), Some(host)) => match known.host_event(&hook.event) {
                    Some(event) => event,
                    None => {
                        refused.push((surface, format!("{host} does not know this event")));
                        continue;
                    }
                },
                _ => hook.event.as_str(),
            };
            if !is_writable_hook(event, &hook.script) {
                refused.push((surface, "its event or script can't be written into a shared file".to_owned()));
                continue;
            }
            let script = shell_quoted(&hook.script);
            let command = format!("{} hook exec {} {script}", places.launcher_word, produced.id);
            placement.entries.push(PlacedEntry {
                document: self.document.clone(),
                dialect: Dialect::StrictJson,
                insert: marked_hook(&produced.id, event, &command, hook.matcher.as_deref()),
                what: EntryKind::Script(HookEntry {
                    event: event.to_owned(),
                    script: hook.script.clone(),
                    matcher: hook.matcher.clone(),
                }),
                surface,
            });
        }
        for server in &produced.servers {
            let value = server_value(server, &produced.id, scope, places);
            placement.entries.push(PlacedEntry {
                document: self.document.clone(),
                dialect: Dialect::StrictJson,
                insert: marked_server(&produced.id, &server.name, &value),
                what: EntryKind::Server(server.name.clone()),
                surface: format!("MCP server {}", shown(&server.name)),
            });
        }
        if !produced.skills.is_empty() || !produced.agents.is_empty() || !produced.commands.is_empty() {
            placement.degraded.push((
                "skills, agents and commands".to_owned(),
                "a shared file holds hooks and MCP servers only; --runtime NAME wires everything".to_owned(),
            ));
        }
        if refused.is_empty() { Ok(placement) } else { Err(refused) }
    }
}

/// The path of a place that is a shared file.
#[must_use]
pub fn shared_file_of(place: &str) -> Option<&str> {
    place.strip_prefix(PREFIX)
}

/// Whether a host reads its hooks from a document.
fn reads(host: &Descriptor, config_home: &Path, root: &Path, document: &Path) -> bool {
    let Some(hooks) = host.surfaces.as_ref().and_then(|surfaces| surfaces.hooks.as_ref()) else {
        return false;
    };
    let folders = host.local_config_dir.iter().map(|folder| root.join(folder));
    let folders: Vec<PathBuf> = folders.chain([config_home.to_owned()]).collect();
    [&hooks.global, &hooks.local]
        .into_iter()
        .flatten()
        .any(|file| folders.iter().any(|folder| folder.join(&file.file) == document))
}

fn place_of(relative: &str, host: Option<&Descriptor>) -> Descriptor {
    let known = host.and_then(|host| host.surfaces.as_ref()?.hooks.as_ref());
    let name = relative.rsplit('/').next().unwrap_or(relative);
    let file = Some(ScopedFile { file: name.to_owned() });
    Descriptor {
        id: format!("{PREFIX}{relative}"),
        title: relative.to_owned(),
        config_home: host.map_or_else(ConfigHome::default, |host| host.config_home.clone()),
        local_config_dir: None,
        surfaces: Some(Surfaces {
            is_default: false,
            detect: crate::runtime::Detect::default(),
            skills: None,
            agents: None,
            commands: None,
            hooks: Some(HooksPlace {
                document: DocumentDialect::StrictJson,
                global: file.clone(),
                local: file,
                container: vec![HOOKS.to_owned()],
                group: GroupRule { handlers: "hooks".to_owned(), matcher: "matcher".to_owned() },
                handler: HandlerRule { kind: "command".to_owned() },
                timeout: None,
                events: known.map(|known| known.events.clone()).unwrap_or_default(),
                whole_file_rule: known.and_then(|known| known.whole_file_rule.clone()),
            }),
            mcp: Some(McpPlace {
                document: DocumentDialect::StrictJson,
                global: None,
                local: None,
                container: vec![SERVERS.to_owned()],
            }),
            reply: ReplyRule { dialect: ReplyDialect::HookSpecificOutput },
        }),
    }
}
