//! A scenario on disk, and the facts that a shell would gather from it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use base64::Engine as _;
use gsdd_core::compose::{Candidate, ConsentVerdict, FragmentRead, LedgerState, ManifestRead, Scope};
use gsdd_core::ids::CapabilityId;
use gsdd_core::json::{MAX_BYTES, parse_lenient};
use gsdd_core::manifest::assess;
use gsdd_core::registry::HostContract;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

use super::text;

/// A scenario tree, removed on drop.
pub(crate) struct World {
    /// Real path of the folder that holds everything.
    pub(crate) root: PathBuf,
}

impl Drop for World {
    fn drop(&mut self) {
        let _removed = fs::remove_dir_all(&self.root);
    }
}

impl World {
    /// Makes the tree of a case.
    pub(crate) fn new(case: &Value) -> Self {
        let name = format!("gsdd-composition-{}-{}", std::process::id(), text(case, "id"));
        let root = std::env::temp_dir().join(name);
        let _stale = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        let world = Self { root: root.canonicalize().unwrap() };
        for entry in case["tree"].as_array().unwrap() {
            world.place(entry);
        }
        for folder in ["home", "proj"] {
            if fs::symlink_metadata(world.root.join(folder)).is_err() {
                fs::create_dir_all(world.root.join(folder)).unwrap();
            }
        }
        if let Some(records) = case["consent"].as_array() {
            world.write_consent(case, records);
        }
        for entry in case["tree"].as_array().unwrap() {
            if let Some(mode) = entry["mode"].as_str() {
                let mode = u32::from_str_radix(mode, 8).unwrap();
                let path = world.root.join(text(entry, "path"));
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        world
    }

    fn filled(&self, raw: &str) -> String {
        raw.replace("${ROOT}", self.root.to_str().unwrap())
    }

    fn place(&self, entry: &Value) {
        let path = self.root.join(text(entry, "path"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match text(entry, "type") {
            "dir" => fs::create_dir_all(&path).unwrap(),
            "symlink" => std::os::unix::fs::symlink(self.filled(text(entry, "target")), &path).unwrap(),
            "fifo" => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
            _ => {
                let mut content = match entry.get("json") {
                    Some(document) => format!("{}\n", serde_json::to_string_pretty(document).unwrap()),
                    None => text(entry, "content").to_owned(),
                };
                if let Some(size) = entry["padTo"].as_u64() {
                    let missing = usize::try_from(size).unwrap().saturating_sub(content.len());
                    content.push_str(&" ".repeat(missing));
                }
                fs::write(&path, self.filled(&content)).unwrap();
            }
        }
    }

    fn write_consent(&self, case: &Value, entries: &[Value]) {
        let mut records = json!({});
        for entry in entries {
            let project = self.root.join(text(entry, "project"));
            let project = project.canonicalize().unwrap_or(project);
            let key = json!({"r": project.to_str(), "i": entry["id"]}).to_string();
            let key = entry["diskKey"].as_str().map_or(key, str::to_owned);
            let mut record = json!({
                "projectRoot": project.to_str(),
                "id": entry["id"],
                "scope": entry["scope"].as_str().unwrap_or("project"),
                "integrity": "",
                "disclosureSignature": "none",
                "contentHash": entry["contentHash"],
                "consentedAt": "2026-01-02T03:04:05.000Z",
            });
            for omitted in entry["omit"].as_array().into_iter().flatten() {
                record.as_object_mut().unwrap().remove(omitted.as_str().unwrap());
            }
            // A bundle with a link has no hash.
            if let Some(bundle) = entry["hashOf"].as_str()
                && let Some(ours) = content_hash(&self.root.join(bundle))
            {
                assert_eq!(Some(ours.as_str()), entry["contentHash"].as_str(), "hash of {bundle}");
            }
            records[key] = record;
        }
        let store = self.capability_home(case).join(".gsd/consent.json");
        fs::create_dir_all(store.parent().unwrap()).unwrap();
        fs::write(store, json!({"version": "1", "records": records}).to_string()).unwrap();
    }

    fn cwd(&self, case: &Value) -> PathBuf {
        self.root.join(text(&case["run"], "cwd"))
    }

    fn home(&self, case: &Value) -> PathBuf {
        self.root.join(text(&case["run"], "home"))
    }

    fn capability_home(&self, case: &Value) -> PathBuf {
        let run = &case["run"];
        let from_env = run["env"]["GSD_HOME"].as_str().map(|value| self.filled(value));
        match from_env.as_deref().or_else(|| run["gsdHome"].as_str()) {
            None | Some("") => self.home(case),
            Some(set) if set.starts_with('/') => PathBuf::from(set),
            Some(set) if from_env.is_some() => self.cwd(case).join(set),
            Some(set) => self.root.join(set),
        }
    }

    /// The candidates of every root, with the facts about each.
    pub(crate) fn candidates(&self, case: &Value, contract: &HostContract) -> Vec<Candidate> {
        let project = project_root(&self.cwd(case), &self.home(case));
        let global = self.capability_home(case).join(".gsd/capabilities");
        let local = project.join(".gsd/capabilities");
        let genuine =
            project.join(".planning").is_dir() || fs::symlink_metadata(project.join(".git")).is_ok();
        let (global_id, local_id) = (global.canonicalize(), local.canonicalize());
        let absent = matches!(&local_id, Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory));
        let distinct = matches!((&global_id, &local_id), (Ok(a), Ok(b)) if a != b);
        let demoted = genuine && !absent && !distinct;
        let same = match (&global_id, &local_id) {
            (Ok(a), Ok(b)) => a == b,
            _ => lexical(&global) == lexical(&local),
        };
        let scope = if demoted { Scope::Project } else { Scope::Global };
        let facts =
            Facts { world: self, case, contract, consent_root: project.canonicalize().unwrap_or(project) };
        // The person's own root under another name, not the project's own root.
        let planted = demoted && (local_id.is_err() || local.is_symlink());
        let mut found = facts.scan(&global, scope, planted);
        if !same {
            found.extend(facts.scan(&local, Scope::Project, false));
        }
        found
    }
}

struct Facts<'a> {
    world: &'a World,
    case: &'a Value,
    contract: &'a HostContract,
    consent_root: PathBuf,
}

impl Facts<'_> {
    fn scan(&self, root: &Path, scope: Scope, demoted: bool) -> Vec<Candidate> {
        let Ok(entries) = fs::read_dir(root) else { return Vec::new() };
        let ledger = root.parent().unwrap().parent().unwrap().join(".gsd-capabilities.json");
        let ledger = read_bounded(&ledger).ok().and_then(|bytes| parse_lenient(&bytes)).unwrap_or_default();
        let folders = entries.map(Result::unwrap).filter(|entry| entry.file_type().unwrap().is_dir());
        folders
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                let dir = lexical(root).join(&name);
                self.candidate(&dir, &name, scope, demoted, &ledger)
            })
            .collect()
    }

    fn candidate(&self, dir: &Path, name: &str, scope: Scope, demoted: bool, ledger: &Value) -> Candidate {
        let inside = |file: &Path| {
            file.canonicalize().is_ok_and(|real| real.starts_with(dir.canonicalize().unwrap_or_default()))
        };
        let file = dir.join("capability.json");
        let manifest = match fs::metadata(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => ManifestRead::Missing,
            Ok(_) if !inside(&file) => ManifestRead::Unreadable("it is outside the bundle".to_owned()),
            Ok(_) | Err(_) => match read_bounded(&file) {
                Ok(bytes) => ManifestRead::Read(Arc::new(assess(name, &bytes, self.contract))),
                Err(why) => ManifestRead::Unreadable(why),
            },
        };
        let mut fragments = BTreeMap::new();
        if let ManifestRead::Read(assessed) = &manifest {
            for path in &assessed.fragment_paths {
                let file = dir.join(path);
                let read = match read_bounded(&file) {
                    Ok(_) if !inside(&file) => FragmentRead::Refused("it is outside the bundle".to_owned()),
                    Ok(bytes) => FragmentRead::Text(String::from_utf8_lossy(&bytes).into()),
                    Err(why) => FragmentRead::Refused(why),
                };
                fragments.insert(path.clone(), read);
            }
        }
        Candidate {
            dir_name: name.to_owned(),
            scope,
            demoted,
            bundle_dir: dir.to_str().unwrap().to_owned(),
            ledger: ledger_state(&ledger["entries"], name),
            consent: if scope == Scope::Project {
                self.consent(dir, name)
            } else {
                ConsentVerdict::NotNeeded
            },
            manifest,
            fragments: Arc::new(fragments),
            config_home: self.case["run"]["configHome"].as_str().map(|home| self.world.filled(home)),
        }
    }

    fn consent(&self, dir: &Path, name: &str) -> ConsentVerdict {
        let store = self.world.capability_home(self.case).join(".gsd/consent.json");
        let Some(store) = read_bounded(&store).ok().and_then(|bytes| parse_lenient(&bytes)) else {
            return ConsentVerdict::Missing;
        };
        let members =
            ["projectRoot", "id", "scope", "integrity", "disclosureSignature", "contentHash", "consentedAt"];
        let records = store["records"].as_object().into_iter().flatten().map(|(_, record)| record);
        let mut matching = records.filter(|record| {
            members.iter().all(|member| record[*member].is_string())
                && record["projectRoot"].as_str() == self.consent_root.to_str()
                && record["id"].as_str() == Some(name)
                && record["scope"] == "project"
        });
        match (matching.next(), content_hash(dir)) {
            (None, _) => ConsentVerdict::Missing,
            (Some(record), Some(hash)) if record["contentHash"].as_str() == Some(&hash) => {
                ConsentVerdict::Granted
            }
            (Some(_), _) => ConsentVerdict::Changed,
        }
    }
}

fn read_bounded(file: &Path) -> Result<Vec<u8>, String> {
    let metadata = fs::metadata(file).map_err(|_| "it cannot be opened".to_owned())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if metadata.len() > MAX_BYTES {
        return Err("it is too large".to_owned());
    }
    fs::read(file).map_err(|_| "it cannot be read".to_owned())
}

fn ledger_state(entries: &Value, name: &str) -> LedgerState {
    let Some(entry) = entries.as_object().and_then(|entries| entries.get(name)) else {
        return LedgerState::Absent;
    };
    let truthy = |value: &Value| match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    };
    match entry.get("_pending") {
        Some(pending) if truthy(pending) => return LedgerState::Pending,
        Some(_) => return LedgerState::Absent,
        None => {}
    }
    let texts = |key: &str| {
        entry[key].as_array().is_some_and(|list| list.len() <= 10_000 && list.iter().all(Value::is_string))
    };
    let edits = entry["sharedEdits"].as_array().is_some_and(|list| {
        list.len() <= 256
            && list.iter().all(|edit| ["file", "marker"].iter().all(|key| !text(edit, key).is_empty()))
    });
    let valid = CapabilityId::parse(name).is_ok()
        && entry["id"].as_str() == Some(name)
        && ["version", "source", "integrity"].iter().all(|key| entry[*key].is_string())
        && texts("files")
        && edits;
    if valid { LedgerState::Committed } else { LedgerState::Absent }
}

/// Hash over everything below a bundle; `None` when it holds something that is neither a file nor a folder.
fn content_hash(dir: &Path) -> Option<String> {
    let mut entries: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).ok()? {
            let path = entry.ok()?.path();
            let kind = fs::symlink_metadata(&path).ok()?.file_type();
            let relative = path.strip_prefix(dir).ok()?.as_os_str().as_bytes().to_vec();
            if kind.is_dir() {
                entries.push((relative, None));
                open.push(path);
            } else if kind.is_file() {
                entries.push((relative, Some(fs::read(&path).ok()?)));
            } else {
                return None;
            }
        }
    }
    entries.sort();
    let mut hash = Sha512::new();
    hash.update((entries.len() as u64).to_be_bytes());
    for (path, content) in &entries {
        hash.update([if content.is_some() { 1 } else { 2 }]);
        hash.update(u32::try_from(path.len()).ok()?.to_be_bytes());
        hash.update(path);
        if let Some(content) = content {
            hash.update((content.len() as u64).to_be_bytes());
            hash.update(content);
        }
    }
    Some(format!("sha512-{}", base64::engine::general_purpose::STANDARD.encode(hash.finalize())))
}

fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// The project of a folder; home is never found from below (composition oddity O3).
fn project_root(start: &Path, home: &Path) -> PathBuf {
    let planning = |dir: &Path| dir.join(".planning").is_dir();
    if planning(start) {
        return start.to_path_buf();
    }
    let git_between = |parent: &Path| {
        start.ancestors().find(|dir| dir.join(".git").exists()).filter(|dir| dir.starts_with(parent))
    };
    let claims = |parent: &Path| {
        let file = read_bounded(&parent.join(".planning/config.json")).ok()?;
        let config = parse_lenient(&file)?;
        let list = config.get("sub_repos").or_else(|| config.get("planning")?.get("sub_repos"))?.clone();
        let first = start.strip_prefix(parent).ok()?.iter().next()?.to_str()?.to_owned();
        Some(list.as_array()?.iter().any(|item| item.as_str() == Some(&first)))
    };
    let multi = |parent: &Path| {
        let file = read_bounded(&parent.join(".planning/config.json")).ok();
        file.and_then(|bytes| parse_lenient(&bytes)).is_some_and(|config| config["multiRepo"] == json!(true))
    };
    let above = |from: &Path, steps: usize| -> Vec<PathBuf> {
        let parents = from.ancestors().skip(1).take(steps).take_while(|dir| *dir != home);
        parents.map(Path::to_path_buf).collect()
    };
    for parent in above(start, 10).into_iter().filter(|parent| planning(parent)) {
        let git = git_between(&parent);
        if claims(&parent) == Some(true) || (multi(&parent) && git.is_some()) {
            return parent;
        }
        match git {
            Some(at) if at == parent => {
                let further = above(&parent, 10).into_iter().find(|dir| claims(dir) == Some(true));
                return further.unwrap_or(parent);
            }
            Some(_) | None => {}
        }
    }
    match above(start, 10).into_iter().find(|parent| planning(parent)) {
        Some(parent) if git_between(&parent).is_none_or(|at| at == parent) => parent,
        Some(_) | None => start.to_path_buf(),
    }
}
