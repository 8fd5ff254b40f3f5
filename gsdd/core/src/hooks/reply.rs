//! The bytes and the exit status that a host gets.

use serde_json::{Map, Value, json};

use super::{Answer, Decision};
use crate::runtime::{BlockForm, EventRule, ReplyDialect};

/// What the client copies to the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostReply {
    /// Standard output: one JSON document, plain output, or nothing.
    pub stdout: String,
    /// Standard error, for people.
    pub stderr: String,
    /// Exit status.
    pub exit: i32,
}

/// Renders a merged answer in the dialect of a host.
#[must_use]
pub fn render(answer: &Answer, event: &str, rule: &EventRule, dialect: ReplyDialect) -> HostReply {
    let stderr = answer.problems.iter().map(|problem| format!("gsdctl: {problem}\n")).collect();
    let stdout = match dialect {
        ReplyDialect::HookSpecificOutput => hook_specific_output(answer, event, rule),
    };
    HostReply { stdout, stderr, exit: 0 }
}

fn hook_specific_output(answer: &Answer, event: &str, rule: &EventRule) -> String {
    let mut specific = Map::new();
    let mut top = Map::new();
    let reason = answer.reasons.join("\n");
    match rule.block {
        BlockForm::PermissionDecision if answer.decision != Decision::None => {
            let word = match answer.decision {
                Decision::Deny => "deny",
                Decision::Ask => "ask",
                Decision::Defer => "defer",
                Decision::Allow | Decision::None => "allow",
            };
            specific.insert("permissionDecision".to_owned(), word.into());
            if !reason.is_empty() {
                specific.insert("permissionDecisionReason".to_owned(), reason.into());
            }
        }
        BlockForm::PermissionRequest => match answer.decision {
            Decision::Deny => {
                specific.insert("decision".to_owned(), json!({"behavior": "deny", "message": reason}));
            }
            Decision::Allow => {
                specific.insert("decision".to_owned(), json!({"behavior": "allow"}));
            }
            Decision::Ask | Decision::Defer | Decision::None => {}
        },
        BlockForm::DecisionBlock if answer.decision == Decision::Deny => {
            top.insert("decision".to_owned(), "block".into());
            top.insert("reason".to_owned(), reason.into());
        }
        BlockForm::PermissionDecision | BlockForm::DecisionBlock | BlockForm::None => {}
    }
    if let Some(input) = answer.updated_input.as_ref().filter(|_| answer.decision < Decision::Ask) {
        specific.insert("updatedInput".to_owned(), input.clone());
    }
    if rule.context && !answer.context.is_empty() {
        specific.insert("additionalContext".to_owned(), answer.context.join("\n\n").into());
    }
    if let Some(reason) = &answer.stop {
        top.insert("continue".to_owned(), Value::Bool(false));
        top.insert("stopReason".to_owned(), reason.clone().into());
    }
    if !answer.messages.is_empty() {
        top.insert("systemMessage".to_owned(), answer.messages.join("\n").into());
    }
    if !specific.is_empty() {
        let mut named = Map::from_iter([("hookEventName".to_owned(), Value::from(event))]);
        named.append(&mut specific);
        top.insert("hookSpecificOutput".to_owned(), Value::Object(named));
    }
    if top.is_empty() { String::new() } else { Value::Object(top).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> EventRule {
        serde_json::from_str(text).unwrap()
    }

    fn deny() -> Answer {
        Answer { decision: Decision::Deny, reasons: vec!["[guard] no".into()], ..Answer::default() }
    }

    #[track_caller]
    fn check(answer: &Answer, event: &str, rule_text: &str, expected: &str) {
        let reply = render(answer, event, &rule(rule_text), ReplyDialect::HookSpecificOutput);
        assert_eq!(reply.stdout, expected);
        assert_eq!(reply.exit, 0);
    }

    #[test]
    fn each_event_blocks_in_the_form_that_was_seen_to_block() {
        check(
            &deny(),
            "PreToolUse",
            r#"{"block":"permission-decision"}"#,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"[guard] no"}}"#,
        );
        check(
            &deny(),
            "Stop",
            r#"{"block":"decision-block"}"#,
            r#"{"decision":"block","reason":"[guard] no"}"#,
        );
        check(
            &deny(),
            "PermissionRequest",
            r#"{"block":"permission-request"}"#,
            r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"[guard] no"}}}"#,
        );
        check(&deny(), "SessionEnd", r#"{}"#, "");
    }

    #[test]
    fn no_opinion_says_nothing() {
        check(&Answer::default(), "PreToolUse", r#"{"block":"permission-decision","context":true}"#, "");
    }

    #[test]
    fn a_denied_call_does_not_change_its_input() {
        let answer = Answer { updated_input: Some(json!({"a": 1})), ..deny() };
        let reply = render(
            &answer,
            "PreToolUse",
            &rule(r#"{"block":"permission-decision"}"#),
            ReplyDialect::HookSpecificOutput,
        );
        assert!(!reply.stdout.contains("updatedInput"));
    }

    #[test]
    fn problems_go_to_standard_error() {
        let answer = Answer { problems: vec!["hook x failed".into()], ..Answer::default() };
        let reply = render(&answer, "Stop", &rule(r#"{}"#), ReplyDialect::HookSpecificOutput);
        assert_eq!((reply.stdout.as_str(), reply.stderr.as_str()), ("", "gsdctl: hook x failed\n"));
    }
}
