use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::source::Pin;
use crate::source::index::{MAX_CONFIG_BYTES, check_config};

const HOST: HostVersion = HostVersion::new(1, 10, 0);

const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
const SIGNATURE: &str = "untrusted comment: signature from minisign secret key\n\
    RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
    trusted comment: timestamp:1556193335\tfile:test\n\
    y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n";

fn hash() -> String {
    Pin::of(b"x").as_str().to_owned()
}

fn name() -> IndexName {
    IndexName::parse("acme-lint").unwrap()
}

fn row(version: &str, more: &Value) -> Value {
    let mut row = json!({"version": version, "archive": "archives/acme.tgz", "integrity": hash(), "contentHash": hash()});
    for (key, value) in more.as_object().unwrap() {
        match value {
            Value::Null => drop(row.as_object_mut().unwrap().remove(key)),
            value => drop(row.as_object_mut().unwrap().insert(key.clone(), value.clone())),
        }
    }
    row
}

fn entry(more: &Value, rows: &[Value]) -> Value {
    let mut document = json!({"format": 1, "name": "acme-lint", "versions": rows});
    document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    document
}

fn read(document: &Value) -> Entry {
    Entry::read(document.to_string().as_bytes(), &name()).unwrap()
}

#[track_caller]
fn taken(document: &Value, selector: Option<&str>, expected: Option<&str>) {
    assert_eq!(read(document).choose(selector, HOST).taken.as_deref(), expected, "{selector:?}");
}

#[test]
fn the_highest_version_that_fits_is_taken() {
    let document = entry(
        &json!({}),
        &[
            row("1.0.0", &json!({})),
            row("1.10.0", &json!({"engines": {"gsd": ">=1.6"}})),
            row("1.9.0", &json!({})),
            row("2.0.0-rc.1", &json!({})),
            row("2.0.0", &json!({"engines": {"gsd": ">=2"}})),
            row("1.11.0", &json!({"yanked": "deletes too much"})),
        ],
    );
    taken(&document, None, Some("1.10.0"));
    taken(&document, Some("1.9"), Some("1.9.0"));
    taken(&document, Some("1.x"), Some("1.10.0"));
    taken(&document, Some("2.0.0"), Some("2.0.0"));
    taken(&document, Some("2.0.0-rc.1"), Some("2.0.0-rc.1"));
    taken(&document, Some("3.0.0"), None);
    taken(&document, Some("next"), None);
    // Taken back is taken back, also for whoever names it.
    taken(&document, Some("1.11.0"), None);
    let choice = read(&document).choose(None, HOST);
    assert_eq!(choice.passed_over_for_gsd(), Some(("2.0.0", ">=2")));
    let reasons: Vec<String> = choice
        .considered
        .iter()
        .map(|row| format!("{} {} ({})", row.version, row.verdict.name(), row.verdict.reason()))
        .collect();
    assert_eq!(
        reasons,
        [
            "2.0.0 needs-gsd (needs GSD >=2)",
            "2.0.0-rc.1 prerelease (a prerelease, which has to be named)",
            "1.11.0 yanked (yanked: deletes too much)",
            "1.10.0 taken (taken)",
            "1.9.0 lower (fits, and another one goes first)",
            "1.0.0 lower (fits, and another one goes first)",
        ]
    );
}

#[test]
fn the_publishers_later_word_counts() {
    let rows = [
        row("1.0.0", &json!({})),
        row("1.1.0", &json!({"engines": {"gsd": ">=1"}})),
        row("2.0.0", &json!({"engines": {"gsd": ">=2"}})),
    ];
    // A bare version is a minimum, as in a manifest.
    taken(
        &entry(&json!({"compatVersions": {"1.1.0": "1.12.0", "1.0.0": "1.5.0"}}), &rows),
        None,
        Some("1.0.0"),
    );
    taken(&entry(&json!({"compatVersions": {"1.1.0": "nonsense"}}), &rows), None, Some("1.0.0"));
    // It does not widen what a version says about itself.
    taken(&entry(&json!({"compatVersions": {"2.0.0": ">=1"}}), &rows), None, Some("1.1.0"));
}

/// Documents that keep to the format, and documents that do not.
fn samples() -> Vec<(Value, bool)> {
    let plain = |more: Value| entry(&json!({}), &[row("1.0.0", &more)]);
    let sha256 = format!("sha256-{}=", "A".repeat(43));
    let commit = format!("git+https://h.example/r#{}", "0".repeat(40));
    let key = KEY;
    let good = [
        entry(&json!({}), &[]),
        plain(json!({})),
        plain(json!({"archive": null, "integrity": null, "source": commit})),
        plain(json!({"archive": null, "source": "npm:@a/b@1.0.0"})),
        plain(json!({"archive": null, "source": "https://h.example/a.tgz"})),
        plain(
            json!({"archive": null, "integrity": null, "source": format!("oci://h.example/a@sha256:{}", "0".repeat(64))}),
        ),
        plain(json!({"engines": {"gsd": ">=1.6"}, "yanked": true})),
        plain(json!({"signature": SIGNATURE})),
        plain(json!({"signature": SIGNATURE.trim_end()})),
        plain(json!({"engines": {"node": 5}, "yanked": false, "later": [1]})),
        entry(
            &json!({"title": "t", "publisher": {"name": "Acme", "key": key}, "compatVersions": {"1.0.0": "1"}}),
            &[],
        ),
    ];
    let bad = [
        plain(json!({"version": "1.0"})),
        plain(json!({"version": 1})),
        plain(json!({"archive": null})),
        plain(json!({"source": "npm:a@1.0.0"})),
        plain(json!({"archive": "/etc/acme.tgz"})),
        plain(json!({"archive": "archives/acme.zip"})),
        plain(json!({"integrity": null})),
        plain(json!({"integrity": "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="})),
        plain(json!({"integrity": 5})),
        plain(json!({"integrity": sha256})),
        plain(json!({"integrity": format!("{0} {0}", hash())})),
        plain(json!({"archive": null, "integrity": null, "source": "npm:a@1.0.0"})),
        plain(json!({"archive": null, "integrity": null, "source": "https://h.example/a.tgz"})),
        plain(json!({"contentHash": null})),
        plain(json!({"contentHash": "sha512-x"})),
        plain(json!({"signature": ""})),
        plain(json!({"signature": true})),
        plain(json!({"signature": "RWxx"})),
        plain(json!({"signature": SIGNATURE.lines().take(3).collect::<Vec<_>>().join("\n")})),
        plain(json!({"engines": []})),
        plain(json!({"engines": {"gsd": 1}})),
        plain(json!({"engines": {"gsd": ""}})),
        plain(json!({"yanked": 1})),
        entry(&json!({"title": 1}), &[]),
        entry(&json!({"publisher": "Acme"}), &[]),
        entry(&json!({"publisher": {"key": "x"}}), &[]),
        entry(&json!({"publisher": {"name": 1}}), &[]),
        entry(&json!({"publisher": {"key": format!("RWx{}", "x".repeat(53))}}), &[]),
        entry(&json!({"compatVersions": {"1.0.0": 1}}), &[]),
        entry(&json!({"compatVersions": []}), &[]),
        entry(&json!({"versions": {}}), &[]),
        json!({"format": 1, "name": "acme-lint"}),
    ];
    good.into_iter()
        .map(|document| (document, true))
        .chain(bad.into_iter().map(|document| (document, false)))
        .collect()
}

#[test]
fn schema_and_reader_agree() {
    let schema = crate::source::index::schema();
    let validator: Validator = jsonschema::validator_for(&schema).unwrap();
    for (document, is_good) in samples() {
        let objections = read(&document).objections;
        assert_eq!(objections.is_empty(), is_good, "the reader about {document}: {objections:?}");
        assert_eq!(validator.is_valid(&document), is_good, "the schema about {document}");
    }
}

#[test]
fn what_is_written_reads_back() {
    for (document, _) in samples().into_iter().filter(|(_, is_good)| *is_good) {
        let entry = read(&document);
        let written = entry.to_json();
        assert_eq!(read(&written), entry);
        for member in
            ["/title", "/publisher", "/compatVersions", "/versions/0/signature", "/versions/0/source"]
        {
            assert_eq!(written.pointer(member), document.pointer(member), "{member} of {document}");
        }
    }
}

#[test]
fn a_version_that_is_made_reads_back() {
    let archive = Origin::Archive(RelPath::parse("archives/acme.tgz").unwrap());
    let content_hash = ContentHash::parse(&hash()).unwrap();
    let made =
        |version: &str| Version::new(version, archive.clone(), Some(Pin::of(b"x")), content_hash.clone());
    assert_eq!(made("1.0"), None);
    let version = made("1.0.0").unwrap().for_gsd(Some(">=1.6"));
    assert_eq!(version.engines_gsd.as_deref(), Some(">=1.6"));
    assert_eq!(super::version(&version.to_json()), Ok(version));
}

#[test]
fn a_version_counts_once_and_so_many_do() {
    let twice = read(&entry(&json!({}), &[row("1.0.0", &json!({})), row("1.0.0", &json!({"yanked": true}))]));
    assert_eq!((twice.versions.len(), twice.objections.len()), (1, 1));
    assert_eq!(twice.versions[0].yanked, None, "the first one stands");
    // One objection for each that is none, and one more for what is left out.
    for (rows, objections) in [(4096, 4096), (4097, 4097), (4098, 4097)] {
        assert_eq!(read(&entry(&json!({}), &vec![Value::Null; rows])).objections.len(), objections, "{rows}");
    }
}

#[test]
fn a_folder_is_an_index_by_its_config() {
    for (text, told) in [
        ("{\"format\":1,\"title\":\"t\"}", Ok(())),
        ("{\"format\":2}", Err(EntryProblem::OtherFormat)),
        ("{}", Err(EntryProblem::NotAnIndex)),
        ("", Err(EntryProblem::NotJson)),
    ] {
        assert_eq!(check_config(text.as_bytes()), told, "{text}");
    }
    assert_eq!(MAX_CONFIG_BYTES, 65_536);
}

#[test]
fn sources_that_no_index_may_name() {
    for source in [
        "./x",
        "/x",
        "other@corp",
        "npm:a@^1",
        "npm:a",
        "git+https://h.example/r#main",
        // There is no archive that the digest of the row could be about.
        "git+https://h.example/r#0123456789abcdef0123456789abcdef01234567",
        "git+https://h.example/r#tag:v1",
        "oci://h.example/a:v1",
        "http://h.example/a.tgz",
        "https://u:p@h.example/a.tgz",
    ] {
        let document = entry(&json!({}), &[row("1.0.0", &json!({"archive": null, "source": source}))]);
        let read = read(&document);
        assert!(read.versions.is_empty() && read.objections.len() == 1, "{source}");
    }
    for archive in ["../x.tgz", "a/../x.tgz", "C:/x.tgz", "a\\b.tgz", ".tgz", "a/./b.tgz"] {
        let document = entry(&json!({}), &[row("1.0.0", &json!({"archive": archive}))]);
        assert!(read(&document).versions.is_empty(), "{archive}");
    }
}

#[test]
fn files_that_are_no_entry() {
    let problem = |text: &str| Entry::read(text.as_bytes(), &name()).unwrap_err();
    assert_eq!(problem("<html>"), EntryProblem::NotJson);
    assert_eq!(problem(r#"{"format":1,"format":1}"#), EntryProblem::NotJson);
    assert_eq!(problem("{}"), EntryProblem::NotAnIndex);
    assert_eq!(problem(r#"{"format":2,"name":"acme-lint"}"#), EntryProblem::OtherFormat);
    assert_eq!(problem(r#"{"format":1,"name":"other","versions":[]}"#), EntryProblem::OtherName);
    let large = " ".repeat(1_048_577);
    assert_eq!((problem(&large), problem(&large[1..])), (EntryProblem::TooLarge, EntryProblem::NotJson));
}

proptest! {
    /// Any bytes are answered, and what is taken was offered.
    #[test]
    fn arbitrary_files_are_answered(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        picks in prop::collection::vec((0_usize..6, 0_usize..33), 0..6),
        selector in "|1|1\\.x|1\\.0\\.0|[a-z*^ ]{1,4}",
    ) {
        let _ = Entry::read(&bytes, &name());
        let parts: Vec<Value> = samples().into_iter().map(|(document, _)| document).collect();
        let mut document = entry(&json!({}), &[]);
        for (member, from) in picks {
            let key = ["title", "publisher", "compatVersions", "versions", "format", "name"][member];
            if let (Some(value), Some(target)) = (parts.get(from).and_then(|part| part.get(key)), document.as_object_mut()) {
                target.insert(key.to_owned(), value.clone());
            }
        }
        if let Ok(entry) = Entry::read(document.to_string().as_bytes(), &name()) {
            let selector = (!selector.is_empty()).then_some(selector.as_str());
            let choice = entry.choose(selector, HOST);
            prop_assert!(choice.taken.is_none_or(|taken| entry.version(&taken).is_some_and(|row| row.yanked.is_none())));
        }
    }
}
