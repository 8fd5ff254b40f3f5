//! Holds the threat model and the tests together: each row names tests that exist or says why there is none, and each
//! test that carries the number of a threat stands in its row.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a panic is the report, and nobody else reads these files"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

/// Threats are numbered from one.
const THREATS: u16 = 188;
/// How a row begins that has no test.
const REASONS: [&str; 3] = ["Not handled:", "Out of scope:", "No test:"];

/// A row of a table of the page.
struct Row {
    id: u16,
    tests: BTreeSet<String>,
    /// The last column without the names of tests.
    remark: String,
}

/// Reads `| T01 | attack | what happens | tests and remark |`.
fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> =
        line.strip_prefix('|')?.trim_end().strip_suffix('|')?.split('|').map(str::trim).collect();
    let [id, attack, happens, shown] = cells.try_into().ok()?;
    let id = id.strip_prefix('T').filter(|digits| digits.len() >= 2)?.parse().ok()?;
    let mut tests = BTreeSet::new();
    let mut remark = String::new();
    for (at, piece) in shown.split('`').enumerate() {
        if at % 2 == 1 {
            tests.insert(piece.to_owned());
        } else {
            remark.push_str(piece);
        }
    }
    let remark = remark.trim_start_matches([',', ' ', '.']).to_owned();
    (!attack.is_empty() && !happens.is_empty()).then_some(Row { id, tests, remark })
}

/// Names of the test functions of a source file, those of property tests too.
fn tests_of(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test && !line.starts_with("//"))
        {
            is_test = false;
            let name = rest.split('(').next().unwrap_or_default();
            // What a macro names is not known here.
            if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// The threats that a test carries in its name: `fr_031_t089_t090_…` is about 89 and 90.
fn threats_of(test: &str) -> impl Iterator<Item = u16> {
    let digits = test.split('_').filter_map(|word| word.strip_prefix('t'));
    digits.filter(|digits| (2..=3).contains(&digits.len())).filter_map(|digits| digits.parse().ok())
}

/// What does not fit, one line each.
fn objections(page: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let mut said = Vec::new();
    let mut rows: BTreeMap<u16, Row> = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| T") && line.as_bytes()[3].is_ascii_digit()) {
        let Some(row) = row(line) else {
            said.push(format!("this row can't be read: {line}"));
            continue;
        };
        let id = row.id;
        if !(1..=THREATS).contains(&id) {
            said.push(format!("T{id:02} is no threat"));
        } else if rows.insert(id, row).is_some() {
            said.push(format!("T{id:02} has two rows"));
        }
    }
    said.extend((1..=THREATS).filter(|id| !rows.contains_key(id)).map(|id| format!("T{id:02} has no row")));
    for row in rows.values() {
        let unknown = row.tests.iter().filter(|name| !tests.contains(*name));
        said.extend(unknown.map(|name| format!("T{:02} names {name}, which is no test", row.id)));
        if row.tests.is_empty() && !REASONS.iter().any(|reason| row.remark.starts_with(reason)) {
            said.push(format!("T{:02} has neither a test nor a reason ({REASONS:?})", row.id));
        }
    }
    for test in tests {
        for id in threats_of(test) {
            match rows.get(&id) {
                Some(row) if row.tests.contains(test) => {}
                Some(_) => said.push(format!("T{id:02} does not name {test}")),
                None => said.push(format!("{test} is about T{id:02}, which has no row")),
            }
        }
    }
    said
}

fn collect(folder: &Path, tests: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if entry.file_name() != "target" {
                collect(&path, tests);
            }
        } else if path.extension() == Some(OsStr::new("rs")) {
            tests.extend(tests_of(&std::fs::read_to_string(path).unwrap()));
        }
    }
}

#[test]
fn every_threat_has_its_tests_or_a_reason_and_every_test_its_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut tests = BTreeSet::new();
    for folder in ["gsdd", "gsdctl", "proto", "tests", "packaging"] {
        collect(&root.join(folder), &mut tests);
    }
    assert!(tests.contains("every_threat_has_its_tests_or_a_reason_and_every_test_its_row"));
    let page = std::fs::read_to_string(root.join("docs/security/threat-model.md")).unwrap();
    let said = objections(&page, &tests);
    assert!(said.is_empty(), "docs/security/threat-model.md:\n{}", said.join("\n"));
}

/// A page on which everything fits: one row has no test, two share one.
fn good_page() -> String {
    let row = |id: u16| match id {
        5 => "| T05 | a `thing` | none | No test: it is only text |\n".to_owned(),
        6 | 7 => format!("| T0{id} | a | b | `t06_t07_both` |\n"),
        _ => format!("| T{id:02} | a | b | `plain`, `t{id:02}_own`. Not handled: the rest |\n"),
    };
    (1..=THREATS).map(row).collect()
}

fn good_tests() -> BTreeSet<String> {
    let own = (1..=THREATS).filter(|id| !(5..=7).contains(id)).map(|id| format!("t{id:02}_own"));
    own.chain(["plain".to_owned(), "t06_t07_both".to_owned()]).collect()
}

#[test]
fn whatever_does_not_fit_is_said() {
    assert_eq!(objections(&good_page(), &good_tests()), Vec::<String>::new());
    let of_page = |from: &str, to: &str| {
        assert!(good_page().contains(from), "{from}");
        objections(&good_page().replacen(from, to, 1), &good_tests())
    };
    let reason = "T05 has neither a test nor a reason ([\"Not handled:\", \"Out of scope:\", \"No test:\"])";
    for (from, to, expected) in [
        ("| T05 | a `thing` | none | No test: it is only text |\n", "", "T05 has no row"),
        ("| T05 |", "| T04 |", "T04 has two rows"),
        ("| T188 |", "| T189 |", "T189 is no threat"),
        ("No test: it is only text", "", reason),
        ("No test: it is only text", "it is only text", reason),
        ("`plain`, `t01_own`", "`plan`, `t01_own`", "T01 names plan, which is no test"),
        ("`plain`, `t01_own`", "`plain`", "T01 does not name t01_own"),
        ("| T07 | a | b | `t06_t07_both` |", "| T07 | a | b | `plain` |", "T07 does not name t06_t07_both"),
        (
            "| T09 | a | b |",
            "| T09 | | b |",
            "this row can't be read: | T09 | | b | `plain`, `t09_own`. Not handled: the rest |",
        ),
    ] {
        let said = of_page(from, to);
        assert!(said.iter().any(|line| line == expected), "{expected}: {said:?}");
    }
    let with =
        |name: &str| objections(&good_page(), &good_tests().into_iter().chain([name.to_owned()]).collect());
    assert_eq!(with("fr_031_t089_later"), ["T89 does not name fr_031_t089_later"]);
    assert_eq!(with("t200_unheard_of"), ["t200_unheard_of is about T200, which has no row"]);
    assert!(with("t1_and_t_and_tests_of_1000").is_empty());
}

#[test]
fn tests_are_found_in_sources() {
    let attribute = "#[test]";
    let source = [
        "fn no_test() {}",
        attribute,
        "// fn in_a_comment()",
        "#[cfg(unix)]",
        "    fn one() {",
        "fn helper() {}",
        "    #[tokio::test(start_paused = true)]",
        "async fn two() {",
        attribute,
        "fn three(bytes in any::<u8>()) {",
        attribute,
        "fn $name() {",
        "fn four() {}",
    ];
    assert_eq!(tests_of(&source.join("\n")), ["one", "two", "three"]);
}
