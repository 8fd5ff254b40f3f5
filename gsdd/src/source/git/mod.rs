//! A git repository, through the person's `git`, which never checks anything out.
//!
//! `fetch` of exactly the wanted commit into an empty bare repository, then the blobs are read from the object
//! database: no filters, attributes, hooks, submodules or symlinks get a chance, and the bytes are the commit's.
//! The person's own `insteadOf`, proxy and credential settings are honoured; nothing else of their configuration and
//! nothing of the caller's `GIT_*` variables is (D-15, threats T79 to T93).

mod failure;
mod guard;
mod personal;
mod tree;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gsd_proto::{Code, WireError};
use gsdd_core::bundle::RelPath;
use gsdd_core::policy::{Contact, Errand, Objection, Sought};
use gsdd_core::source::address::{HTTPS_PORT, judge_host_text};
use gsdd_core::source::url::SourceUrl;
use gsdd_core::source::{GitRef, SourceSpec};
use gsdd_core::text::shown;
use gsdd_core::trust::VerificationLevel;

pub(super) use self::failure::without_credentials;
use self::guard::{End, read_bounded, watch_over};
use self::personal::{PersonalSettings, settings_of};
use super::http::host_refused;
use super::{Caller, Fetched, signed};
use crate::policy::source_refused;
use crate::store::TakenFrom;

/// Total time for one fetch.
const DEADLINE: Duration = Duration::from_secs(120);
/// Cap of what git may print for a listing, in bytes.
const MAX_LISTING: u64 = 8 * 1024 * 1024;

/// Fetches the commit behind `reference`.
pub(super) fn fetch(
    url: &str,
    parts: &SourceUrl,
    reference: &GitRef,
    subdir: Option<&RelPath>,
    recorded: &str,
    caller: &Caller<'_>,
) -> Result<Fetched, WireError> {
    let workspace = room(caller)?;
    let git = Git::open(url, parts, workspace.path(), caller)?;
    caller.watch.advance("fetch", 0, None, "");
    let (commit, tag) = git.fetch_commit(reference)?;
    let tree = git.read_tree(&commit, subdir)?;
    // A bundle that is the whole repository has no beside.
    let signer = match subdir.filter(|_| caller.wants_signatures) {
        None => None,
        Some(subdir) => {
            let file = |path: &str| git.file(&commit, path, signed::MAX_BYTES);
            let folder = subdir.as_str().rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
            let key = format!("{}{}", folder.unwrap_or_default(), signed::KEY_FILE);
            match file(&format!("{subdir}{}", signed::ENDING))? {
                None => None,
                Some(signature) => {
                    let line = signed::signed_line(tree.content_hash());
                    let verified = signed::verified(recorded, &signature, &line, caller, || file(&key))?;
                    Some(verified.signer_of(&tree, caller))
                }
            }
        }
    };
    let below = subdir.map(|subdir| format!("//{subdir}")).unwrap_or_default();
    let from = TakenFrom {
        reference: Some(format!("git+{url}{below}#{commit}")),
        commit: Some(commit),
        tag,
        signer,
        ..TakenFrom::default()
    }
    .carrying(match reference {
        GitRef::Commit(_) => VerificationLevel::Pin,
        GitRef::None | GitRef::Tag(_) | GitRef::Branch(_) | GitRef::Bare(_) => VerificationLevel::Transport,
    });
    Ok(Fetched { tree, recorded: recorded.to_owned(), from })
}

/// The commit behind `reference`, without fetching it.
///
/// # Errors
/// When the repository can't be asked, or has no such commit to show.
pub(super) fn commit_of(
    url: &str,
    parts: &SourceUrl,
    reference: &GitRef,
    caller: &Caller<'_>,
) -> Result<String, WireError> {
    caller.refuse_offline(url)?;
    let workspace = room(caller)?;
    let git = Git::open(url, parts, workspace.path(), caller)?;
    let name = match reference {
        GitRef::Commit(id) => return Ok(id.clone()),
        GitRef::None => "HEAD".to_owned(),
        GitRef::Tag(name) => format!("refs/tags/{name}"),
        GitRef::Branch(name) => format!("refs/heads/{name}"),
        GitRef::Bare(name) => git.qualify(name)?,
    };
    let peeled = format!("{name}^{{}}");
    let listing = git.run(&["ls-remote", "--quiet", "--", url, &name, &peeled])?;
    let listing = String::from_utf8_lossy(&listing);
    let id = |wanted: &str| {
        let mut lines = listing.lines().filter_map(|line| line.split_once('\t'));
        lines.find(|(_, name)| *name == wanted).map(|(id, _)| id.to_owned())
    };
    // An annotated tag is an object of its own, with the commit behind it.
    id(&peeled).or_else(|| id(&name)).ok_or_else(|| git.explain("couldn't find remote ref"))
}

/// The refs of a repository that match one of `patterns`, as git lists them: `<id>TAB<name>` lines.
///
/// # Errors
/// When the repository can't be asked.
pub(super) fn refs(
    url: &str,
    parts: &SourceUrl,
    patterns: &[&str],
    caller: &Caller<'_>,
) -> Result<String, WireError> {
    caller.refuse_offline(url)?;
    let workspace = room(caller)?;
    let git = Git::open(url, parts, workspace.path(), caller)?;
    let listing = git.run(&[&["ls-remote", "--quiet", "--", url], patterns].concat())?;
    Ok(String::from_utf8_lossy(&listing).into_owned())
}

/// Files of the commit behind `reference`, each with at most `limit` bytes; `None` for one that is not there. Only what
/// leads to them is fetched, where the server lets us choose.
///
/// # Errors
/// When the repository can't be fetched from.
pub(super) fn files(
    url: &str,
    parts: &SourceUrl,
    reference: &GitRef,
    paths: &[(&str, u64)],
    caller: &Caller<'_>,
) -> Result<Vec<Option<Vec<u8>>>, WireError> {
    caller.refuse_offline(url)?;
    let workspace = room(caller)?;
    let mut git = Git::open(url, parts, workspace.path(), caller)?;
    // A remote with a name is what lets git fetch the rest when it is needed.
    let remote = [("url", url), ("promisor", "true"), ("partialCloneFilter", "tree:0")];
    let remote = remote.map(|(key, value)| (format!("remote.{REMOTE}.{key}"), value.to_owned()));
    git.settings.pairs.extend(remote);
    git.remote = REMOTE;
    let (commit, _) = git.fetch_commit(reference)?;
    paths.iter().map(|(path, limit)| git.file(&commit, path, *limit)).collect()
}

/// Name of the remote that parts of a repository are fetched from.
const REMOTE: &str = "source";

fn room(caller: &Caller<'_>) -> Result<tempfile::TempDir, WireError> {
    tempfile::Builder::new().prefix("git-").tempdir_in(&caller.workspace).map_err(|error| {
        WireError::new(Code::IoFailed, format!("no room to fetch into: {error}")).at_file(&caller.workspace)
    })
}

struct Git<'a> {
    url: &'a str,
    /// What is fetched from: the URL, or a name for it.
    remote: &'a str,
    repository: &'a Path,
    settings: PersonalSettings,
    caller: &'a Caller<'a>,
    begun: Instant,
}

struct Finished {
    ok: bool,
    stdout: Vec<u8>,
    stderr: String,
}

impl<'a> Git<'a> {
    /// An empty repository to fetch into.
    fn open(
        url: &'a str,
        parts: &SourceUrl,
        repository: &'a Path,
        caller: &'a Caller<'a>,
    ) -> Result<Self, WireError> {
        let settings = settings_of(caller, url);
        // Where a name leads to is git's to find out; what a host says by itself is judged here. A rewritten URL leads to
        // where the person's own configuration says.
        match &settings.rewritten {
            Some(there) => judge_mirror(there, caller)?,
            None if caller.policy().network().allows(parts.host(), parts.port.unwrap_or(HTTPS_PORT)) => {}
            None => {
                judge_host_text(parts.host())
                    .map_err(|refusal| host_refused(parts.host(), refusal.into()))?;
            }
        }
        let git = Self { url, remote: url, repository, settings, caller, begun: Instant::now() };
        git.run(&["init", "--bare", "--quiet", "."])?;
        Ok(git)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear();
        let env = &self.caller.ctx.env;
        for name in [
            "PATH",
            "HOME",
            "USERPROFILE",
            "SSH_AUTH_SOCK",
            "HTTPS_PROXY",
            "https_proxy",
            "NO_PROXY",
            "no_proxy",
            "ALL_PROXY",
            "all_proxy",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "XDG_CONFIG_HOME",
        ] {
            if let Some(value) = env.get(name) {
                command.env(name, value);
            }
        }
        if !env.contains_key("PATH")
            && let Some(path) = std::env::var_os("PATH")
        {
            command.env("PATH", path);
        }
        let mut allowed = vec!["https", "ssh"];
        allowed.extend(&self.settings.schemes);
        command
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", null_device())
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "false")
            .env("SSH_ASKPASS", "false")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GIT_ALLOW_PROTOCOL", allowed.join(":"))
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env("GIT_DIR", self.repository)
            .current_dir(self.repository)
            .stdin(Stdio::null());
        let fixed = [
            ("init.templateDir", ""),
            ("core.hooksPath", null_device()),
            ("core.fsmonitor", "false"),
            ("transfer.fsckObjects", "true"),
            ("fetch.recurseSubmodules", "false"),
            ("maintenance.auto", "false"),
            ("gc.auto", "0"),
            ("protocol.version", "2"),
        ];
        // Through the environment: values can hold tokens, and arguments are readable by others.
        // git does not say where a redirect leads to before it goes there.
        let redirects = self.caller.policy().limits_sources().then_some(("http.followRedirects", "false"));
        let fixed = fixed.into_iter().chain(redirects).map(|(key, value)| (key.to_owned(), value.to_owned()));
        let pairs: Vec<(String, String)> = self.settings.pairs.iter().cloned().chain(fixed).collect();
        command.env("GIT_CONFIG_COUNT", pairs.len().to_string());
        for (at, (key, value)) in pairs.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{at}"), key).env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        command
    }

    /// Runs git; an error when it could not be started or did not end in time.
    fn finish(&self, args: &[&str], max_stdout: u64) -> Result<Finished, WireError> {
        let mut command = self.command();
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            command.process_group(0);
        }
        let mut child = command.spawn().map_err(|error| {
            WireError::new(Code::SourceUnreachable, "git could not be started")
                .caused_by(error.to_string())
                .with_fix("install git, or install the capability from a local folder", &[])
        })?;
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let left = DEADLINE.saturating_sub(self.begun.elapsed());
        let (ended, guard) = watch_over(child.id(), left, self.caller.watch.clone())?;
        let errors = std::thread::spawn(move || read_bounded(stderr, 256 * 1024));
        let output = read_bounded(stdout, max_stdout);
        let status = child.wait();
        let _ = ended.send(());
        let end = tokio::runtime::Handle::current().block_on(guard).unwrap_or(End::Itself);
        let stderr = errors.join().unwrap_or_default();
        self.caller.watch.check()?;
        if end == End::TimedOut {
            return Err(WireError::new(
                Code::SourceUnreachable,
                format!("{} did not answer in time", shown(self.url)),
            )
            .with_fix(
                "try again; if it keeps happening, look at the network between you and that host",
                &[],
            ));
        }
        let status =
            status.map_err(|error| WireError::new(Code::Internal, format!("waiting for git: {error}")))?;
        if output.len() as u64 >= max_stdout {
            return Err(WireError::new(
                Code::SourceUnreachable,
                "the repository lists more than a bundle may hold",
            ));
        }
        Ok(Finished {
            ok: status.success(),
            stdout: output,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        })
    }

    fn run(&self, args: &[&str]) -> Result<Vec<u8>, WireError> {
        let finished = self.finish(args, MAX_LISTING)?;
        if finished.ok { Ok(finished.stdout) } else { Err(self.explain(&finished.stderr)) }
    }

    /// One file of a commit, with at most `limit` bytes; `None` when it is not there.
    fn file(&self, commit: &str, path: &str, limit: u64) -> Result<Option<Vec<u8>>, WireError> {
        let named = format!("{commit}:{path}");
        if !self.finish(&["cat-file", "-e", &named], MAX_LISTING)?.ok {
            return Ok(None);
        }
        let found = self.finish(&["cat-file", "blob", &named], limit + 1)?;
        Ok(found.ok.then_some(found.stdout))
    }

    /// The commit, and the tag that named it, if it was one.
    fn fetch_commit(&self, reference: &GitRef) -> Result<(String, Option<String>), WireError> {
        let wanted = match reference {
            GitRef::Commit(id) => return Ok((self.fetch_id(id)?, None)),
            GitRef::None => "HEAD".to_owned(),
            GitRef::Tag(name) => format!("refs/tags/{name}"),
            GitRef::Branch(name) => format!("refs/heads/{name}"),
            GitRef::Bare(name) => self.qualify(name)?,
        };
        self.run(&["fetch", "--depth=1", "--no-tags", "--quiet", "--", self.remote, &wanted])?;
        Ok((self.fetched_commit()?, wanted.strip_prefix("refs/tags/").map(str::to_owned)))
    }

    /// A server may refuse to hand out a bare commit; then everything is fetched and the commit is looked for.
    fn fetch_id(&self, id: &str) -> Result<String, WireError> {
        let direct =
            self.finish(&["fetch", "--depth=1", "--no-tags", "--quiet", "--", self.remote, id], MAX_LISTING)?;
        if !direct.ok {
            self.run(&[
                "fetch",
                "--quiet",
                "--",
                self.url,
                "+refs/heads/*:refs/heads/*",
                "+refs/tags/*:refs/tags/*",
            ])?;
        }
        let found =
            self.finish(&["rev-parse", "--verify", "--quiet", &format!("{id}^{{commit}}")], MAX_LISTING)?;
        let found = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        if found == id {
            return Ok(found);
        }
        Err(WireError::new(Code::NotFound, format!("{} has no commit {id}", shown(self.url)))
            .with_fix("check the commit id; it may have been removed from the repository", &[]))
    }

    fn fetched_commit(&self) -> Result<String, WireError> {
        let commit = self.run(&["rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}"])?;
        Ok(String::from_utf8_lossy(&commit).trim().to_owned())
    }

    /// A bare name is a tag or a branch; both at once is not guessed at (T85).
    fn qualify(&self, name: &str) -> Result<String, WireError> {
        let (tag, branch) = (format!("refs/tags/{name}"), format!("refs/heads/{name}"));
        let listing = self.run(&["ls-remote", "--quiet", "--", self.url, &tag, &branch])?;
        let listing = String::from_utf8_lossy(&listing);
        let has = |wanted: &str| listing.lines().any(|line| line.split('\t').nth(1) == Some(wanted));
        match (has(&tag), has(&branch)) {
            (true, false) => Ok(tag),
            (false, true) => Ok(branch),
            (true, true) => Err(WireError::new(
                Code::SourceSpecInvalid,
                format!("{} has a tag and a branch named {}", shown(self.url), shown(name)),
            )
            .with_fix(format!("write #tag:{0} or #branch:{0}", shown(name)), &[])),
            (false, false) => Err(WireError::new(
                Code::NotFound,
                format!("{} has no tag and no branch named {}", shown(self.url), shown(name)),
            )
            .with_fix("list what there is", &["git", "ls-remote", "--tags", "--heads", &shown(self.url)])),
        }
    }
}

/// Judges the place that the person's own configuration puts in the place of a URL: where a policy limits sources, a
/// mirror has to be allowed like any other.
fn judge_mirror(there: &str, caller: &Caller<'_>) -> Result<(), WireError> {
    if !caller.policy().limits_sources() || there.starts_with("file://") || there.starts_with('/') {
        return Ok(());
    }
    let url = SourceUrl::parse(there).ok().or_else(|| match SourceSpec::parse(&format!("git+{there}")) {
        Ok(SourceSpec::Git { parts, .. }) => Some(parts),
        _ => None,
    });
    let refused = |host: &str, objection: &Objection| {
        source_refused(&shown(host), objection).caused_by("your git configuration leads there (insteadOf)")
    };
    match url {
        Some(url) => {
            let (host, path) = (url.host(), url.path.as_str());
            let contact = Contact { host, path, errand: Errand::Git, is_origin: false };
            caller.policy().judge_contact(&contact).map_err(|objection| refused(host, &objection))
        }
        None => {
            let told = without_credentials(there);
            caller.policy().judge_source(&Sought::NOWHERE).map_err(|objection| refused(&told, &objection))
        }
    }
}

fn null_device() -> &'static str {
    if cfg!(windows) { "NUL" } else { "/dev/null" }
}
