//! Rules that hold a manifest against the host contract.
//!
//! Source: overlay model, "First-party always wins" (contract roles) and "The activation chain", item 4.

use super::capability::Manifest;
use super::findings::{At, Findings};
use super::rule_table::RuleId as R;
use crate::registry::HostContract;

/// Examines a manifest that breaks no rule of its own.
pub(super) fn check(findings: &mut Findings, manifest: &Manifest, contract: &HostContract) {
    let root = At::Root;
    let declared =
        |when: Option<&String>| when.is_none_or(|when| manifest.config.iter().any(|(key, _)| key == when));
    let at = root.key("steps");
    for (index, step) in manifest.steps.iter().enumerate() {
        findings.check(
            declared(step.when.as_ref()),
            R::ContractStepWhenDeclared,
            &at.item(index).key("when"),
        );
    }
    let at = root.key("contributions");
    for (index, contribution) in manifest.contributions.iter().enumerate() {
        let roles = contract.roles_at(contribution.point);
        if !roles.contains(&contribution.into) {
            let detail = format!("Roles there: {}.", roles.join(", "));
            findings.add_with(R::ContractContributionIntoRole, &at.item(index).key("into"), &detail);
        }
        let when = declared(contribution.when.as_ref());
        findings.check(when, R::ContractContributionWhenDeclared, &at.item(index).key("when"));
    }
    let at = root.key("gates");
    for (index, gate) in manifest.gates.iter().enumerate() {
        findings.check(
            declared(gate.when.as_ref()),
            R::ContractGateWhenDeclared,
            &at.item(index).key("when"),
        );
    }
}
