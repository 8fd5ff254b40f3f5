//! Fetching: one adapter per kind of source; all of them end in a staged bundle and what was taken.
//!
//! Source: ADR-1244 D3 (one seam, one adapter per kind).

pub(crate) mod archive;
mod git;
pub(crate) mod http;
mod local;
mod npm;
mod oci;
mod registry;
pub(crate) mod resolve;
mod signed;
mod tarball;
pub(crate) mod watch;

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gsd_proto::{Code, Context, WireError};
use gsdd_core::policy::Policy;
use gsdd_core::source::integrity::judge_pin;
use gsdd_core::source::{Pin, SourceKind, SourceSpec};
use gsdd_core::trust::PublisherKey;
use gsdd_core::user_config::{ConfigKey, UserConfig};
use gsdd_core::version::{EngineRange, HostVersion};

use self::http::Http;
pub(crate) use self::signed::KnownKeys;
use self::watch::Watch;
use crate::fs::bundle_tree::BundleTree;
use crate::fs::staging::Room;
use crate::store::TakenFrom;
use crate::user_config;

/// What was fetched.
pub(crate) struct Fetched {
    pub(crate) tree: BundleTree,
    /// The source as the ledger records it.
    pub(crate) recorded: String,
    /// What exactly was taken.
    pub(crate) from: TakenFrom,
}

/// What an adapter needs to know about the caller.
pub(crate) struct Caller<'a> {
    pub(crate) ctx: &'a Context,
    /// Folder in which temporary files may be made, ours and private.
    pub(crate) workspace: PathBuf,
    /// Where bundles are staged.
    pub(crate) room: Room,
    /// The project that a local source may be recorded relative to.
    pub(crate) project_root: Option<PathBuf>,
    pub(crate) offline: bool,
    /// How far the fetch is, and whether it is still wanted.
    pub(crate) watch: Watch,
    /// Keys of publishers.
    keys: KnownKeys,
    /// Whether signatures beside a source are looked for.
    wants_signatures: bool,
    policy: Arc<Policy>,
    pin: Option<Pin>,
    http: OnceCell<Http>,
    /// The level of GSD that a version has to run on.
    pub(crate) gsd: HostVersion,
    config_file: Option<PathBuf>,
    notes: RefCell<Vec<String>>,
}

impl<'a> Caller<'a> {
    /// A caller without project and pin, who may use the network and whom no policy limits.
    pub(crate) fn new(ctx: &'a Context, workspace: PathBuf, room: Room, watch: Watch) -> Self {
        Self {
            ctx,
            workspace,
            room,
            project_root: None,
            offline: false,
            watch,
            keys: KnownKeys::default(),
            wants_signatures: true,
            policy: Arc::default(),
            pin: None,
            http: OnceCell::new(),
            gsd: HostVersion::default(),
            config_file: None,
            notes: RefCell::default(),
        }
    }

    pub(crate) fn for_project(self, project_root: Option<PathBuf>) -> Self {
        Self { project_root, ..self }
    }

    pub(crate) fn offline(self, offline: bool) -> Self {
        Self { offline, ..self }
    }

    /// Which versions run here, and where the person's configuration is.
    pub(crate) fn at_home(self, gsd: HostVersion, config_file: PathBuf) -> Self {
        Self { gsd, config_file: Some(config_file), ..self }
    }

    /// The same caller for a source that another one leads to: what that one says about the archive is the pin.
    /// The publisher's key that it names is the only one that will do.
    fn within(&self, pin: Option<Pin>, named: Option<PublisherKey>) -> Self {
        Self {
            keys: KnownKeys { named, ..self.keys.clone() },
            wants_signatures: self.wants_signatures,
            project_root: self.project_root.clone(),
            offline: self.offline,
            policy: Arc::clone(&self.policy),
            pin,
            gsd: self.gsd,
            config_file: self.config_file.clone(),
            ..Self::new(self.ctx, self.workspace.clone(), self.room.clone(), self.watch.clone())
        }
    }

    /// Something that the person should know, said once.
    pub(crate) fn note(&self, note: String) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    fn take_notes_of(&self, inner: &Self) {
        for note in inner.notes() {
            self.note(note);
        }
    }

    /// What the person should know, so far; cleaned.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }

    /// Whether this level of GSD is in a range.
    pub(crate) fn runs(&self, range: &str) -> bool {
        EngineRange::parse(range).is_ok_and(|range| range.satisfies(self.gsd))
    }

    /// The person's own configuration.
    pub(crate) fn user_config(&self) -> UserConfig {
        self.config_file.as_deref().map(user_config::read).unwrap_or_default()
    }

    /// The name of the registry that a source means.
    fn registry_name(&self, named: Option<&str>) -> Option<String> {
        named.map(str::to_owned).or_else(|| self.user_config().default_registry)
    }

    /// For work that needs the network.
    ///
    /// # Errors
    /// When the caller forbids it.
    fn refuse_offline(&self, what: &str) -> Result<(), WireError> {
        if !self.offline {
            return Ok(());
        }
        let told = printable(what);
        Err(WireError::new(Code::SourceOffline, format!("asking {told} needs the network"))
            .with_fix("leave out --offline, or install from a local folder", &[]))
    }

    /// The network, trusting the certificates in one more file of the person.
    fn http_trusting(&self, file: Option<&str>) -> Result<&Http, WireError> {
        let Some(file) = file.filter(|_| self.http.get().is_none()) else { return self.http() };
        let file = match (file.strip_prefix("~/"), self.ctx.env.get("HOME")) {
            (Some(below), Some(home)) => Path::new(home).join(below),
            _ => self.ctx.cwd.join(file),
        };
        let http = Http::new(self.ctx, Arc::clone(&self.policy), self.watch.clone(), Some(&file))?;
        Ok(self.http.get_or_init(|| http))
    }

    /// What may be fetched.
    pub(crate) fn judged_by(self, policy: Arc<Policy>) -> Self {
        Self { policy, ..self }
    }

    /// The digest that the archive must have.
    pub(crate) fn pinned(self, pin: Option<Pin>) -> Self {
        Self { pin, ..self }
    }

    /// The keys that signatures are verified with.
    pub(crate) fn knowing(self, keys: KnownKeys) -> Self {
        Self { keys, ..self }
    }

    /// Whether signatures beside a source are looked for.
    pub(crate) fn looking_for_signatures(self, wants_signatures: bool) -> Self {
        Self { wants_signatures, ..self }
    }

    /// Whether the archive is named by its digest, and not only by a place.
    pub(crate) fn is_pinned(&self) -> bool {
        self.pin.is_some()
    }

    /// What may be fetched.
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The network; set up when it is first asked for.
    ///
    /// # Errors
    /// When the caller's proxy or their certificates can't be used.
    pub(crate) fn http(&self) -> Result<&Http, WireError> {
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        let http = Http::new(self.ctx, Arc::clone(&self.policy), self.watch.clone(), None)?;
        Ok(self.http.get_or_init(|| http))
    }

    /// Judges the digest of an archive, before anything of it is unpacked, and returns it to be recorded.
    ///
    /// # Errors
    /// When the person pinned another one.
    pub(crate) fn judge_archive(&self, kind: SourceKind, found: &Pin) -> Result<String, WireError> {
        let wanted = self.pin.as_ref().map(Pin::as_str);
        judge_pin(kind, wanted, Some(found.clone())).map_err(|refusal| {
            WireError::new(Code::IntegrityMismatch, refusal.to_string())
                .caused_by(format!("pinned: {}", wanted.unwrap_or("nothing")))
                .caused_by(format!("found: {}", found.as_str()))
                .with_fix("ask the author which digest is right; nothing of the archive was used", &[])
        })?;
        Ok(found.as_str().to_owned())
    }
}

/// Fetches `spec`. Blocks; runs on a thread for blocking work.
///
/// # Errors
/// What, where, and what to do about it.
pub(crate) fn fetch(spec: &SourceSpec, caller: &Caller<'_>) -> Result<Fetched, WireError> {
    let mut fetched = fetch_by_kind(spec, caller)?;
    signed::judge_origin(&mut fetched, caller);
    Ok(fetched)
}

fn fetch_by_kind(spec: &SourceSpec, caller: &Caller<'_>) -> Result<Fetched, WireError> {
    match spec {
        SourceSpec::Local { path } => local::fetch(path, caller),
        // Its index may be a folder of this machine; it asks for the network when it needs it.
        SourceSpec::Registry { name, registry, selector } => {
            registry::fetch(name, registry.as_deref(), selector.as_deref(), &spec.recorded(), caller)
        }
        _ if caller.offline => Err(WireError::new(
            Code::SourceOffline,
            format!("fetching {} needs the network", gsdd_core::text::shown(&spec.recorded())),
        )
        .with_fix("leave out --offline, or install from a local folder", &[])),
        SourceSpec::Git { url, parts, reference, subdir } => {
            git::fetch(url, parts, reference, subdir.as_ref(), &spec.recorded(), caller)
        }
        SourceSpec::Tarball { url, parts } => tarball::fetch(url, parts, &spec.recorded(), caller),
        SourceSpec::Npm { name, selector } => npm::fetch(name, selector, &spec.recorded(), caller),
        SourceSpec::Oci { host, repository, tag, digest } => {
            oci::fetch(host, repository, tag.as_deref(), digest.as_deref(), &spec.recorded(), caller)
        }
    }
}

/// Reads a source spec.
///
/// # Errors
/// The rule that it breaks, and the form that was meant.
pub(crate) fn parse(raw: &str) -> Result<SourceSpec, WireError> {
    SourceSpec::parse(raw).map_err(|refusal| {
        let error = WireError::new(Code::SourceSpecInvalid, format!("{}: {refusal}", printable(raw)));
        if refusal.hint.is_empty() { error } else { error.with_fix(refusal.hint, &[]) }
    })
}

/// Says which key of the person's configuration bounds a bundle, in an error about its size.
pub(crate) fn raise_limit(error: WireError) -> WireError {
    if &*error.code != "bundle.too-large" {
        return error;
    }
    error.with_fix(
        format!("if you want a bundle of that size: gsdctl config set {} BYTES", ConfigKey::BundleBytes),
        &[],
    )
}

/// Our own disk could not take a bundle.
pub(crate) fn staging_failed(at: impl Into<PathBuf>, reason: &str) -> WireError {
    WireError::new(Code::IoFailed, format!("the bundle could not be unpacked: {reason}"))
        .at_file(at.into())
        .with_fix("free some space, or make that folder writable, then run the same command again", &[])
}

/// A source as a person may see it and a log may keep it: no credentials, and nothing behind a question mark, which
/// may be a token.
pub(crate) fn printable(spec: &str) -> String {
    let bare = git::without_credentials(spec);
    match bare.split_once('?') {
        Some((head, _)) if head.contains("://") => format!("{}?…", gsdd_core::text::shown(head)),
        _ => gsdd_core::text::shown(&bare),
    }
}
