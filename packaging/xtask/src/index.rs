//! `cargo xtask index`: a registry index out of a folder of bundles. The format is in `docs/formats/registry-index.md`.
//!
//! Packing is reproducible: the same bundle gives the same archive, on every machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gsdd_core::bundle::{RelPath, check_member, is_cache_entry, is_vcs_entry};
use gsdd_core::manifest::assess;
use gsdd_core::registry::HostContract;
use gsdd_core::source::Pin;
use gsdd_core::source::index::{CONFIG_PATH, Entry, FORMAT, IndexName, Origin, Publisher, Version};
use gsdd_core::trust::{ContentHash, EntryKind, PublisherKey, PublisherSignature, content_hash};
use serde_json::{Value, json};

use crate::failure::{Doing as _, Failure, Outcome};

/// Options of `cargo xtask index`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folder with one folder per bundle
    bundles: PathBuf,

    /// Folder of the index; what is in it already stays
    out: PathBuf,

    /// Title of a new index
    #[arg(long)]
    title: Option<String>,

    /// Name of the publisher
    #[arg(long)]
    publisher: Option<String>,

    /// Public key of the publisher: the second line of a minisign key file
    #[arg(long)]
    key: Option<String>,
}

/// Builds the index, or adds to it.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let publisher = Publisher { name: arguments.publisher.clone(), key: arguments.key.clone() };
    let publisher = (publisher.name.is_some() || publisher.key.is_some()).then_some(publisher);
    let added = build(&arguments.bundles, &arguments.out, arguments.title.as_deref(), publisher.as_ref())?;
    for line in &added {
        println!("{line}");
    }
    println!("{} versions added to {}", added.len(), arguments.out.display());
    Ok(())
}

/// Adds every bundle below `bundles` to the index at `out`, and says what was new.
pub(crate) fn build(
    bundles: &Path,
    out: &Path,
    title: Option<&str>,
    publisher: Option<&Publisher>,
) -> Outcome<Vec<String>> {
    let config = out.join(CONFIG_PATH);
    if !config.exists() {
        let mut text = json!({"format": FORMAT});
        if let Some(title) = title {
            text["title"] = json!(title);
        }
        put(&config, format!("{text}\n").as_bytes())?;
    }
    let mut folders: Vec<PathBuf> = fs::read_dir(bundles)
        .doing(format!("reading {}", bundles.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| folder.join("capability.json").is_file())
        .collect();
    folders.sort();
    if folders.is_empty() {
        return Err(Failure::new(format!("there is no bundle below {}", bundles.display())));
    }
    let mut added = Vec::new();
    for folder in folders {
        if let Some(line) = add(&folder, out, publisher)
            .map_err(|failure| Failure::new(format!("{}: {failure}", folder.display())))?
        {
            added.push(line);
        }
    }
    Ok(added)
}

/// One bundle; `None` when the index has this version already, with the same content and the same signature.
fn add(folder: &Path, out: &Path, publisher: Option<&Publisher>) -> Outcome<Option<String>> {
    let bundle = Bundle::read(folder)?;
    let manifest = bundle.files.get("capability.json").map(|(bytes, _)| bytes.as_slice()).unwrap_or_default();
    let raw: Value = serde_json::from_slice(manifest).doing("reading the manifest")?;
    let id = raw["id"].as_str().unwrap_or_default().to_owned();
    let assessed = assess(&id, manifest, &HostContract::builtin());
    if let Some(problem) = assessed.problems.first() {
        return Err(Failure::new(format!("{}: {}", problem.rule.as_str(), problem.message)));
    }
    let name = IndexName::parse(&id).doing("reading the id")?;
    let version = raw["version"].as_str().doing("reading the version")?;
    let file = out.join(name.path());
    let mut entry = match fs::read(&file) {
        Ok(bytes) => Entry::read(&bytes, &name).doing(format!("reading {}", file.display()))?,
        Err(_) => Entry {
            name: name.clone(),
            title: None,
            publisher: None,
            compat_versions: Vec::new(),
            versions: Vec::new(),
            objections: Vec::new(),
        },
    };
    if !entry.objections.is_empty() {
        return Err(Failure::new(format!("{}: {}", file.display(), entry.objections.join("; "))));
    }
    let content = bundle.content_hash();
    if let Some(known) = entry.version(version) {
        if known.content_hash == content {
            if !sign(&mut entry, version, out, publisher)? {
                return Ok(None);
            }
            write(&entry, &file)?;
            return Ok(Some(format!("{id} {version} signed")));
        }
        return Err(Failure::new(format!(
            "{version} is published with another content; what is published does not change, so raise the version"
        )));
    }
    let archive = bundle.pack()?;
    let path = format!("archives/{id}-{version}.tgz");
    put(&out.join(&path), &archive)?;
    let path = RelPath::parse(&path).doing("naming the archive")?;
    let row = Version::new(version, Origin::Archive(path), Some(Pin::of(&archive)), content)
        .doing("reading the version")?;
    let engines = raw["engines"]["gsd"].as_str().filter(|range| !range.is_empty());
    let is_newest = entry.versions.iter().all(|other| newer(version, &other.version));
    entry.versions.push(row.for_gsd(engines));
    // What the newest version says of the others is the publisher's latest word.
    if is_newest {
        entry.title = raw["title"].as_str().map(str::to_owned);
        let ranges = raw["compatVersions"].as_object().into_iter().flatten();
        entry.compat_versions = ranges
            .filter_map(|(version, range)| Some((version.clone(), range.as_str()?.to_owned())))
            .collect();
    }
    if let Some(publisher) = publisher {
        entry.publisher = Some(publisher.clone());
    }
    sign(&mut entry, version, out, publisher)?;
    write(&entry, &file)?;
    Ok(Some(format!("{id} {version}")))
}

/// Takes the signature along that lies beside the archive of `version`; says whether that is new.
fn sign(entry: &mut Entry, version: &str, out: &Path, publisher: Option<&Publisher>) -> Outcome<bool> {
    let Some(row) = entry.versions.iter_mut().find(|row| row.version == version) else { return Ok(false) };
    let Origin::Archive(path) = &row.origin else { return Ok(false) };
    let archive = out.join(path.as_str());
    let file = out.join(format!("{}.minisig", path.as_str()));
    let Ok(bytes) = fs::read(&file) else { return Ok(false) };
    let told = || format!("reading {}", file.display());
    let signature = PublisherSignature::read(&bytes).doing(told())?;
    if row.signature.as_deref() == Some(signature.as_str()) {
        return Ok(false);
    }
    let key = publisher.or(entry.publisher.as_ref()).and_then(|publisher| publisher.key.clone());
    let key = key.ok_or_else(|| Failure::new("there is a signature; name the publisher's key with --key"))?;
    let key = PublisherKey::parse(&key).doing("reading the publisher's key")?;
    let archive = fs::read(&archive).doing(format!("reading {}", archive.display()))?;
    signature.verify(&key, &archive).doing(told())?;
    row.signature = Some(signature.as_str().to_owned());
    if let Some(publisher) = publisher {
        entry.publisher = Some(publisher.clone());
    }
    Ok(true)
}

fn write(entry: &Entry, file: &Path) -> Outcome {
    let text = serde_json::to_string_pretty(&entry.to_json()).doing("writing the entry")?;
    // What the daemon would object to is not published.
    let back = Entry::read(text.as_bytes(), &entry.name).doing("reading back the entry")?;
    if !back.objections.is_empty() {
        return Err(Failure::new(back.objections.join("; ")));
    }
    put(file, format!("{text}\n").as_bytes())
}

fn newer(one: &str, other: &str) -> bool {
    gsdd_core::source::compat::compare_cores(one, other).is_ge()
}

/// The files of a bundle, with their execute bit, and its folders.
struct Bundle {
    files: BTreeMap<String, (Vec<u8>, bool)>,
    folders: Vec<String>,
}

impl Bundle {
    fn read(root: &Path) -> Outcome<Self> {
        let mut bundle = Self { files: BTreeMap::new(), folders: Vec::new() };
        bundle.walk(root, "")?;
        bundle.folders.sort();
        Ok(bundle)
    }

    fn walk(&mut self, root: &Path, below: &str) -> Outcome {
        let folder = root.join(below);
        for entry in fs::read_dir(&folder).doing(format!("reading {}", folder.display()))? {
            let entry = entry.doing(format!("reading {}", folder.display()))?;
            let name = entry.file_name().into_string().map_err(|_| Failure::new("a name is not UTF-8"))?;
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            if is_vcs_entry(path.as_bytes()) || is_cache_entry(path.as_bytes()) {
                continue;
            }
            check_member(path.as_bytes()).doing(format!("looking at {path}"))?;
            let kind = entry.file_type().doing(format!("looking at {path}"))?;
            if kind.is_dir() {
                self.folders.push(path.clone());
                self.walk(root, &path)?;
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).doing(format!("reading {path}"))?;
                let executable = is_executable(&entry.path())?;
                self.files.insert(path, (bytes, executable));
            } else {
                return Err(Failure::new(format!("{path} is neither a file nor a folder")));
            }
        }
        Ok(())
    }

    fn content_hash(&self) -> ContentHash {
        let folders = self.folders.iter().map(|folder| (folder.clone().into_bytes(), EntryKind::Directory));
        let files =
            self.files.iter().map(|(path, (bytes, _))| (path.clone().into_bytes(), EntryKind::File(bytes)));
        content_hash(&mut folders.chain(files).collect())
    }

    fn pack(&self) -> Outcome<Vec<u8>> {
        let zip = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::best());
        let mut archive = tar::Builder::new(zip);
        for folder in &self.folders {
            let mut header = header(tar::EntryType::Directory, 0o755, 0);
            archive.append_data(&mut header, folder, [].as_slice()).doing(format!("packing {folder}"))?;
        }
        for (path, (bytes, executable)) in &self.files {
            let mode = if *executable { 0o755 } else { 0o644 };
            let mut header = header(tar::EntryType::Regular, mode, bytes.len() as u64);
            archive.append_data(&mut header, path, bytes.as_slice()).doing(format!("packing {path}"))?;
        }
        archive.into_inner().and_then(flate2::write::GzEncoder::finish).doing("packing")
    }
}

/// A header without anything that differs between machines.
fn header(kind: tar::EntryType, mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

#[cfg(unix)]
fn is_executable(path: &Path) -> Outcome<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = fs::metadata(path).doing(format!("looking at {}", path.display()))?;
    Ok(metadata.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> Outcome<bool> {
    Ok(false)
}

fn put(file: &Path, bytes: &[u8]) -> Outcome {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).doing(format!("making {}", folder.display()))?;
    }
    fs::write(file, bytes).doing(format!("writing {}", file.display()))
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
