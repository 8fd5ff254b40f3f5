//! Content hashes and signatures.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gsdd_core::bundle::Budget;
use gsdd_core::bundle::budget::MAX_BYTES;
use gsdd_core::trust::content_hash::{EntryKind, content_hash as hash_of, counts_without_python_caches};
use gsdd_core::trust::disclosure::Disclosure;
use gsdd_core::trust::signature::disclosure_signature;
use serde_json::{Value, json};

use super::{Suite, run};

pub(crate) fn content_hash() -> Suite {
    run(
        "content-hash.json",
        include_str!("../../../../tests/vectors/lifecycle/content-hash.json"),
        |_, case| {
            let mut tree: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
            for entry in case["entries"].as_array().unwrap() {
                add_entry(&mut tree, entry)?;
            }
            let expected = case["expect"]["hash"].as_str().or(case["expect"]["error"].as_str()).unwrap();
            let mut budget = Budget::hashing(MAX_BYTES);
            let over = tree.values().find_map(|content| match content {
                Some(bytes) => budget.add_file(bytes.len() as u64).err(),
                None => budget.add_dir().err(),
            });
            if let Some(over) = over {
                return Some((expected.to_owned(), over.name().to_owned()));
            }
            let entries: Vec<(Vec<u8>, EntryKind<'_>)> = tree
                .iter()
                .map(|(path, content)| {
                    (path.clone(), content.as_deref().map_or(EntryKind::Directory, EntryKind::File))
                })
                .collect();
            if let Some(later) =
                case["expect_profile_b"]["hash"].as_str().or(case["expect_profile_b"].as_str())
            {
                let mut kept: Vec<_> = entries
                    .iter()
                    .filter(|(path, kind)| counts_without_python_caches(path, kind))
                    .cloned()
                    .collect();
                assert_eq!(hash_of(&mut kept).as_str(), later, "{}", case["id"]);
            }
            let mut shuffled: Vec<_> = entries.into_iter().rev().collect();
            Some((expected.to_owned(), hash_of(&mut shuffled).as_str().to_owned()))
        },
    )
}

/// Adds an entry and the folders above it; `None` for what is neither a file nor a folder.
fn add_entry(tree: &mut BTreeMap<Vec<u8>, Option<Vec<u8>>>, entry: &Value) -> Option<()> {
    if entry["type"] == "repeat" {
        for index in 0..entry["count"].as_u64().unwrap() {
            tree.insert(format!("{}{index}", entry["prefix"].as_str().unwrap()).into_bytes(), Some(vec![]));
        }
        return Some(());
    }
    let path = match entry["path"].as_str() {
        Some(path) => path.as_bytes().to_vec(),
        None => STANDARD.decode(entry["path_b64"].as_str().unwrap()).unwrap(),
    };
    for (slash, byte) in path.iter().enumerate() {
        if *byte == b'/' {
            tree.entry(path[..slash].to_vec()).or_insert(None);
        }
    }
    let content = match entry["type"].as_str().unwrap() {
        "dir" => None,
        "hardlink" => tree[entry["target"].as_str().unwrap().as_bytes()].clone(),
        "file" => Some(match entry["content_b64"].as_str() {
            Some(encoded) => STANDARD.decode(encoded).unwrap(),
            None => {
                let fill = &entry["fill"];
                vec![
                    u8::try_from(fill["byte"].as_u64().unwrap()).unwrap();
                    usize::try_from(fill["length"].as_u64().unwrap()).unwrap()
                ]
            }
        }),
        _ => return None,
    };
    tree.insert(path, content);
    Some(())
}

pub(crate) fn signature() -> Suite {
    run(
        "disclosure-signature.json",
        include_str!("../../../../tests/vectors/lifecycle/disclosure-signature.json"),
        |_, case| {
            let expect = &case["expect"];
            let describe = |signature: &str, executable: bool, counts: &Value| {
                format!("{signature} {executable} {counts}")
            };
            let expected = describe(
                expect["signature"].as_str().unwrap(),
                expect["has_executable"].as_bool().unwrap(),
                &expect["counts"],
            );
            let ours = match serde_json::from_str::<Value>(case["manifest_json"].as_str().unwrap()) {
                Ok(manifest) => {
                    let disclosure = Disclosure::collect(&manifest);
                    let counts = json!({
                        "hooks": disclosure.hooks.len(),
                        "commands": disclosure.modules.len(),
                        "mcp": disclosure.servers.len(),
                        "lanes": usize::from(disclosure.lane.is_some()),
                    });
                    describe(&disclosure_signature(&manifest), disclosure.has_executable(), &counts)
                }
                Err(_) => "refused".to_owned(),
            };
            Some((expected, ours))
        },
    )
}
