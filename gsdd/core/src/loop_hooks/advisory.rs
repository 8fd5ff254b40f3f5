//! The warning for a gate that is missing.

use crate::ids::has_id_shape;
use crate::text;

/// A gate that a skipped capability declared at the rendered point.
#[derive(Clone, Copy, Debug)]
pub struct MissingGate<'a> {
    /// Directory name of the skipped capability.
    pub id: &'a str,
    /// Where it is installed: `global` or `project`.
    pub scope: &'a str,
    /// Point of the gate.
    pub point: &'a str,
    /// Why the capability did not load, as any text.
    pub reason: &'a str,
    /// What to do, when it is not removal: a command.
    pub remedy: Option<&'a str>,
}

/// One line: which gate is missing, why, that it is not enforced, and what to do.
///
/// The id is shown, and put into a command, only when it has the shape of an id; the reason is cleaned first.
///
/// Source: overlay model, note on #2009.
#[must_use]
pub fn advisory(gate: &MissingGate<'_>) -> String {
    let reason = text::advisory(gate.reason).unwrap_or_else(|| "no reason was recorded".to_owned());
    let head = |who: &str| {
        format!(
            "{who} ({} scope) did not load ({reason}), so its gate at {} is skipped and NOT enforced.",
            gate.scope, gate.point
        )
    };
    if !has_id_shape(gate.id) {
        return format!(
            "{} Delete the offending directory under .gsd/capabilities/ of that scope.",
            head("A capability whose name is not a legal id")
        );
    }
    let remove = format!("`gsdctl capability remove {} --scope {}`", gate.id, gate.scope);
    let remedy = match gate.remedy {
        Some(command) => format!("Run `{}`, or remove it with {remove}.", command.replace('`', "")),
        None => format!("Fix or update it, or remove it with {remove}."),
    };
    format!("{} {remedy}", head(&format!("Capability {}", gate.id)))
}

/// One line: which gate is not used because a policy forbids what it runs, and that it is not enforced.
#[must_use]
pub fn forbidden_gate(id: &str, point: &str, why: &str) -> String {
    let why = text::advisory(why).unwrap_or_default();
    format!(
        "The gate of capability {id} at {point} runs a command, which a policy forbids ({why}), so it is skipped and NOT enforced."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_capability_scope_reason_and_remedy() {
        let gate = MissingGate {
            id: "pebble",
            scope: "project",
            point: "ship:pre",
            reason: "needs GSD >=2",
            remedy: None,
        };
        let line = advisory(&gate);
        for part in [
            "pebble",
            "project",
            "ship:pre",
            "needs GSD >=2",
            "NOT enforced",
            "gsdctl capability remove pebble --scope project",
        ] {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn t184_hostile_names_and_reasons_never_become_a_command() {
        let gate = MissingGate {
            id: "x`; rm -rf ~",
            scope: "project",
            point: "ship:pre",
            reason: "\u{1b}[2J`run me`\n",
            remedy: None,
        };
        let line = advisory(&gate);
        assert!(
            !line.contains('`')
                && !line.contains('\u{1b}')
                && !line.contains('\n')
                && !line.contains("rm -rf"),
            "{line}"
        );
    }
}
