//! The policy in effect, key by key, with the rule that decides each.

use serde_json::{Value, json};

use super::decision::Policy;
use super::key::Key;
use super::rule::{Rule, Says};

/// One key as it is in effect.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The key.
    pub key: Key,
    /// The rule that says it; `None` where nobody says anything.
    pub rule: Option<&'a Rule>,
    /// What it says, `null` when it can't be honoured.
    pub value: Value,
    /// Whether this rule makes the difference. Lists all count; of a switch or a level the tightest one does.
    pub decides: bool,
}

impl Policy {
    /// Every key that somebody uses, and the default of every key of our own that nobody does.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting<'_>> {
        let mut settings = Vec::new();
        for key in Key::ALL {
            let rules: Vec<&Rule> = self.rules().iter().filter(|rule| rule.key == *key).collect();
            if rules.is_empty() {
                let default =
                    default(*key).map(|value| Setting { key: *key, rule: None, value, decides: true });
                settings.extend(default);
                continue;
            }
            let tightest = rules
                .iter()
                .enumerate()
                .max_by_key(|(at, rule)| (tightness(&rule.says), std::cmp::Reverse(*at)));
            let tightest = tightest.map(|(at, _)| at);
            settings.extend(rules.into_iter().enumerate().map(|(at, rule)| Setting {
                key: *key,
                rule: Some(rule),
                value: rule.value(),
                decides: tightness(&rule.says).is_none() || Some(at) == tightest,
            }));
        }
        settings
    }
}

/// How much a rule that has one value limits; `None` for lists, and for what closes a door by itself.
fn tightness(says: &Says) -> Option<u8> {
    match says {
        Says::RequireCommit(on) => Some(u8::from(*on)),
        Says::Blanket(on) | Says::Unattended(on) => Some(u8::from(!*on)),
        Says::MinLevel(level) => Some(*level as u8),
        Says::Allow(_)
        | Says::Deny(_)
        | Says::Forbid(_)
        | Says::Required(_)
        | Says::PrivateHosts(_)
        | Says::KnownRegistries(_)
        | Says::Unusable { .. } => None,
    }
}

/// What holds when nobody says anything; `null` where that is "no limit".
fn default(key: Key) -> Option<Value> {
    match key {
        Key::SourcesAllow | Key::UpdateAuto | Key::KnownRegistries => Some(Value::Null),
        Key::SourcesDeny | Key::ExecutableForbid | Key::Required | Key::PrivateHosts => Some(json!([])),
        Key::RequireCommit => Some(json!(false)),
        Key::MinLevel => Some(json!("none")),
        Key::ConsentYes => Some(json!(true)),
        Key::File
        | Key::StrictKnownMarketplaces
        | Key::BlockedMarketplaces
        | Key::AllowManagedHooksOnly
        | Key::DisableAllHooks
        | Key::AllowManagedMcpServersOnly
        | Key::AllowedMcpServers
        | Key::DeniedMcpServers
        | Key::StrictPluginOnlyCustomization
        | Key::DisableBypassPermissionsMode
        | Key::AllowManagedPermissionRulesOnly => None,
    }
}
