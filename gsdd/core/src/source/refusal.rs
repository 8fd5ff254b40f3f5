//! Why a text is not a source spec, and which form was probably meant.

/// A refused spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct SpecRefusal {
    /// Which rule.
    pub kind: SpecRefusalKind,
    /// What to type instead, without text of the spec.
    pub hint: &'static str,
}

/// The rules of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SpecRefusalKind {
    /// Nothing but white space.
    #[error("the source is empty")]
    Empty,
    /// No kind of source is written like this.
    #[error("this is no kind of source")]
    Unclassifiable,
    /// A control, invisible or text-reordering character.
    #[error("the source has a control or invisible character")]
    HostileCharacter,
    /// A share on another machine as a local path.
    #[error("a network path is not a local source")]
    NetworkPath,
    /// A path that only exists on Windows.
    #[error("this path form exists on Windows only")]
    WindowsPath,
    /// `npm:` without a name.
    #[error("`npm:` needs a package name")]
    NpmEmpty,
    /// White space or a character that a shell acts on.
    #[error("an npm source has no white space and none of the characters ; & | $ ` ( ) < > ! \" ' \\ %")]
    NpmUnsafeCharacters,
    /// A URL, a path, an alias, an option: anything but a registry package.
    #[error("an npm source is a registry package with an optional version, range or tag")]
    NpmNotAPackage,
    /// Upper case where the scheme is lower case.
    #[error("the part before the colon is written in lower case")]
    SchemeCase,
    /// A scheme that no source uses.
    #[error("sources are not fetched with this scheme")]
    UnknownScheme,
    /// A transport that git must not use on our behalf.
    #[error("git sources use https or ssh")]
    GitTransport,
    /// `http://` or `git://`.
    #[error("plaintext transports are not used")]
    Plaintext,
    /// A user name or password in the URL, which would end up in the ledger.
    #[error("a source carries no credentials")]
    Credentials,
    /// No host, or one that is not a plain host name or address.
    #[error("the host of the source is missing or malformed")]
    Host,
    /// A host that a command line would read as an option.
    #[error("a host does not start with a dash")]
    DashHost,
    /// A ref that a command line or shell would act on.
    #[error("this is not a safe git ref")]
    GitRefUnsafe,
    /// A revision expression or a malformed ref name.
    #[error("a git ref is one branch, tag or full commit id")]
    GitRefExpression,
    /// A shortened commit id.
    #[error("a commit pin has all 40 or 64 hexadecimal digits")]
    AbbreviatedCommit,
    /// A fragment on an archive URL.
    #[error("an archive URL has no fragment")]
    TarballFragment,
    /// A folder inside the repository that leaves it or has a refused name.
    #[error("the folder inside the repository is not a plain relative path")]
    Subdir,
    /// A registry entry with a slash, a dash in front, a reserved word, or a traversal.
    #[error("a registry source is `name`, `name@registry` or `@org/name@registry`")]
    RegistryName,
    /// An OCI reference of another shape.
    #[error("an OCI source is `oci://host/repository:tag` or `oci://host/repository@sha256:…`")]
    OciReference,
}

impl SpecRefusalKind {
    /// A refusal with the usual hint of this rule.
    #[must_use]
    pub fn refusal(self) -> SpecRefusal {
        let hint = match self {
            Self::Empty | Self::Unclassifiable => {
                "write ./folder, npm:package, git+https://host/repository#tag:v1, or https://host/archive.tgz"
            }
            Self::HostileCharacter => {
                "remove the invisible characters, for example by typing the source anew"
            }
            Self::NetworkPath => "copy the folder to this machine and name it as ./folder",
            Self::WindowsPath => "write the path with forward slashes, starting with ./ or /",
            Self::NpmEmpty | Self::NpmNotAPackage => {
                "write npm:package, npm:@org/package@1.2.3 or npm:package@^1"
            }
            Self::NpmUnsafeCharacters => "use an exact version, ^1.2, ~1.2, 1.x, * or a tag as the selector",
            Self::SchemeCase => "write the scheme in lower case, as in npm: or git+https://",
            Self::UnknownScheme => "use https:// for archives, git+https:// or git+ssh:// for repositories",
            Self::GitTransport => "write git+https://host/repository or git+ssh://git@host/repository",
            Self::Plaintext => "use https:// or ssh:// instead",
            Self::Credentials => "let git's credential helper or an ssh key supply the credentials",
            Self::Host => "write the host in ASCII, as in https://host.example/…",
            Self::DashHost => "check the host name",
            Self::GitRefUnsafe | Self::GitRefExpression => {
                "write #tag:v1.2.0, #branch:main or #sha:<40 or 64 hexadecimal digits>"
            }
            Self::AbbreviatedCommit => "write the full commit id after #sha:",
            Self::TarballFragment => "give the digest with --integrity",
            Self::Subdir => "write git+https://host/repository.git//folder/inside#tag:v1",
            Self::RegistryName => "write name@registry; a folder is ./name",
            Self::OciReference => "write oci://host/repository@sha256:<64 hexadecimal digits>",
        };
        SpecRefusal { kind: self, hint }
    }

    /// A refusal with a hint for this very text.
    #[must_use]
    pub fn with_hint(self, hint: &'static str) -> SpecRefusal {
        SpecRefusal { kind: self, hint }
    }
}
