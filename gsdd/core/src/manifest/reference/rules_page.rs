//! The page of all rules.

use std::fmt::Write as _;

use super::not_in_schema::NOT_IN_SCHEMA;
use crate::manifest::{Origin, RULES, Rule, When};

/// Every rule as a Markdown page, grouped by what it is about.
#[must_use]
pub fn rules_page() -> String {
    let mut page = String::from(
        "# Rules of a manifest\n\n\
        Generated from the rules themselves; do not edit.\n\n\
        `gsdctl validate DIR` reports every broken rule with its place and remedy. Ids are stable: scripts may compare\n\
        them. *When* says at which moment a rule is examined:\n\n\
        | When | Meaning |\n|---|---|\n",
    );
    for when in MOMENTS {
        let _ = writeln!(page, "| {} | {} |", word(when), meaning(when));
    }
    page.push_str(
        "\nRules marked *ours* are not examined by upstream; capabilities that a host ships are not held to them.\n",
    );
    for group in groups() {
        let _ = writeln!(
            page,
            "\n## `{group}`\n\n| Rule | Demand | When | Source | Remedy |\n|---|---|---|---|---|"
        );
        for rule in RULES.iter().filter(|rule| group_of(rule) == group) {
            let mark = if rule.origin == Origin::Ours { " (ours)" } else { "" };
            let _ = writeln!(
                page,
                "| `{}`{mark} | {} | {} | {} | {} |",
                rule.id,
                cell(rule.text),
                word(rule.when),
                cell(rule.source),
                cell(rule.fix)
            );
        }
    }
    page.push_str(
        "\n## What the schema leaves to `gsdctl validate`\n\n\
        [`capability.schema.json`](capability.schema.json) expresses every other rule on one manifest.\n\n\
        | Rule | Why |\n|---|---|\n",
    );
    for row in NOT_IN_SCHEMA {
        let _ = writeln!(page, "| `{}` | {} |", row.rule, row.why);
    }
    page
}

const MOMENTS: [When; 8] = [
    When::Text,
    When::Manifest,
    When::Contract,
    When::Compose,
    When::Cross,
    When::Order,
    When::Load,
    When::Bundle,
];

fn word(when: When) -> &'static str {
    match when {
        When::Text => "text",
        When::Manifest => "manifest",
        When::Contract => "contract",
        When::Compose => "inside",
        When::Cross => "set",
        When::Order => "order",
        When::Load => "load",
        When::Bundle => "bundle",
    }
}

fn meaning(when: When) -> &'static str {
    match when {
        When::Text => "on the text of the file",
        When::Manifest => "on one manifest",
        When::Contract => "on one manifest without another problem, against the points and roles of the loop",
        When::Compose => "on one manifest without another problem: the inside of settings and pairings",
        When::Cross => "on the manifest together with what is shipped and installed (`--merged`)",
        When::Order => "on the order of the hooks of all of them (`--merged`)",
        When::Load => {
            "on an installed capability while it is loaded (`--merged`, except for the file itself)"
        }
        When::Bundle => "on the folder around the manifest; `warn` in the id: a warning only",
    }
}

/// The first word of an id, in the order of the table.
fn groups() -> Vec<&'static str> {
    let mut groups = Vec::new();
    for rule in RULES {
        let group = group_of(rule);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

fn group_of(rule: &Rule) -> &'static str {
    rule.id.split('.').next().unwrap_or(rule.id)
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
