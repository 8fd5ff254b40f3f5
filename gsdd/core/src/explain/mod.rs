//! Why something is as it is: what it is, whose, active or not, by which rule, and what would change that.
//!
//! [`explain`] answers for everything a person may have a name of. It decides nothing: it repeats, in words and with
//! the facts behind them, what composition and activation decided. Nothing that a bundle without an agreement says is
//! repeated beyond the name that was asked for.
//!
//! Source: overlay model, "The activation chain" and "First-party always wins".

mod capability;
mod explanation;
mod hook_event;
mod loop_point;
mod mcp_server;
mod named;
mod nearby;
mod setting;
mod subject;
mod world;

pub use explanation::{Explanation, Fix, Party, Predicate, Verdict};
pub(crate) use nearby::{MAX_COMPARED, distance};
pub use subject::{Subject, SubjectKind};
pub use world::{ConfigNames, Executable, Found, World};

/// The answers for a subject: one for each thing of that name.
#[must_use]
pub fn explain(world: &World<'_>, subject: &Subject) -> Vec<Explanation> {
    SubjectKind::ALL
        .into_iter()
        .filter(|kind| subject.kind.is_none_or(|wanted| wanted == *kind))
        .filter_map(|kind| explain_as(world, kind, &subject.name))
        .collect()
}

fn explain_as(world: &World<'_>, kind: SubjectKind, name: &str) -> Option<Explanation> {
    match kind {
        SubjectKind::Capability => capability::explain(world, name),
        SubjectKind::Skill | SubjectKind::Agent | SubjectKind::Family => named::explain(world, kind, name),
        SubjectKind::Key => setting::explain(world, name),
        SubjectKind::Hook => hook_event::explain(world, name),
        SubjectKind::Mcp => mcp_server::explain(world, name),
        SubjectKind::Point => loop_point::explain(world, name),
    }
}

/// Names like the one that nothing has, the nearest first, as they would be asked for.
#[must_use]
pub fn nearby(world: &World<'_>, subject: &Subject) -> Vec<String> {
    nearby::nearby(world, subject)
}

#[cfg(test)]
mod tests;
