//! One answer made of the outcomes of several scripts.

use serde_json::Value;

use crate::runtime::EventRule;
use crate::text::shown_up_to;

/// How a script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ended with this status.
    Exit(i32),
    /// A signal ended it.
    Signal(i32),
    /// It was stopped at its time limit.
    TimedOut,
    /// It could not be started.
    NotStarted,
}

/// What one script said.
#[derive(Clone, Debug)]
pub struct ScriptRun<'a> {
    /// Owner.
    pub capability: &'a str,
    /// Script, as declared.
    pub script: &'a str,
    /// How it ended.
    pub outcome: Outcome,
    /// Its standard output.
    pub stdout: &'a str,
    /// Its standard error.
    pub stderr: &'a str,
}

/// A decision about the call, weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// No opinion.
    #[default]
    None,
    /// Skip the host's own question.
    Allow,
    /// Leave the call open; the host ends its turn.
    Defer,
    /// Ask the person.
    Ask,
    /// Don't.
    Deny,
}

/// The merged answer, before it is rendered for a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The strongest decision.
    pub decision: Decision,
    /// Why, one line a capability that took that decision.
    pub reasons: Vec<String>,
    /// Text for the model, in capability order.
    pub context: Vec<String>,
    /// Text for the person.
    pub messages: Vec<String>,
    /// Input that replaces the tool's.
    pub updated_input: Option<Value>,
    /// Whether the session shall stop, and why.
    pub stop: Option<String>,
    /// What went wrong, for the log and standard error; never silent.
    pub problems: Vec<String>,
}

/// Exit status that blocks.
const BLOCKS: i32 = 2;

/// Merges what the scripts said, in the given order (capability order).
#[must_use]
pub fn merge(runs: &[ScriptRun<'_>], rule: &EventRule) -> Answer {
    let mut merged = Answer::default();
    for run in runs {
        let one = read(run, rule);
        match one.decision.cmp(&merged.decision) {
            std::cmp::Ordering::Greater => {
                merged.decision = one.decision;
                merged.reasons = one.reasons;
            }
            std::cmp::Ordering::Equal if one.decision != Decision::None => merged.reasons.extend(one.reasons),
            _ => {}
        }
        merged.context.extend(one.context);
        merged.messages.extend(one.messages);
        merged.problems.extend(one.problems);
        merged.stop = merged.stop.or(one.stop);
        match (&merged.updated_input, one.updated_input) {
            (None, input) => merged.updated_input = input,
            (Some(_), Some(_)) => merged.problems.push(format!(
                "{} also wants to change the tool's input; the first change was kept",
                run.capability
            )),
            (Some(_), None) => {}
        }
    }
    merged
}

fn read(run: &ScriptRun<'_>, rule: &EventRule) -> Answer {
    let mut answer = Answer::default();
    match run.outcome {
        Outcome::Exit(BLOCKS) => {
            answer.decision = Decision::Deny;
            let reason = run.stderr.trim();
            answer
                .reasons
                .push(attributed(run, if reason.is_empty() { "blocked this call" } else { reason }));
            return answer;
        }
        Outcome::Exit(0) => {}
        Outcome::Exit(status) => answer.problems.push(problem(run, &format!("ended with status {status}"))),
        Outcome::Signal(signal) => {
            answer.problems.push(problem(run, &format!("was ended by signal {signal}")));
        }
        Outcome::TimedOut => answer.problems.push(problem(run, "was stopped at its time limit")),
        Outcome::NotStarted => answer.problems.push(problem(run, "could not be started")),
    }
    let stdout = run.stdout.trim_start_matches('\u{feff}').trim();
    if let Ok(Value::Object(said)) = serde_json::from_str::<Value>(stdout) {
        read_object(run, &said, &mut answer);
    } else if run.outcome == Outcome::Exit(0) && !stdout.is_empty() && rule.plain_text_context {
        answer.context.push(stdout.to_owned());
    }
    answer
}

fn read_object(run: &ScriptRun<'_>, said: &serde_json::Map<String, Value>, answer: &mut Answer) {
    let specific = said.get("hookSpecificOutput").and_then(Value::as_object);
    let of_specific = |member: &str| specific.and_then(|specific| specific.get(member));
    let behavior =
        of_specific("decision").and_then(|decision| decision.get("behavior")).and_then(Value::as_str);
    let word = text(of_specific("permissionDecision")).or(behavior).or_else(|| text(said.get("decision")));
    answer.decision = match word {
        Some("deny" | "block") => Decision::Deny,
        Some("ask") => Decision::Ask,
        Some("defer") => Decision::Defer,
        Some("allow" | "approve") => Decision::Allow,
        Some(other) => {
            let other = shown_up_to(other, 40);
            answer.problems.push(problem(run, &format!("answered with the unknown decision `{other}`")));
            Decision::None
        }
        None => Decision::None,
    };
    if answer.decision != Decision::None {
        let message = of_specific("decision").and_then(|decision| decision.get("message"));
        let reason = text(of_specific("permissionDecisionReason"))
            .or_else(|| text(said.get("reason")))
            .or_else(|| text(message));
        match (reason, answer.decision) {
            (Some(reason), _) => answer.reasons.push(attributed(run, reason)),
            (None, Decision::Deny | Decision::Ask) => answer.reasons.push(attributed(run, "gave no reason")),
            (None, _) => {}
        }
    }
    if let Some(context) =
        text(of_specific("additionalContext")).or_else(|| text(said.get("additionalContext")))
    {
        answer.context.push(context.to_owned());
    }
    if let Some(message) = text(said.get("systemMessage")) {
        answer.messages.push(message.to_owned());
    }
    answer.updated_input = of_specific("updatedInput").filter(|input| input.is_object()).cloned();
    if said.get("continue") == Some(&Value::Bool(false)) {
        answer.stop =
            Some(text(said.get("stopReason")).unwrap_or("a capability stopped the session").to_owned());
    }
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

fn attributed(run: &ScriptRun<'_>, reason: &str) -> String {
    format!("[{}] {reason}", run.capability)
}

fn problem(run: &ScriptRun<'_>, what: &str) -> String {
    let detail = run.stderr.trim();
    let detail = if detail.is_empty() { String::new() } else { format!(": {}", shown_up_to(detail, 200)) };
    format!("hook {} of capability {} {what}{detail}", run.script, run.capability)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> EventRule {
        serde_json::from_str(text).unwrap()
    }

    fn run<'a>(capability: &'a str, outcome: Outcome, stdout: &'a str, stderr: &'a str) -> ScriptRun<'a> {
        ScriptRun { capability, script: "h.sh", outcome, stdout, stderr }
    }

    fn tool() -> EventRule {
        rule(r#"{"block":"permission-decision","context":true}"#)
    }

    #[test]
    fn the_strongest_decision_wins_and_keeps_its_reasons() {
        let allow =
            r#"{"hookSpecificOutput":{"permissionDecision":"allow","permissionDecisionReason":"fine"}}"#;
        let ask = r#"{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}"#;
        let runs = [
            run("a", Outcome::Exit(0), allow, ""),
            run("b", Outcome::Exit(2), "", "no secrets\n"),
            run("c", Outcome::Exit(0), ask, ""),
            run("d", Outcome::Exit(2), "", ""),
        ];
        let merged = merge(&runs, &tool());
        assert_eq!(merged.decision, Decision::Deny);
        assert_eq!(merged.reasons, ["[b] no secrets", "[d] blocked this call"]);
        assert_eq!(merge(&runs[..1], &tool()).decision, Decision::Allow);
        assert_eq!(merge(&[], &tool()), Answer::default());
    }

    #[test]
    fn a_failing_script_lets_the_call_pass_and_is_named() {
        for (outcome, word) in [
            (Outcome::Exit(1), "status 1"),
            (Outcome::Exit(127), "status 127"),
            (Outcome::Signal(9), "signal 9"),
            (Outcome::TimedOut, "time limit"),
            (Outcome::NotStarted, "started"),
        ] {
            let merged = merge(&[run("guard", outcome, "", "boom")], &tool());
            assert_eq!(merged.decision, Decision::None);
            assert!(merged.problems[0].contains(word) && merged.problems[0].contains("guard"), "{merged:?}");
        }
    }

    #[test]
    fn context_is_concatenated_in_capability_order() {
        let context = |text: &str| format!(r#"{{"hookSpecificOutput":{{"additionalContext":"{text}"}}}}"#);
        let (one, two) = (context("one"), context("two"));
        let merged =
            merge(&[run("a", Outcome::Exit(0), &one, ""), run("b", Outcome::Exit(0), &two, "")], &tool());
        assert_eq!(merged.context, ["one", "two"]);
    }

    #[test]
    fn plain_text_counts_only_where_the_host_reads_it() {
        let said = [run("a", Outcome::Exit(0), "hello\n", "")];
        assert!(merge(&said, &tool()).context.is_empty());
        assert_eq!(merge(&said, &rule(r#"{"context":true,"plainTextContext":true}"#)).context, ["hello"]);
    }

    #[test]
    fn a_second_change_of_the_input_is_reported() {
        let change = r#"{"hookSpecificOutput":{"updatedInput":{"command":"ls"}}}"#;
        let merged =
            merge(&[run("a", Outcome::Exit(0), change, ""), run("b", Outcome::Exit(0), change, "")], &tool());
        assert!(merged.updated_input.is_some());
        assert_eq!(merged.problems.len(), 1);
    }

    #[test]
    fn unknown_decisions_are_no_decision() {
        let merged = merge(&[run("a", Outcome::Exit(0), r#"{"decision":"maybe\u001b"}"#, "")], &tool());
        assert_eq!(merged.decision, Decision::None);
        assert!(merged.problems[0].contains(r"maybe\u{1b}"));
    }
}
