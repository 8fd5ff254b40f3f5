//! Entries of lists of sources: typed, so that a host is never mistaken for a path or a package for a host.
//!
//! An entry of an allow list has to fit exactly; an entry of a deny list also fits what can't be told apart from it: an
//! odd path at the host of a denied repository, another spelling by case, a trailing dot.
//!
//! Source: threat T159.

use std::fmt;
use std::net::Ipv6Addr;

use regex_lite::Regex;

use super::sought::{Contact, Errand, Sought};
use crate::source::address::{AddressRefusal, judge_host_text};
use crate::source::index::{RegistryPlace, is_registry_name};
use crate::source::url::SourceUrl;
use crate::source::{GitRef, SourceKind, SourceSpec};
use crate::text::shown_up_to;

/// Longest entry that is read, in bytes.
const MAX_ENTRY: usize = 1024;

/// One entry.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// Every source of a kind, and whatever is contacted for it.
    Kind(SourceKind),
    /// One host, in its canonical spelling.
    Host(String),
    /// Every name below this one.
    Below(String),
    /// A repository and everything below it, at a host.
    Repository {
        /// The host.
        host: String,
        /// The folders of its path.
        path: Vec<String>,
        /// Only this repository, nothing below, and only this ref when there is one.
        only: Option<Only>,
    },
    /// A package, or with `@scope` alone every package of the scope.
    Npm(String),
    /// A named registry.
    Registry(String),
    /// A repository of an OCI registry and everything below it.
    Oci {
        /// The host, with its port if it has one.
        host: String,
        /// The folders of its path.
        path: Vec<String>,
    },
    /// One address.
    Url {
        /// The host.
        host: String,
        /// The folders of its path.
        path: Vec<String>,
    },
    /// Hosts that a regular expression describes: as a whole to be allowed, in part to be denied.
    HostPattern {
        /// As written.
        text: String,
        /// Reads the whole host.
        whole: Box<Regex>,
        /// Reads a part of it.
        part: Box<Regex>,
    },
    /// An entry that has no meaning here; fits nothing.
    NotUnderstood(String),
}

/// See [`Matcher::Repository`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Only {
    /// Tag, branch or commit.
    pub reference: Option<String>,
}

/// Which kind of list an entry stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Allow,
    Deny,
}

impl Matcher {
    /// Reads an entry: `host:NAME`, `host:.NAME`, `repository:HOST/PATH`, `npm:NAME`, `npm:@SCOPE`, `registry:NAME`,
    /// `oci:HOST/PATH`, `kind:KIND`.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let (kind, rest) = raw.split_once(':').filter(|_| raw.len() <= MAX_ENTRY)?;
        match kind {
            "kind" => kind_of(rest).map(Self::Kind),
            "host" => match rest.strip_prefix('.') {
                Some(below) => host_name(below).filter(|name| !is_address(name)).map(Self::Below),
                None => host_name(rest).map(Self::Host),
            },
            "repository" => {
                let (host, path) = host_and_path(rest)?;
                Some(Self::Repository { host: host_name(host)?, path, only: None })
            }
            "npm" => is_package(rest).then(|| Self::Npm(rest.to_owned())),
            "registry" => is_registry_name(rest).then(|| Self::Registry(rest.to_owned())),
            "oci" => {
                let (place, path) = host_and_path(rest)?;
                Some(Self::Oci { host: host_and_port(place)?, path })
            }
            _ => None,
        }
    }

    /// The repository at a URL, and nothing below it.
    #[must_use]
    pub fn only_repository(url: &str, reference: Option<&str>) -> Option<Self> {
        let parts = match SourceSpec::parse(url).ok()? {
            SourceSpec::Git { parts, .. } => parts,
            _ => SourceUrl::parse(url).ok()?,
        };
        let only = Some(Only { reference: reference.map(str::to_owned) });
        Some(Self::Repository { host: host_name(parts.host())?, path: folders(&parts.path)?, only })
    }

    /// Exactly one address.
    #[must_use]
    pub fn only_url(url: &str) -> Option<Self> {
        let parts = SourceUrl::parse(url).ok().filter(|parts| parts.scheme == "https")?;
        Some(Self::Url { host: host_name(parts.host())?, path: folders(&parts.path)? })
    }

    /// Hosts that a regular expression describes.
    #[must_use]
    pub fn host_pattern(text: &str) -> Option<Self> {
        let text = (text.len() <= MAX_ENTRY).then_some(text)?;
        let whole = Box::new(Regex::new(&format!("^(?:{text})$")).ok()?);
        let part = Box::new(Regex::new(text).ok()?);
        Some(Self::HostPattern { text: text.to_owned(), whole, part })
    }

    /// Whether it is about this source.
    pub(super) fn fits_source(&self, sought: &Sought<'_>, list: List) -> bool {
        let Some(spec) = sought.spec else { return false };
        match self {
            Self::Kind(kind) => spec.kind() == *kind || (*kind == SourceKind::Local && sought.is_here()),
            Self::Host(_) | Self::Below(_) | Self::HostPattern { .. } => {
                sought.host().is_some_and(|host| self.fits_host(host, list))
            }
            Self::Npm(entry) => match spec {
                SourceSpec::Npm { name, .. } => covers_package(entry, name, list),
                _ => false,
            },
            Self::Registry(entry) => sought.registry.is_some_and(|name| same(entry, name, list)),
            Self::Oci { host: entry, path } => match spec {
                SourceSpec::Oci { host, repository, .. } => covers_oci(entry, path, host, repository, list),
                _ => false,
            },
            Self::Repository { .. } | Self::Url { .. } => match (spec, sought.place) {
                (SourceSpec::Git { parts, reference, .. }, _) => {
                    self.fits_address(parts.host(), &parts.path, Some(reference), list)
                }
                (SourceSpec::Tarball { parts, .. }, _) | (_, Some(RegistryPlace::Web { parts, .. })) => {
                    self.fits_address(parts.host(), &parts.path, None, list)
                }
                (_, Some(RegistryPlace::Repository(SourceSpec::Git { parts, reference, .. }))) => {
                    self.fits_address(parts.host(), &parts.path, Some(reference), list)
                }
                _ => false,
            },
            Self::NotUnderstood(_) => false,
        }
    }

    /// Whether it is about this address. To be allowed, an address may also be covered by what it is contacted for.
    pub(super) fn fits_contact(&self, contact: &Contact<'_>, list: List) -> bool {
        match self {
            Self::Host(_) | Self::Below(_) | Self::HostPattern { .. } => self.fits_host(contact.host, list),
            Self::Repository { .. } | Self::Url { .. } => {
                self.fits_address(contact.host, contact.path, None, list)
            }
            _ if list == List::Deny => false,
            Self::Kind(kind) => kind_of_errand(contact.errand) == Some(*kind),
            // The hosts of packages are the person's own configuration.
            Self::Npm(entry) => match contact.errand {
                Errand::Npm(name) => covers_package(entry, name, list),
                _ => false,
            },
            Self::Registry(entry) => contact.is_origin && contact.errand == Errand::Registry(entry),
            Self::Oci { host: entry, path } => match contact.errand {
                Errand::Oci { host, repository } => {
                    contact.is_origin && covers_oci(entry, path, host, repository, list)
                }
                _ => false,
            },
            Self::NotUnderstood(_) => false,
        }
    }

    fn fits_host(&self, host: &str, list: List) -> bool {
        let host = canonical(host, list);
        match self {
            Self::Host(entry) => host == *entry,
            Self::Below(entry) => {
                !is_address(&host)
                    && host
                        .strip_suffix(entry.as_str())
                        .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            Self::HostPattern { whole, part, .. } => match list {
                List::Allow => whole.is_match(&host),
                List::Deny => part.is_match(&host),
            },
            _ => false,
        }
    }

    fn fits_address(&self, host: &str, path: &str, reference: Option<&GitRef>, list: List) -> bool {
        let (Self::Repository { host: entry, path: wanted, .. } | Self::Url { host: entry, path: wanted }) =
            self
        else {
            return false;
        };
        if canonical(host, list) != *entry {
            return false;
        }
        // What this path leads to can't be told from its text.
        let Some(found) = folders(path) else { return list == List::Deny };
        let begins = found.len() >= wanted.len()
            && wanted.iter().zip(&found).all(|(wanted, found)| same(wanted, found, list));
        let ends = found.len() == wanted.len();
        match self {
            _ if list == List::Deny => begins,
            Self::Repository { only: Some(only), .. } => {
                begins && ends && only.reference.as_ref().is_none_or(|wanted| is_ref(reference, wanted))
            }
            Self::Url { .. } => begins && ends,
            _ => begins,
        }
    }
}

/// As it is written in a policy file, but for entries of managed settings.
impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "kind:{}", kind.name()),
            Self::Host(host) => write!(f, "host:{host}"),
            Self::Below(host) => write!(f, "host:.{host}"),
            Self::Repository { host, path, only: None } => write!(f, "repository:{host}/{}", path.join("/")),
            Self::Repository { host, path, only: Some(only) } => {
                write!(f, "only repository:{host}/{}", path.join("/"))?;
                only.reference.as_ref().map_or(Ok(()), |name| write!(f, " at {}", shown_up_to(name, 80)))
            }
            Self::Npm(name) => write!(f, "npm:{name}"),
            Self::Registry(name) => write!(f, "registry:{name}"),
            Self::Oci { host, path } => write!(f, "oci:{host}/{}", path.join("/")),
            Self::Url { host, path } => write!(f, "only https://{host}/{}", path.join("/")),
            Self::HostPattern { text, .. } => write!(f, "hosts like {}", shown_up_to(text, 200)),
            Self::NotUnderstood(text) => write!(f, "not understood: {}", shown_up_to(text, 200)),
        }
    }
}

fn kind_of(word: &str) -> Option<SourceKind> {
    use SourceKind::{Git, Local, Npm, Oci, Registry, Tarball};
    [Local, Git, Npm, Tarball, Registry, Oci].into_iter().find(|kind| kind.name() == word)
}

fn kind_of_errand(errand: Errand<'_>) -> Option<SourceKind> {
    match errand {
        Errand::Unnamed => None,
        Errand::Git => Some(SourceKind::Git),
        Errand::Tarball => Some(SourceKind::Tarball),
        Errand::Npm(_) => Some(SourceKind::Npm),
        Errand::Oci { .. } => Some(SourceKind::Oci),
        Errand::Registry(_) => Some(SourceKind::Registry),
    }
}

/// A host in the one spelling that is compared: lower case, an IPv6 address in its shortest form. `None` for what is
/// no host name: a scheme, a port, user-info, a wildcard, a trailing dot, an odd spelling of an address.
fn host_name(raw: &str) -> Option<String> {
    let host = raw.to_ascii_lowercase();
    if let Some(inner) = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
        return inner.parse::<Ipv6Addr>().ok().map(|address| format!("[{address}]"));
    }
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let ok = host.len() <= 253
        && host.split('.').all(label)
        && judge_host_text(&host) != Err(AddressRefusal::OddSpelling);
    ok.then_some(host)
}

/// A host of a source as it is compared. Only a deny list looks behind a trailing dot.
fn canonical(host: &str, list: List) -> String {
    let bare = match list {
        List::Allow => host,
        List::Deny => host.trim_end_matches('.'),
    };
    host_name(bare).unwrap_or_else(|| bare.to_ascii_lowercase())
}

/// What ends in a number is an address in some spelling, never a name below another name.
fn is_address(host: &str) -> bool {
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    host.starts_with('[') || last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit())
}

fn host_and_port(raw: &str) -> Option<String> {
    let after = raw.find(']').map_or(0, |at| at + 1);
    let Some(colon) = raw.get(after..)?.find(':').map(|at| after + at) else { return host_name(raw) };
    let (host, port) = (raw.get(..colon)?, raw.get(colon + 1..)?);
    let port: u16 = port.parse().ok().filter(|_| port.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some(format!("{}:{port}", host_name(host)?))
}

fn host_and_path(raw: &str) -> Option<(&str, Vec<String>)> {
    let (host, path) = raw.split_once('/')?;
    let path = folders(path).filter(|path| !path.is_empty())?;
    Some((host, path))
}

/// The folders of a path, without `.git` at its end; `None` when its text does not say where it leads.
fn folders(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Some(Vec::new());
    }
    let odd = |folder: &str| {
        matches!(folder, "" | "." | "..")
            || folder.contains(|c: char| !c.is_ascii_graphic() || "%\\?#".contains(c))
    };
    let mut folders: Vec<String> = path.split('/').map(str::to_owned).collect();
    if folders.iter().any(|folder| odd(folder)) {
        return None;
    }
    if let Some(last) = folders.last_mut()
        && let Some(bare) = last.strip_suffix(".git").filter(|bare| !bare.is_empty())
    {
        *last = bare.to_owned();
    }
    Some(folders)
}

fn is_package(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '_'])
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    };
    match name.strip_prefix('@') {
        Some(scoped) => {
            scoped.split_once('/').map_or_else(|| part(scoped), |(scope, name)| part(scope) && part(name))
        }
        None => part(name),
    }
}

fn covers_package(entry: &str, name: &str, list: List) -> bool {
    let scope = name.split_once('/').map(|(scope, _)| scope);
    same(entry, name, list) || scope.is_some_and(|scope| same(entry, scope, list))
}

fn covers_oci(entry: &str, path: &[String], host: &str, repository: &str, list: List) -> bool {
    let Some(host) = host_and_port(host) else { return list == List::Deny };
    // The same registry may answer at several ports.
    let at_any_port = || list == List::Deny && host.rsplit_once(':').is_some_and(|(host, _)| host == entry);
    if host != entry && !at_any_port() {
        return false;
    }
    let Some(found) = folders(repository) else { return list == List::Deny };
    found.len() >= path.len() && path.iter().zip(&found).all(|(wanted, found)| same(wanted, found, list))
}

/// Some servers do not care for case: then another case is the same thing, and denied like it.
fn same(wanted: &str, found: &str, list: List) -> bool {
    match list {
        List::Allow => wanted == found,
        List::Deny => wanted.eq_ignore_ascii_case(found),
    }
}

fn is_ref(reference: Option<&GitRef>, wanted: &str) -> bool {
    match reference {
        Some(GitRef::Tag(name) | GitRef::Branch(name) | GitRef::Commit(name) | GitRef::Bare(name)) => {
            name == wanted
        }
        Some(GitRef::None) | None => false,
    }
}
