//! Capabilities made for a test.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::files::{put, set_mode};
use crate::world::World;

/// A bundle in the folder `src` of the world; it is on the disk after every call.
#[derive(Debug)]
pub struct Bundle {
    folder: PathBuf,
    manifest: Value,
}

impl World {
    /// A valid capability that declares nothing yet.
    #[must_use]
    pub fn bundle(&self, id: &str) -> Bundle {
        Bundle::at(&self.path("src").join(id), id)
    }
}

impl Bundle {
    /// A valid capability in this folder, and nothing else.
    #[must_use]
    pub fn at(folder: &Path, id: &str) -> Self {
        let _ = std::fs::remove_dir_all(folder);
        let manifest = json!({
            "id": id, "role": "feature", "version": "1.0.0", "title": format!("Title of {id}"),
            "description": "Made for a test.", "tier": "full", "requires": [], "engines": {"gsd": ">=1.6.0"},
            "runtimeCompat": {"supported": ["*"], "unsupported": []},
            "skills": [], "agents": [], "config": {}, "steps": [], "gates": [], "contributions": [],
        });
        let bundle = Self { folder: folder.to_owned(), manifest };
        bundle.save();
        bundle
    }

    fn save(&self) {
        let text = serde_json::to_string_pretty(&self.manifest).expect("JSON can be written");
        put(self.folder.join("capability.json"), text);
    }

    /// Sets one member of the manifest.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.manifest[name] = value;
        self.save();
        self
    }

    /// Takes members out of the manifest.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        if let Some(members) = self.manifest.as_object_mut() {
            members.retain(|name, _| !names.contains(&name.as_str()));
        }
        self.save();
        self
    }

    /// Adds an item to a list of the manifest.
    #[must_use]
    pub fn with_item(mut self, list: &str, item: Value) -> Self {
        let list = &mut self.manifest[list];
        match list {
            Value::Array(items) => items.push(item),
            _ => *list = json!([item]),
        }
        self.save();
        self
    }

    /// Adds a file.
    #[must_use]
    pub fn with_file(self, path: &str, text: &str) -> Self {
        put(self.folder.join(path), text);
        self
    }

    /// Adds a hook for the tool `Write` with this shell script.
    #[must_use]
    pub fn with_hook(self, event: &str, script: &str, text: &str) -> Self {
        let bundle = self
            .with_item("hooks", json!({"event": event, "matcher": "Write", "script": script}))
            .with_file(script, text);
        set_mode(bundle.folder.join(script), 0o755);
        bundle
    }

    /// Adds a hook that refuses every write, with the capability's id in its reason.
    #[must_use]
    pub fn with_refusal(self) -> Self {
        let id = self.manifest["id"].as_str().unwrap_or_default().to_owned();
        self.with_hook(
            "PreToolUse",
            "hooks/refuse.sh",
            &format!("#!/bin/sh\necho {id} refuses >&2\nexit 2\n"),
        )
    }

    /// Adds a skill.
    #[must_use]
    pub fn with_skill(self, stem: &str) -> Self {
        self.with_item("skills", json!(stem)).with_file(
            &format!("skills/{stem}/SKILL.md"),
            &format!("---\nname: {stem}\ndescription: Made for a test\n---\nDo it.\n"),
        )
    }

    /// The folder, as a source on the command line.
    #[must_use]
    pub fn spec(&self) -> String {
        self.folder.display().to_string()
    }

    /// A path in the bundle.
    #[must_use]
    pub fn path(&self, below: &str) -> PathBuf {
        self.folder.join(below)
    }

    /// The bundle as a `.tgz`, everything in the folder `prefix` (which ends in a slash, or is empty).
    #[must_use]
    pub fn packed(&self, prefix: &str) -> Vec<u8> {
        let zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        let mut archive = tar::Builder::new(zip);
        archive.mode(tar::HeaderMode::Deterministic);
        let inside = if prefix.is_empty() { "." } else { prefix };
        archive.append_dir_all(inside, &self.folder).expect("a bundle can be packed");
        let zip = archive.into_inner().expect("the archive is whole");
        zip.finish().expect("the archive is whole")
    }
}

/// The digest of an archive, as `--integrity` takes it.
#[must_use]
pub fn sri(archive: &[u8]) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    let digest = sha2::Sha512::digest(archive);
    format!("sha512-{}", base64::engine::general_purpose::STANDARD.encode(digest))
}
