use std::collections::BTreeMap;

use super::*;
use crate::compose::FragmentRead;
use crate::registry::HostContract;

const GOOD: &str = r#"{"id":"acme","role":"feature","version":"1.0.0","title":"T","description":"D","tier":"full",
"requires":[],"runtimeCompat":{"supported":["*"],"unsupported":[]},"skills":["lint"],"agents":["judge"],"config":{},
"hooks":[{"event":"PreToolUse","script":"./hooks//pre.sh"}],
"commands":[{"family":"acme","module":"acme.cjs","router":"run"},{"family":"acme-x","exec":"bin/x"}],
"steps":[{"point":"plan:pre","ref":{"skill":"lint"},"produces":[],"consumes":[],"onError":"skip",
"fragment":{"path":"f/a.md"}}],"contributions":[],"gates":[]}"#;

fn facts() -> BundleFacts {
    let files = ["hooks/pre.sh", "acme.cjs", "bin/x", "skills/lint/SKILL.md", "agents/judge.md", "f/a.md"];
    BundleFacts {
        shipped: false,
        files: files.into_iter().map(str::to_owned).collect(),
        faults: Vec::new(),
        fragments: BTreeMap::from([("f/a.md".to_owned(), FragmentRead::Text("x".into()))]),
    }
}

fn draft(text: &str) -> Draft {
    Draft::read("acme", ManifestFile::Bytes(text.as_bytes()), &HostContract::builtin())
}

#[track_caller]
fn check(text: &str, facts: &BundleFacts, problems: &[(&str, &str, u32)], warnings: &[(&str, &str)]) {
    let verdict = draft(text).judge(Some(facts));
    let found: Vec<(&str, &str, u32)> = verdict
        .problems
        .iter()
        .map(|f| (f.problem.rule.as_str(), f.problem.pointer.as_str(), f.problem.line))
        .collect();
    assert_eq!(found, problems);
    let hints: Vec<(&str, &str)> =
        verdict.warnings.iter().map(|f| (f.problem.rule.as_str(), f.problem.pointer.as_str())).collect();
    assert_eq!(hints, warnings);
}

#[test]
fn a_complete_bundle_passes() {
    check(GOOD, &facts(), &[], &[]);
    assert_eq!(draft(GOOD).fragment_paths(), ["f/a.md"]);
    assert!(draft(GOOD).judge(None).is_valid());
}

#[test]
fn every_missing_file_is_named_where_it_is_declared() {
    let declared = "bundle.file.declared";
    check(
        GOOD,
        &BundleFacts::default(),
        &[
            ("overlay.fragment.unreadable", "/steps/0/fragment/path", 6),
            (declared, "/hooks/0/script", 3),
            (declared, "/commands/0/module", 4),
            (declared, "/commands/1/exec", 4),
        ],
        &[("bundle.warn.skill-file", "/skills/0"), ("bundle.warn.agent-file", "/agents/0")],
    );
}

#[test]
fn code_of_a_shipped_capability_may_be_part_of_the_host() {
    let shipped = BundleFacts { shipped: true, fragments: facts().fragments, ..BundleFacts::default() };
    check(GOOD, &shipped, &[], &[]);
}

#[test]
fn a_broken_manifest_does_not_hide_a_missing_file() {
    let text = GOOD.replace("\"1.0.0\"", "\"1\"");
    let mut facts = facts();
    facts.files.remove("bin/x");
    check(
        &text,
        &facts,
        &[("manifest.version.semver", "/version", 1), ("bundle.file.declared", "/commands/1/exec", 4)],
        &[],
    );
}

#[test]
fn members_that_a_bundle_cannot_have_are_findings_about_their_files() {
    let mut facts = facts();
    facts.faults.push(MemberFault {
        kind: MemberFaultKind::NotRegular,
        path: "pipe\u{1b}".into(),
        reason: "a pipe".into(),
    });
    check(GOOD, &facts, &[("bundle.member.regular", "", 0)], &[]);
    let verdict = draft(GOOD).judge(Some(&facts));
    assert_eq!(verdict.problems[0].problem.message, "`pipe\\u{1b}`: a pipe");
}

#[test]
fn a_misspelt_member_is_a_warning_with_its_place() {
    let text = GOOD.replace("\"onError\":\"skip\"", "\"onError\":\"skip\",\"wen\":\"x\"");
    check(&text, &facts(), &[], &[("manifest.warn.unknown-member", "/steps/0/wen")]);
    assert_eq!(draft(&text).judge(None).warnings[0].problem.line, 5);
}

#[test]
fn a_manifest_that_cannot_be_read_is_one_problem() {
    let read =
        |file| Draft::read("acme", file, &HostContract::builtin()).judge(Some(&BundleFacts::default()));
    for (file, rule) in [
        (ManifestFile::Missing, "bundle.manifest.present"),
        (ManifestFile::NotRegular("a pipe"), "parse.size"),
        (ManifestFile::TooBig, "parse.size"),
        (ManifestFile::Unreadable, "bundle.member.readable"),
        (ManifestFile::Bytes(b"{\"a\":1,\"a\":2}"), "parse.duplicate-key"),
    ] {
        let verdict = read(file);
        assert_eq!(verdict.problems.len(), 1);
        assert_eq!(verdict.problems[0].problem.rule.as_str(), rule);
    }
}

#[test]
fn sarif_has_a_rule_and_a_place_for_each_result() {
    let verdict = draft(GOOD).judge(Some(&BundleFacts::default()));
    let document = sarif(&verdict, "file:///a%20b", "1.2.3");
    let run = &document["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 6);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "file:///a%20b/capability.json");
        assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
    }
    assert_eq!(results[5]["level"], "warning");
}
