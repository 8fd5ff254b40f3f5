//! Files that are no manifest: one clear problem each, and the daemon lives on.

use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

use crate::desk::{Desk, good};

const MAX: usize = 8 * 1024 * 1024;

/// The text of a valid manifest with `member` put in front.
fn text_with(member: &str) -> String {
    let text = good().to_string();
    format!("{{{member},{}", &text[1..])
}

fn with(key: &str, value: Value) -> String {
    let mut manifest = good();
    manifest[key] = value;
    manifest.to_string()
}

/// `count` arrays inside each other.
fn nested(count: usize) -> String {
    format!("{}{}", "[".repeat(count), "]".repeat(count))
}

#[test]
fn what_is_no_regular_file_is_one_problem() {
    let desk = Desk::new();
    desk.expect_one("nothing", "bundle.manifest.present");
    assert!(std::process::Command::new("mkfifo").arg(desk.manifest()).status().unwrap().success());
    desk.expect_one("pipe", "parse.size");
    desk.clear();
    let _listener = UnixListener::bind(desk.manifest()).unwrap();
    desk.expect_one("socket", "parse.size");
    desk.clear();
    std::fs::create_dir(desk.manifest()).unwrap();
    desk.expect_one("folder", "parse.size");
    desk.clear();
    for (what, target) in [
        ("link to an endless device", "/dev/zero"),
        ("link to itself", "capability.json"),
        ("link to nothing", "nowhere"),
        ("link to a folder", "."),
    ] {
        symlink(target, desk.manifest()).unwrap();
        desk.expect_one(what, "parse.size");
        desk.clear();
    }
    // Only root can make a device.
    let made = std::process::Command::new("mknod").arg(desk.manifest()).args(["c", "1", "5"]).output();
    if made.is_ok_and(|made| made.status.success()) {
        assert!(std::fs::metadata(desk.manifest()).unwrap().file_type().is_char_device());
        desk.expect_one("device", "parse.size");
        desk.clear();
    }
}

#[test]
fn a_link_to_a_good_manifest_is_still_a_link() {
    let desk = Desk::new();
    std::fs::write(desk.file("other.json"), good().to_string()).unwrap();
    symlink("other.json", desk.manifest()).unwrap();
    desk.expect_one("link to a good manifest", "parse.size");
}

#[test]
fn t48_size_is_limited_and_the_limit_itself_is_fine() {
    let desk = Desk::new();
    let mut bytes = good().to_string().into_bytes();
    bytes.resize(MAX, b' ');
    desk.put(&bytes);
    desk.expect_valid("8 MiB");
    bytes.push(b' ');
    desk.put(&bytes);
    desk.expect_one("8 MiB and a byte", "parse.size");
    desk.clear();
    // A terabyte that is not on the disk.
    std::fs::File::create(desk.manifest()).unwrap().set_len(1 << 40).unwrap();
    desk.expect_one("sparse", "parse.size");
    // Eight MiB of brackets, of members, of one string.
    desk.put("[".repeat(MAX).as_bytes());
    desk.expect_one("brackets", "parse.json");
    desk.put(format!("[{}0]", "0,".repeat(MAX / 2 - 2)).as_bytes());
    desk.expect_one("members", "parse.json");
    desk.put(format!("\"{}\"", "a".repeat(MAX - 2)).as_bytes());
    desk.expect_one("string", "manifest.object");
}

#[test]
fn t49_nesting_is_limited_and_the_limit_itself_is_fine() {
    let desk = Desk::new();
    // The document is the first container.
    desk.put(text_with(&format!("\"extra\":{}", nested(63))).as_bytes());
    let document = desk.expect_valid("64 containers");
    assert_eq!(document["data"]["warnings"][0]["rule"], "manifest.warn.unknown-member");
    desk.put(text_with(&format!("\"extra\":{}", nested(64))).as_bytes());
    desk.expect_one("65 containers", "parse.json");
}

#[test]
fn t50_t52_text_that_two_readers_would_read_differently_is_one_problem() {
    let desk = Desk::new();
    let good = good().to_string();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", Vec::new(), "parse.json"),
        ("blank", b" \n".to_vec(), "parse.json"),
        ("cut off", good.as_bytes()[..good.len() - 1].to_vec(), "parse.json"),
        ("trailing text", format!("{good} x").into_bytes(), "parse.json"),
        ("trailing comma", text_with("\"keywords\":[1,]").into_bytes(), "parse.json"),
        ("comment", format!("/* */{good}").into_bytes(), "parse.json"),
        ("byte-order mark", format!("\u{feff}{good}").into_bytes(), "parse.json"),
        ("invalid UTF-8", [b"{\"a\":\"\xff\xfe\",", &good.as_bytes()[1..]].concat(), "parse.json"),
        ("UTF-16", good.encode_utf16().flat_map(u16::to_le_bytes).collect(), "parse.json"),
        ("NUL", text_with("\"a\":\"\0\"").into_bytes(), "parse.json"),
        ("lone high surrogate", text_with(r#""a":"\ud800""#).into_bytes(), "parse.json"),
        ("lone low surrogate", text_with(r#""a":"\udc00x""#).into_bytes(), "parse.json"),
        ("surrogate in a key", text_with(r#""\ud800":1"#).into_bytes(), "parse.json"),
        ("huge number", text_with("\"a\":1e999").into_bytes(), "parse.json"),
        ("huge negative number", text_with("\"a\":-1e999").into_bytes(), "parse.json"),
        ("not a number", text_with("\"a\":NaN").into_bytes(), "parse.json"),
        ("leading zero", text_with("\"a\":01").into_bytes(), "parse.json"),
        ("duplicate key", text_with("\"id\":\"acme\"").into_bytes(), "parse.duplicate-key"),
        ("escaped duplicate key", text_with(r#""\u0069d":"acme""#).into_bytes(), "parse.duplicate-key"),
        ("deep duplicate key", text_with(r#""a":[{"b":1,"b":2}]"#).into_bytes(), "parse.duplicate-key"),
        ("null", b"null".to_vec(), "manifest.object"),
        ("list", b"[]".to_vec(), "manifest.object"),
    ];
    for (what, bytes, rule) in cases {
        desk.put(&bytes);
        desk.expect_one(what, rule);
    }
    // Many digits are only a number.
    desk.put(text_with(&format!("\"keywords\":{}", "9".repeat(300))).as_bytes());
    desk.expect_valid("many digits");
}

#[test]
fn t53_names_of_every_object_and_null_entries_are_one_problem() {
    let desk = Desk::new();
    let slice = json!({"type": "boolean", "default": true, "description": "D"});
    let cases = [
        ("id", json!("constructor"), "manifest.id.kebab-case"),
        ("skills", json!(["__proto__"]), "feature.skills.reserved-name"),
        ("agents", json!(["prototype"]), "feature.agents.reserved-name"),
        ("config", json!({"constructor": slice.clone()}), "feature.config.key-reserved-name"),
        ("config", json!({"a.__proto__.b": slice}), "feature.config.key-shape"),
        ("commands", json!([{"family": "prototype", "exec": "x"}]), "feature.commands.family-reserved-name"),
        ("skills", json!([null]), "feature.skills.entry-string"),
        ("requires", json!([null]), "manifest.requires.entry-string"),
        ("hooks", json!([null]), "feature.hooks.entry-object"),
        ("commands", json!([null]), "feature.commands.entry-object"),
        ("steps", json!([null]), "feature.steps.entry-object"),
        ("contributions", json!([null]), "feature.contributions.entry-object"),
        ("gates", json!([null]), "feature.gates.entry-object"),
        ("config", json!({"a": null}), "feature.config.entry-object"),
        ("runtimeCompat", json!(null), "feature.runtime-compat.object"),
        ("engines", json!(null), "manifest.engines.object"),
        ("provenance", json!(null), "manifest.provenance.object"),
        ("reviewer", json!(null), "feature.reviewer.forbidden"),
    ];
    std::fs::write(desk.file("x"), "").unwrap();
    for (key, value, rule) in cases {
        let what = format!("{key}: {value}");
        desk.put(with(key, value).as_bytes());
        desk.expect_one(&what, rule);
    }
    // An own member of that name is a member that nothing reads.
    desk.put(text_with(r#""__proto__":{"x":1}"#).as_bytes());
    let document = desk.expect_valid("__proto__");
    assert_eq!(document["data"]["warnings"][0]["pointer"], "/__proto__");
}

#[test]
fn members_that_no_bundle_can_have_are_one_problem_each() {
    let desk = Desk::new();
    desk.put(good().to_string().as_bytes());
    symlink("/etc", desk.file("link")).unwrap();
    desk.expect_one("link out", "bundle.member.regular");
    std::fs::remove_file(desk.file("link")).unwrap();
    symlink("round", desk.file("round")).unwrap();
    desk.expect_one("link to itself", "bundle.member.regular");
    std::fs::remove_file(desk.file("round")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(desk.file("pipe")).status().unwrap().success());
    desk.expect_one("pipe", "bundle.member.regular");
    std::fs::remove_file(desk.file("pipe")).unwrap();
    std::fs::write(desk.file("a\u{1b}[2Jb"), "").unwrap();
    desk.expect_one("escape in a name", "bundle.member.name");
    std::fs::remove_file(desk.file("a\u{1b}[2Jb")).unwrap();
    std::fs::write(desk.file("Read.md"), "").unwrap();
    std::fs::write(desk.file("read.md"), "").unwrap();
    desk.expect_one("twins", "bundle.member.twin");
    std::fs::remove_file(desk.file("read.md")).unwrap();
    std::fs::File::create(desk.file("big")).unwrap().set_len(1 << 40).unwrap();
    desk.expect_one("sparse file", "bundle.size");
    std::fs::remove_file(desk.file("big")).unwrap();
    let pipe = json!([{"point": "plan:pre", "into": "planner", "produces": [], "consumes": [],
        "fragment": {"path": "text.md"}}]);
    desk.put(with("contributions", pipe).as_bytes());
    desk.expect_one("no fragment", "overlay.fragment.unreadable");
}

/// Whatever was thrown at it, it is the same daemon, and it answers.
#[test]
fn the_daemon_outlives_bad_input() {
    let desk = Desk::new();
    let pid = desk.world.start_daemon();
    for bytes in ["[".repeat(MAX), format!("{{\"a\":{}}}", "{\"a\":".repeat(100_000)), "\u{feff}".to_owned()]
    {
        desk.put(bytes.as_bytes());
        desk.expect_one("bad input", "parse.json");
    }
    desk.put(good().to_string().as_bytes());
    desk.expect_valid("good input");
    assert_eq!(desk.world.daemons(), [pid]);
    // The same answer without a daemon.
    desk.put(b"{");
    let (with, without) =
        (desk.validate(&["--json"]).exits(2), desk.validate(&["--json", "--no-daemon"]).exits(2));
    assert_eq!(with.json()["data"], without.json()["data"]);
}
