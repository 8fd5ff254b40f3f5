//! What a policy is asked about.

use crate::source::SourceSpec;
use crate::source::index::RegistryPlace;

/// A source, before anything of it is fetched.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a> {
    /// As typed, or as a record has it; `None` for a record that is no source.
    pub spec: Option<&'a SourceSpec>,
    /// The name of the registry that is meant.
    pub registry: Option<&'a str>,
    /// Where that registry is, if the person has configured one of that name.
    pub place: Option<&'a RegistryPlace>,
}

impl<'a> Sought<'a> {
    /// A record that is no source: it could come from anywhere.
    pub const NOWHERE: Self = Self { spec: None, registry: None, place: None };

    /// A source of any kind but a named registry.
    #[must_use]
    pub fn of(spec: &'a SourceSpec) -> Self {
        Self { spec: Some(spec), registry: None, place: None }
    }

    /// Whether everything of it lies on this machine.
    #[must_use]
    pub fn is_here(&self) -> bool {
        matches!(self.spec, Some(SourceSpec::Local { .. }))
            || matches!(self.place, Some(RegistryPlace::Folder(_)))
    }

    /// The host that is contacted first, if it is known.
    #[must_use]
    pub fn host(&self) -> Option<&'a str> {
        self.spec.and_then(SourceSpec::host).or_else(|| self.place.and_then(RegistryPlace::host))
    }
}

/// What something is contacted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Errand<'a> {
    /// For something that no entry speaks of by its name: only the address counts.
    #[default]
    Unnamed,
    /// For a repository.
    Git,
    /// For an archive behind a URL.
    Tarball,
    /// For this package.
    Npm(&'a str),
    /// For an artifact.
    Oci {
        /// Host and port.
        host: &'a str,
        /// Path.
        repository: &'a str,
    },
    /// For an entry of the registry of this name.
    Registry(&'a str),
}

/// An address that is about to be contacted: a first one, a redirect, a mirror.
#[derive(Clone, Copy, Debug)]
pub struct Contact<'a> {
    /// In lower case; an IPv6 address in its brackets.
    pub host: &'a str,
    /// From the first slash on.
    pub path: &'a str,
    /// What for.
    pub errand: Errand<'a>,
    /// Whether no redirect led away from the place that the errand itself names.
    pub is_origin: bool,
}
