use super::*;
use crate::registry::HostContract;

#[track_caller]
fn check(text: &str, rules: &[&str]) {
    let assessed = assess("acme", text.as_bytes(), &HostContract::builtin());
    let found: Vec<&str> = assessed.problems.iter().map(|problem| problem.rule.as_str()).collect();
    assert_eq!(found, rules, "{:#?}", assessed.problems);
    assert_eq!(assessed.manifest.is_some(), rules.is_empty());
}

const GOOD: &str = r#"{"id":"acme","role":"feature","version":"1.0.0","title":"T","description":"D","tier":"full",
"requires":[],"runtimeCompat":{"supported":["*"],"unsupported":[]},"skills":["lint"],"agents":[],"config":{},
"steps":[],"contributions":[],"gates":[]}"#;

#[test]
fn table_rows_follow_the_enum() {
    for (index, rule) in RULES.iter().enumerate() {
        assert_eq!(rule.key as usize, index);
        assert_eq!(rule_by_id(rule.id).unwrap().key, rule.key, "{} stands twice", rule.id);
        assert!(!rule.text.is_empty() && !rule.source.is_empty() && !rule.fix.is_empty());
    }
}

#[test]
fn a_feature_passes() {
    check(GOOD, &[]);
}

#[test]
fn all_problems_come_at_once_with_their_places() {
    let text = GOOD.replace("\"T\"", "\"\"").replace("[\"lint\"]", "[\"../lint\", 3]");
    check(&text, &["manifest.title.non-empty", "feature.skills.stem-shape", "feature.skills.entry-string"]);
    let assessed = assess("acme", text.as_bytes(), &HostContract::builtin());
    let place = |index: usize| {
        let problem = &assessed.problems[index];
        (problem.pointer.as_str(), problem.line, problem.column)
    };
    assert_eq!(place(1), ("/skills/0", 2, 78));
    assert_eq!(place(2), ("/skills/1", 2, 89));
}

#[test]
fn an_executable_may_stand_for_a_module() {
    let with = |command: &str| GOOD.replace("\"agents\"", &format!("\"commands\":[{command}],\"agents\""));
    check(&with(r#"{"family":"acme","exec":"bin/acme"}"#), &[]);
    check(&with(r#"{"family":"acme","exec":"../acme"}"#), &["feature.commands.exec-safe-path"]);
    check(&with(r#"{"family":"acme","exec":""}"#), &["feature.commands.exec-string"]);
    check(&with(r#"{"family":"acme","exec":"a","module":"a.cjs"}"#), &["feature.commands.exec-exclusive"]);
    check(
        &with(r#"{"family":"acme"}"#),
        &["feature.commands.module-string", "feature.commands.router-string"],
    );
}

#[test]
fn gates_of_a_broken_manifest_are_still_read() {
    let text = GOOD.replace("\"gates\":[]", r#""gates":[null,{"point":"lunch"},{"point":"ship:pre"}]"#);
    let assessed = assess("acme", text.as_bytes(), &HostContract::builtin());
    assert!(assessed.manifest.is_none());
    let points: Vec<&str> = assessed.gates.iter().map(|gate| gate.point.as_str()).collect();
    assert_eq!(points, ["lunch", "ship:pre"]);
}

#[test]
fn findings_are_bounded() {
    let text = GOOD.replace("\"gates\":[]", &format!("\"gates\":[{}null]", "null,".repeat(100_000)));
    let assessed = assess("acme", text.as_bytes(), &HostContract::builtin());
    assert!(assessed.problems.len() <= 200 && assessed.manifest.is_none());
}

#[test]
fn t46_fragments_lie_in_the_bundle() {
    let with = |path: &str| {
        let fragment = format!(
            r#""contributions":[{{"point":"plan:pre","into":"planner","fragment":{{"path":"{path}"}},"produces":[],"consumes":[]}}]"#
        );
        GOOD.replace("\"contributions\":[]", &fragment)
    };
    check(&with("fragments/plan.md"), &[]);
    for path in ["../../x", "a/../../x", "a/../b", "/etc/passwd", "..\\\\x", "C:/x", ""] {
        check(&with(path), &["feature.fragment.path-relative"]);
    }
}

#[test]
fn t126_a_module_is_a_file_at_the_root_of_the_bundle() {
    let with = |module: &str| {
        let command =
            format!(r#""commands":[{{"family":"acme","module":"{module}","router":"run"}}],"agents""#);
        GOOD.replace("\"agents\"", &command)
    };
    check(&with("tool.cjs"), &[]);
    for module in [
        "lib/tool.cjs",
        "../tool.cjs",
        "lib\\\\tool.cjs",
        "C:tool.cjs",
        "/tool.cjs",
        "tool.cjs\\u0000",
        "fs",
        "tool",
    ] {
        check(&with(module), &["feature.commands.module-basename"]);
    }
}

#[test]
fn t127_what_a_runtime_writes_stays_in_its_folder() {
    let found = |member: &str, value: &str| -> Vec<String> {
        let text = format!(
            r#"{{"id":"acme","role":"runtime","runtime":{{"artifactLayout":{{"global":[{{"{member}":"{value}"}}],"local":[]}}}}}}"#
        );
        let assessed = assess("acme", text.as_bytes(), &HostContract::builtin());
        let at = format!("/runtime/artifactLayout/global/0/{member}");
        assessed
            .problems
            .iter()
            .filter(|problem| problem.pointer == at)
            .map(|problem| problem.rule.to_string())
            .collect()
    };
    for member in ["destSubpath", "home"] {
        assert!(found(member, "skills/gsd").is_empty());
        for value in ["../../.ssh", "a/../../b", "/etc", "..\\\\x", "C:/x"] {
            assert_eq!(found(member, value), ["runtime.artifact-layout.dest-confined"], "{member} {value}");
        }
    }
}
