//! The decisions: each asks every rule, in the order of the layers, and the first that objects is the answer.

use super::key::{Door, Key};
use super::matcher::List;
use super::place::Layer;
use super::read::{LayerRules, Unknown};
use super::rule::{Rule, Says};
use super::sought::{Contact, Errand, Sought};
use super::surface_class::SurfaceClass;
use crate::compose::Scope;
use crate::ids::CapabilityId;
use crate::source::SourceSpec;
use crate::source::network::{NetworkLayer, NetworkPolicy};
use crate::source::policy::KnownRegistries;
use crate::trust::VerificationLevel;

/// All rules that count for one caller in one project.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
    unknown: Vec<Unknown>,
}

/// A rule that says no.
#[derive(Clone, Debug)]
pub struct Objection {
    /// The rule.
    pub rule: Rule,
    /// Why it does, without its place; cleaned.
    pub why: String,
}

impl Policy {
    /// The rules of several layers.
    #[must_use]
    pub fn new(layers: impl IntoIterator<Item = LayerRules>) -> Self {
        let mut policy = Self::default();
        for layer in layers {
            policy.rules.extend(layer.rules);
            policy.unknown.extend(layer.unknown);
        }
        policy.rules.sort_by_key(|rule| rule.place.layer);
        policy
    }

    /// Every rule, in the order in which they are asked.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Keys that say nothing here.
    #[must_use]
    pub fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    fn ask(&self, objects: impl Fn(&Rule) -> Option<String>) -> Result<(), Box<Objection>> {
        let objection =
            self.rules.iter().find_map(|rule| Some(Objection { rule: rule.clone(), why: objects(rule)? }));
        objection.map_or(Ok(()), |objection| Err(Box::new(objection)))
    }

    /// Judges a source before anything of it is fetched, or before what was taken from it is used again.
    ///
    /// # Errors
    /// The first rule that objects.
    pub fn judge_source(&self, sought: &Sought<'_>) -> Result<(), Box<Objection>> {
        self.ask(|rule| source_objection(rule, sought))
    }

    /// Judges an address before it is contacted.
    ///
    /// # Errors
    /// The first rule that objects.
    pub fn judge_contact(&self, contact: &Contact<'_>) -> Result<(), Box<Objection>> {
        self.ask(|rule| contact_objection(rule, contact))
    }

    /// Judges how well it is known where a content comes from.
    ///
    /// # Errors
    /// The first rule that wants more.
    pub fn judge_level(&self, level: VerificationLevel) -> Result<(), Box<Objection>> {
        self.ask(|rule| match &rule.says {
            Says::MinLevel(least) if level < *least => {
                Some(format!("the level `{least}` is wanted, and this is `{level}`"))
            }
            _ => None,
        })
    }

    /// Whether an agreement without looking counts.
    ///
    /// # Errors
    /// The first rule that objects.
    pub fn judge_blanket(&self) -> Result<(), Box<Objection>> {
        self.ask(|rule| match &rule.says {
            Says::Blanket(false) => Some("`--yes` is no agreement here".to_owned()),
            _ => unusable(rule, |door| matches!(door, Door::File | Door::Blanket)),
        })
    }

    /// Whether an update may be made without a person.
    ///
    /// # Errors
    /// The first rule that objects.
    pub fn judge_unattended(&self) -> Result<(), Box<Objection>> {
        self.ask(|rule| match &rule.says {
            Says::Unattended(false) => Some("updates need a person here".to_owned()),
            _ => unusable(rule, |door| matches!(door, Door::File | Door::Unattended)),
        })
    }

    /// Judges what a capability would bring to `scope`, before it gets in.
    ///
    /// # Errors
    /// The first rule that forbids one of the classes.
    pub fn judge_entry(&self, class: SurfaceClass, scope: Scope) -> Result<(), Box<Objection>> {
        self.ask(|rule| class_objection(rule, class, scope, true))
    }

    /// Judges one class of a capability in `scope` at the moment of use.
    ///
    /// # Errors
    /// The first rule that forbids it.
    pub fn judge_use(&self, class: SurfaceClass, scope: Scope) -> Result<(), Box<Objection>> {
        self.ask(|rule| class_objection(rule, class, scope, false))
    }

    /// Whether a capability may be taken away or switched off.
    ///
    /// # Errors
    /// The first rule that requires it. A project's never does: it could keep something that the person wants to be rid
    /// of.
    pub fn judge_removal(&self, id: &str) -> Result<(), Box<Objection>> {
        self.ask(|rule| match &rule.says {
            Says::Required(ids) if rule.place.layer != Layer::Project => {
                ids.iter().any(|required| required.as_str() == id).then(|| format!("{id} is required"))
            }
            _ => None,
        })
    }

    /// What has to be there, and who says so; each once.
    #[must_use]
    pub fn required(&self) -> Vec<(&CapabilityId, &Rule)> {
        let mut all: Vec<(&CapabilityId, &Rule)> = Vec::new();
        for rule in &self.rules {
            let Says::Required(ids) = &rule.says else { continue };
            for id in ids {
                if !all.iter().any(|(known, _)| *known == id) {
                    all.push((id, rule));
                }
            }
        }
        all
    }

    /// The hosts that may be reached although they are not public.
    #[must_use]
    pub fn network(&self) -> NetworkPolicy {
        let mut network = NetworkPolicy::default();
        for rule in &self.rules {
            let layer = match rule.place.layer {
                Layer::Machine => &mut network.machine,
                Layer::User => &mut network.user,
                Layer::Project => continue,
            };
            match &rule.says {
                Says::PrivateHosts(hosts) => *layer = NetworkLayer { private_hosts: Some(hosts.clone()) },
                Says::Unusable { door: Door::File | Door::External, .. } => {
                    *layer = NetworkLayer { private_hosts: Some(Vec::new()) };
                }
                _ => {}
            }
        }
        network
    }

    /// Whether any rule is about where sources are: then a place that can't be judged is not gone to.
    #[must_use]
    pub fn limits_sources(&self) -> bool {
        self.rules.iter().any(Rule::limits_sources)
    }
}

/// The words of a rule that can't be honoured, if it closes one of these doors.
fn unusable(rule: &Rule, closes: impl Fn(Door) -> bool) -> Option<String> {
    match &rule.says {
        Says::Unusable { what, door } if closes(*door) => Some(what.clone()),
        _ => None,
    }
}

fn source_objection(rule: &Rule, sought: &Sought<'_>) -> Option<String> {
    match &rule.says {
        Says::Allow(entries) if !entries.iter().any(|entry| entry.fits_source(sought, List::Allow)) => {
            Some(only(rule))
        }
        Says::Deny(entries) => {
            // A record that is no source could be any.
            let denied =
                entries.iter().find(|entry| sought.spec.is_none() || entry.fits_source(sought, List::Deny));
            denied.map(|entry| format!("`{}` denies {entry}", rule.key.name()))
        }
        Says::RequireCommit(true) => match sought.spec {
            Some(SourceSpec::Git { reference, .. }) if !reference.is_pinned() => {
                Some("a repository has to be named with a commit: …#sha:COMMIT".to_owned())
            }
            _ => None,
        },
        Says::KnownRegistries(known) => match sought.spec {
            _ if sought.is_here() => None,
            Some(spec) => known.judge(spec, sought.host()).err().map(|block| block.to_string()),
            None if *known == KnownRegistries::Open => None,
            None => Some("it is not known where this comes from".to_owned()),
        },
        _ => unusable(rule, |door| match door {
            Door::File | Door::External => !sought.is_here(),
            Door::Sources => true,
            Door::Blanket | Door::Unattended | Door::Executable(_) | Door::Nothing => false,
        }),
    }
}

fn contact_objection(rule: &Rule, contact: &Contact<'_>) -> Option<String> {
    match &rule.says {
        Says::Allow(entries) if !entries.iter().any(|entry| entry.fits_contact(contact, List::Allow)) => {
            Some(only(rule))
        }
        Says::Deny(entries) => {
            let denied = entries.iter().find(|entry| entry.fits_contact(contact, List::Deny));
            denied.map(|entry| format!("`{}` denies {entry}", rule.key.name()))
        }
        // Upstream's word `npm` allows the kind as a whole, whose hosts are the person's own configuration.
        Says::KnownRegistries(KnownRegistries::Listed(_)) if matches!(contact.errand, Errand::Npm(_)) => None,
        Says::KnownRegistries(known) => known.judge_host(contact.host).err().map(|block| block.to_string()),
        _ => unusable(rule, |door| matches!(door, Door::File | Door::External | Door::Sources)),
    }
}

fn class_objection(rule: &Rule, class: SurfaceClass, scope: Scope, entry: bool) -> Option<String> {
    // A project has a say over its own capabilities. It could otherwise switch off a guard that the person installed.
    if scope == Scope::FirstParty || (rule.place.layer == Layer::Project && scope != Scope::Project) {
        return None;
    }
    match &rule.says {
        Says::Forbid(classes) if classes.contains(&class) => {
            Some(format!("`{}` forbids {}", rule.key.name(), class.words()))
        }
        _ => unusable(rule, |door| match door {
            Door::Executable(classes) => classes.contains(&class),
            Door::File => entry,
            Door::External | Door::Sources | Door::Blanket | Door::Unattended | Door::Nothing => false,
        }),
    }
}

/// Entries of a list that a message repeats.
const MAX_TOLD: usize = 5;

fn only(rule: &Rule) -> String {
    let entries: Vec<String> = match &rule.says {
        Says::Allow(entries) => entries.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    let more = if entries.len() > MAX_TOLD { ", …" } else { "" };
    let told = entries.iter().take(MAX_TOLD).cloned().collect::<Vec<_>>().join(", ");
    match (rule.key, told.is_empty()) {
        (Key::SourcesAllow | Key::StrictKnownMarketplaces, true) => {
            format!("`{}` is an empty list: no source is allowed", rule.key.name())
        }
        _ => format!("`{}` allows only [{told}{more}]", rule.key.name()),
    }
}
