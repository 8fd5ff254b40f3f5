//! What a bundle brings for hosts: the files behind its declared names.

use std::collections::BTreeMap;

use gsdd_core::manifest::Manifest;
use gsdd_core::projection::{Produced, ProducedFile, ProducedHook, ProducedServer};
use gsdd_core::text::shown;
use serde_json::{Map, Value};

use crate::fs::bundle_tree::{BundleFile, BundleTree, TreeRefusal};

/// Most bytes of all files that are copied into hosts: they are planned, and so held in memory.
const MAX_COPIED: u64 = 16 * 1024 * 1024;

/// Collects what `manifest` declares and `tree` contains.
///
/// # Errors
/// A file that is copied into hosts has other bytes than those that were judged, or is larger than one may be.
pub(crate) fn produced(manifest: &Manifest, tree: &BundleTree) -> Result<Produced, TreeRefusal> {
    let mut room = MAX_COPIED;
    let mut copied = |path: &str, file: &BundleFile| {
        room = room.checked_sub(file.bytes).ok_or_else(|| {
            let reason = format!("skills, agents and commands have more than {MAX_COPIED} bytes together");
            TreeRefusal::new("host-files-too-large", &tree.root().join(path), reason)
        })?;
        tree.bytes(path)
    };
    let mut produced = Produced {
        id: manifest.id.to_string(),
        title: manifest.title.clone(),
        hooks: manifest
            .hooks
            .iter()
            .map(|hook| ProducedHook {
                event: hook.event.clone(),
                script: hook.script.clone(),
                matcher: hook.matcher.clone(),
            })
            .collect(),
        ..Produced::default()
    };
    for stem in &manifest.skills {
        let folder = format!("skills/{stem}/");
        let files: Vec<ProducedFile> = tree
            .files
            .range(folder.clone()..)
            .take_while(|(path, _)| path.starts_with(&folder))
            .map(|(path, file)| {
                Ok(ProducedFile {
                    path: path[folder.len()..].to_owned(),
                    bytes: copied(path, file)?,
                    executable: file.executable,
                })
            })
            .collect::<Result<_, TreeRefusal>>()?;
        if files.iter().any(|file| file.path == "SKILL.md") {
            produced.skills.insert(stem.clone(), files);
        } else {
            produced.absent.push(format!("skill {} (skills/{}/SKILL.md)", shown(stem), shown(stem)));
        }
    }
    for stem in &manifest.agents {
        let path = format!("agents/{stem}.md");
        match tree.file(&path) {
            Some(file) => {
                produced.agents.insert(stem.clone(), copied(&path, file)?);
            }
            None => produced.absent.push(format!("agent {} (agents/{}.md)", shown(stem), shown(stem))),
        }
    }
    for command in &manifest.commands {
        let path = format!("commands/{}.md", command.family);
        let document = tree.file(&path).map(|file| copied(&path, file)).transpose()?;
        produced.commands.insert(command.family.clone(), document);
    }
    produced.servers = servers(manifest.mcp_servers.as_ref())
        .into_iter()
        .map(|(name, config)| {
            let local = local_server(&config, &|path| tree.file(path).is_some()).is_some();
            ProducedServer { name, config: Value::Object(config), local }
        })
        .collect();
    Ok(produced)
}

/// Declared servers, in both shapes that authors use: an object by name, or a list of named items.
pub(crate) fn servers(written: Option<&Value>) -> BTreeMap<String, Map<String, Value>> {
    let mut servers = BTreeMap::new();
    match written {
        Some(Value::Object(by_name)) => {
            for (name, config) in by_name {
                servers.insert(name.clone(), config.as_object().cloned().unwrap_or_default());
            }
        }
        Some(Value::Array(items)) => {
            for item in items.iter().filter_map(Value::as_object) {
                let Some(name) = item.get("name").and_then(Value::as_str) else { continue };
                let config = match item.get("config") {
                    Some(Value::Object(config)) => config.clone(),
                    _ => item
                        .iter()
                        .filter(|(key, _)| *key != "name")
                        .map(|(k, v)| (k.clone(), v.clone()))
                        .collect(),
                };
                servers.insert(name.to_owned(), config);
            }
        }
        _ => {}
    }
    servers.retain(|name, _| !name.is_empty() && !gsdd_core::ids::is_reserved_property_name(name));
    servers
}

/// Command and arguments of a server, with bundle files marked; `None` when it names none.
pub(crate) fn local_server(
    config: &Map<String, Value>,
    in_bundle: &dyn Fn(&str) -> bool,
) -> Option<Vec<ServerWord>> {
    let command = config.get("command")?.as_str()?;
    let args = config.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<ServerWord> = std::iter::once(command)
        .chain(args)
        .map(|word| {
            let path = word.strip_prefix("./").unwrap_or(word);
            if in_bundle(path) {
                ServerWord::File(path.to_owned())
            } else {
                ServerWord::Plain(word.to_owned())
            }
        })
        .collect();
    words.iter().any(|word| matches!(word, ServerWord::File(_))).then_some(words)
}

/// One word of a server's command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerWord {
    Plain(String),
    /// A file of the bundle, relative.
    File(String),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_shapes_of_servers_are_read() {
        let object = json!({"a": {"command": "x"}, "__proto__": {}, "b": 1});
        assert_eq!(servers(Some(&object)).keys().collect::<Vec<_>>(), ["a", "b"]);
        let list = json!([{"name": "a", "config": {"command": "x"}}, {"name": "b", "command": "y"}, {"command": "z"}]);
        let list = servers(Some(&list));
        assert_eq!(list["b"], *json!({"command": "y"}).as_object().unwrap());
        assert_eq!(list.len(), 2);
    }

    #[test]
    fn a_server_that_names_a_bundle_file_is_local() {
        let config = json!({"command": "python3", "args": ["./server/notes.py", "--x"]});
        let words = local_server(config.as_object().unwrap(), &|path| path == "server/notes.py").unwrap();
        assert_eq!(words[1], ServerWord::File("server/notes.py".into()));
        assert!(local_server(config.as_object().unwrap(), &|_| false).is_none());
    }
}
