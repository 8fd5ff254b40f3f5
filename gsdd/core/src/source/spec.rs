//! Source specs: what a person types after `install`.
//!
//! One strict grammar per kind. Upstream sends whatever it can't place to a registry kind that does not exist; here
//! an unknown form is an error that names the form which was meant. Every spelling that upstream accepts and can
//! fetch is accepted, because ledgers contain them.
//!
//! Source: ADR-1244 D3, lifecycle formats section 2 (rule 1), threats T66, T67, T79 to T96.

use std::fmt;

use super::git_ref::GitRef;
use super::grammar;
use super::npm::NpmSelector;
use super::refusal::SpecRefusal;
use super::url::SourceUrl;
use crate::bundle::RelPath;
use crate::text::shown;

/// Longest spec, in bytes.
pub const MAX_SPEC_BYTES: usize = 4096;

/// A source. Its `Display` and `Debug` leave out the query of a URL, which may carry a token; what is recorded is
/// [`SourceSpec::recorded`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum SourceSpec {
    /// A folder of this machine.
    Local {
        /// As typed: absolute, or starting with `./` or `../`.
        path: String,
    },
    /// A repository.
    Git {
        /// `https://…` or `ssh://…`, as typed, without `git+`, folder and ref.
        url: String,
        /// Its parts.
        parts: SourceUrl,
        /// Which commit.
        reference: GitRef,
        /// The folder inside that holds the bundle, after `//` in the URL.
        subdir: Option<RelPath>,
    },
    /// A package of an npm registry.
    Npm {
        /// With its scope.
        name: String,
        /// Which version.
        selector: NpmSelector,
    },
    /// An archive.
    Tarball {
        /// As typed.
        url: String,
        /// Its parts.
        parts: SourceUrl,
    },
    /// An entry of a named registry.
    Registry {
        /// With its scope.
        name: String,
        /// The registry; the default one when absent.
        registry: Option<String>,
        /// Version or tag.
        selector: Option<String>,
    },
    /// An artifact of an OCI registry.
    Oci {
        /// Host and port.
        host: String,
        /// Path of the repository.
        repository: String,
        /// The tag.
        tag: Option<String>,
        /// `sha256:<64 hex>`.
        digest: Option<String>,
    },
}

/// The kind of a source, without its details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    /// A folder.
    Local,
    /// A repository.
    Git,
    /// A package.
    Npm,
    /// An archive.
    Tarball,
    /// A registry entry.
    Registry,
    /// An OCI artifact.
    Oci,
}

impl SourceKind {
    /// Short stable name for programs; upstream's words for the kinds that it has.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Git => "git",
            Self::Npm => "npm",
            Self::Tarball => "tarball",
            Self::Registry => "registry",
            Self::Oci => "oci",
        }
    }
}

/// Which paths are absolute; a fact about the machine, not about the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStyle {
    /// `/…`.
    Posix,
    /// Also `C:\…` and `.\…`.
    Windows,
}

impl PathStyle {
    /// The style of the machine this was built for.
    pub const NATIVE: Self = if cfg!(windows) { Self::Windows } else { Self::Posix };
}

impl SourceSpec {
    /// Reads a spec on this platform. White space around it is ignored.
    ///
    /// # Errors
    /// [`SpecRefusal`] with the rule and the form that was meant.
    pub fn parse(raw: &str) -> Result<Self, SpecRefusal> {
        Self::parse_for(raw, PathStyle::NATIVE)
    }

    /// Reads a spec with the paths of another platform.
    ///
    /// # Errors
    /// As [`SourceSpec::parse`].
    pub fn parse_for(raw: &str, paths: PathStyle) -> Result<Self, SpecRefusal> {
        grammar::parse(raw, paths)
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> SourceKind {
        match self {
            Self::Local { .. } => SourceKind::Local,
            Self::Git { .. } => SourceKind::Git,
            Self::Npm { .. } => SourceKind::Npm,
            Self::Tarball { .. } => SourceKind::Tarball,
            Self::Registry { .. } => SourceKind::Registry,
            Self::Oci { .. } => SourceKind::Oci,
        }
    }

    /// What the source names, without kind and ref: upstream's `target`.
    #[must_use]
    pub fn target(&self) -> String {
        match self {
            Self::Local { path } => path.clone(),
            Self::Git { url, subdir: None, .. } | Self::Tarball { url, .. } => url.clone(),
            Self::Git { url, subdir: Some(subdir), .. } => format!("{url}//{subdir}"),
            Self::Npm { name, selector } => match selector {
                NpmSelector::None => name.clone(),
                _ => format!("{name}@{}", selector.as_str()),
            },
            Self::Registry { name, registry, selector } => {
                let mut target = name.clone();
                for part in [registry, selector].into_iter().flatten() {
                    target.push('@');
                    target.push_str(part);
                }
                target
            }
            Self::Oci { host, repository, tag, digest } => {
                let mut target = format!("{host}/{repository}");
                if let Some(tag) = tag {
                    target.push(':');
                    target.push_str(tag);
                }
                if let Some(digest) = digest {
                    target.push('@');
                    target.push_str(digest);
                }
                target
            }
        }
    }

    /// The text for the ledger: it reads back as the same source, here and, for the kinds that it can fetch, upstream.
    #[must_use]
    pub fn recorded(&self) -> String {
        match self {
            Self::Local { .. } | Self::Tarball { .. } | Self::Registry { .. } => self.target(),
            Self::Npm { .. } => format!("npm:{}", self.target()),
            Self::Oci { .. } => format!("oci://{}", self.target()),
            Self::Git { reference: GitRef::None, .. } => format!("git+{}", self.target()),
            // Upstream hands the part after `#` to git as it is: a bare commit works there, `sha:` does not.
            Self::Git { reference: GitRef::Commit(id), .. } => format!("git+{}#{id}", self.target()),
            Self::Git { reference, .. } => format!("git+{}#{reference}", self.target()),
        }
    }

    /// The host that it is fetched from, in lower case; `None` for folders, npm and named registries, whose hosts
    /// are a matter of configuration.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Git { parts, .. } | Self::Tarball { parts, .. } => Some(parts.host()),
            Self::Oci { host, .. } if host.ends_with(']') => Some(host),
            Self::Oci { host, .. } => Some(host.rsplit_once(':').map_or(host, |(name, _)| name)),
            Self::Local { .. } | Self::Npm { .. } | Self::Registry { .. } => None,
        }
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recorded = self.recorded();
        match self {
            Self::Tarball { parts, .. } if parts.query.is_some() => {
                let visible = recorded.split('?').next().unwrap_or_default();
                write!(f, "{}?…", shown(visible))
            }
            _ => f.write_str(&shown(&recorded)),
        }
    }
}

impl fmt::Debug for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceSpec({:?}, {self})", self.kind())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::refusal::SpecRefusalKind;

    #[track_caller]
    fn recorded(raw: &str, expected: &str) {
        let spec = SourceSpec::parse_for(raw, PathStyle::Posix).unwrap();
        assert_eq!(spec.recorded(), expected, "{raw}");
        assert_eq!(SourceSpec::parse_for(expected, PathStyle::Posix), Ok(spec), "{raw}");
    }

    #[track_caller]
    fn refused(raw: &str, kind: SpecRefusalKind) {
        assert_eq!(SourceSpec::parse_for(raw, PathStyle::Posix).unwrap_err().kind, kind, "{raw}");
    }

    #[test]
    fn what_is_recorded_reads_back() {
        recorded("  ./padded ", "./padded");
        recorded("https://h.example/r.git#tag:v1", "git+https://h.example/r.git#tag:v1");
        recorded("https://h.example/r.git//caps/acme#main", "git+https://h.example/r.git//caps/acme#main");
        recorded("ssh://git@h.example/r", "git+ssh://git@h.example/r");
        recorded("https://h.example/.tgz", "https://h.example/.tgz");
        recorded("npm:@o/p@^1", "npm:@o/p@^1");
        recorded("my-cap@1.0.0", "my-cap@1.0.0");
        recorded("@o/my-cap@corp@1.0.0", "@o/my-cap@corp@1.0.0");
        recorded("oci://h.example/o-rg/c_a.p1:v1.0_x-y", "oci://h.example/o-rg/c_a.p1:v1.0_x-y");
        let digest = format!("oci://ghcr.example:5000/o/cap:v1@sha256:{}", "0".repeat(64));
        recorded(&digest, &digest);
    }

    #[test]
    fn t79_t80_t81_t82_t83_what_git_takes_as_more_than_a_url_and_a_name_is_no_source() {
        for raw in [
            "--upload-pack=sh",
            "git+--upload-pack=sh",
            "-u./x",
            "ext::sh -c id",
            "git+ext::sh -c id",
            "fd::17",
            "git+fd::17",
            "file:///srv/r.git",
            "git+file:///srv/r.git",
            "git+/srv/r.git",
            "git://h.example/r.git",
            "git+http://h.example/r.git",
            "ssh://-oProxyCommand=x/r.git",
            "git+ssh://-oProxyCommand=x@h.example/r.git",
            "https://-h.example/r.git",
            "https://h.example/r.git#--upload-pack=x",
            "https://h.example/r.git#-x",
            "https://h.example/r.git#tag:-x",
        ] {
            let parsed = SourceSpec::parse_for(raw, PathStyle::Posix);
            assert!(parsed.is_err(), "{raw}: {parsed:?}");
        }
    }

    #[test]
    fn a_folder_inside_a_repository_stays_inside() {
        refused("git+https://h.example/r.git//../x", SpecRefusalKind::Subdir);
        refused("git+https://h.example/r.git//.git", SpecRefusalKind::Subdir);
    }

    #[test]
    fn t185_a_token_in_a_query_is_recorded_but_not_shown() {
        let spec = SourceSpec::parse("https://h.example/cap.tgz?token=s3cret").unwrap();
        assert_eq!(spec.to_string(), "https://h.example/cap.tgz?…");
        assert_eq!(format!("{spec:?}"), format!("SourceSpec(Tarball, {spec})"));
        assert!(!format!("{spec:?}").contains("s3cret"));
        assert!(spec.recorded().ends_with("?token=s3cret"));
        let plain = "https://h.example/cap.tgz";
        assert_eq!(SourceSpec::parse(plain).unwrap().to_string(), plain);
    }

    #[test]
    fn a_source_has_at_most_4096_bytes() {
        let longest = format!("./{}", "n".repeat(4094));
        recorded(&longest, &longest);
        refused(&format!("{longest}n"), SpecRefusalKind::Unclassifiable);
    }

    #[test]
    fn oci_references_are_complete() {
        for raw in [
            "oci://h.example",
            "oci://h.example/cap",
            "oci://h.example/Cap:v1",
            "oci://h.example/:v1",
            "oci://h.example/cap:",
            "oci://h.example/cap:-v1",
            "oci://h.example/cap:a/b",
            "oci://h.example/cap:v1:v2",
            "oci://h.example/cap@sha256:0",
            "oci://h.example/../cap:v1",
        ] {
            refused(raw, SpecRefusalKind::OciReference);
        }
        for digest in
            [["sha256:", &"0A".repeat(32)], ["sha256:", &"0g".repeat(32)], ["sha512:", &"00".repeat(32)]]
        {
            refused(&format!("oci://h.example/cap@{}", digest.concat()), SpecRefusalKind::OciReference);
        }
        for (before, most, after) in [("oci://h.example/", 255, ":v1"), ("oci://h.example/cap:", 128, "")] {
            let longest = format!("{before}{}{after}", "n".repeat(most));
            recorded(&longest, &longest);
            refused(&format!("{before}{}{after}", "n".repeat(most + 1)), SpecRefusalKind::OciReference);
        }
        refused("oci://u:p@h.example/cap:v1", SpecRefusalKind::Credentials);
        for (raw, host) in [
            ("oci://[::1]:5000/cap:v1", "[::1]"),
            ("oci://[::1]/cap:v1", "[::1]"),
            ("oci://h.example:5000/cap:v1", "h.example"),
            ("oci://h.example/cap:v1", "h.example"),
        ] {
            assert_eq!(SourceSpec::parse(raw).unwrap().host(), Some(host));
        }
    }

    #[test]
    fn windows_paths_are_local_on_windows_only() {
        for (raw, elsewhere) in [
            ("C:\\caps\\cap", SpecRefusalKind::WindowsPath),
            ("c:/caps/cap", SpecRefusalKind::WindowsPath),
            (".\\cap", SpecRefusalKind::Unclassifiable),
            ("..\\cap", SpecRefusalKind::Unclassifiable),
        ] {
            let spec = SourceSpec::parse_for(raw, PathStyle::Windows).unwrap();
            assert_eq!(spec, SourceSpec::Local { path: raw.to_owned() });
            refused(raw, elsewhere);
        }
        for paths in [PathStyle::Posix, PathStyle::Windows] {
            assert_eq!(SourceSpec::parse_for("npm:cap", paths).unwrap().kind(), SourceKind::Npm);
            let share = SourceSpec::parse_for("\\\\srv\\share", paths).unwrap_err();
            assert_eq!(share.kind, SpecRefusalKind::NetworkPath);
        }
    }

    #[test]
    fn a_digit_behind_the_name_begins_a_version_and_anything_else_a_registry() {
        for (raw, wanted) in [
            ("cap@corp", (Some("corp"), None)),
            ("cap@1.2.0", (None, Some("1.2.0"))),
            ("cap@corp@1.2.0", (Some("corp"), Some("1.2.0"))),
            ("cap@2corp@1.2.0", (Some("2corp"), Some("1.2.0"))),
        ] {
            let spec = SourceSpec::parse_for(raw, PathStyle::Posix).unwrap();
            let SourceSpec::Registry { name, registry, selector } = spec else { panic!("{raw}: {spec:?}") };
            assert_eq!((name.as_str(), (registry.as_deref(), selector.as_deref())), ("cap", wanted), "{raw}");
        }
    }

    #[test]
    fn a_refusal_says_which_form_was_meant() {
        for (raw, hint) in [
            ("~/cap", "the whole path"),
            (".", "./ for this folder"),
            ("..", "../ for the one above"),
            (".\\cap", "forward slashes"),
            ("..\\cap", "forward slashes"),
            ("git@h.example:o/r", "instead of git@host:path"),
            ("me@h.example:", "name@registry"),
            ("svn:o/r", "for archives"),
            ("NPM:cap", "lower case"),
            ("https://h.example/cap", "ends in .git"),
            ("git+https://h.example", "after the host"),
            ("git+https://h.example/", "after the host"),
            ("git+https://h.example/r?x=1", "after the host"),
        ] {
            let refusal = SourceSpec::parse_for(raw, PathStyle::Posix).unwrap_err();
            assert!(refusal.hint.contains(hint), "{raw}: {}", refusal.hint);
        }
    }

    proptest! {
        /// Any text is either refused with a hint or reads back from what is recorded.
        #[test]
        fn parsing_is_total(raw in "(npm:|git\\+|https://|ssh://|oci://|\\./|@)?[a-zA-Z0-9@:/.#_+^~* -]{0,40}") {
            match SourceSpec::parse_for(&raw, PathStyle::Posix) {
                Ok(spec) => prop_assert_eq!(SourceSpec::parse_for(&spec.recorded(), PathStyle::Posix), Ok(spec)),
                Err(refusal) => prop_assert!(!refusal.hint.is_empty()),
            }
        }

        /// No text makes the reader panic.
        #[test]
        fn arbitrary_text_is_answered(raw in any::<String>()) {
            prop_assert!(SourceSpec::parse(&raw).is_ok() || SourceSpec::parse(&raw).is_err());
        }
    }
}
