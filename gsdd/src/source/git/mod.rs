//! A git repository, through the person's `git`, which never checks anything out.
//!
//! `fetch` of exactly the wanted commit into an empty bare repository, then the blobs are read from the object
//! database: no filters, attributes, hooks, submodules or symlinks get a chance, and the bytes are the commit's.
//! The person's own `insteadOf`, proxy and credential settings are honoured; nothing else of their configuration and
//! nothing of the caller's `GIT_*` variables is (D-15, threats T79 to T93).

mod guard;
mod personal;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gsd_proto::{Code, WireError};
use gsdd_core::bundle::{Budget, RelPath, TwinGuard, check_member, is_cache_entry, is_vcs_entry};
use gsdd_core::source::GitRef;
use gsdd_core::source::address::{HTTPS_PORT, judge_host_text};
use gsdd_core::source::url::SourceUrl;
use gsdd_core::text::{shown, shown_up_to};

use self::guard::{End, read_bounded, watch_over};
use self::personal::{PersonalSettings, settings_of};
use super::http::host_refused;
use super::{Caller, Fetched};
use crate::fs::bundle_tree::{BundleFile, BundleTree};
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
    let workspace =
        tempfile::Builder::new().prefix("git-").tempdir_in(&caller.workspace).map_err(|error| {
            WireError::new(Code::IoFailed, format!("no room to fetch into: {error}"))
                .at_file(&caller.workspace)
        })?;
    let settings = settings_of(caller, url);
    // Where a name leads to is git's to find out; what a host says by itself is judged here. A rewritten URL leads to
    // where the person's own configuration says.
    let policy = caller.policy()?;
    if !settings.rewrites && !policy.allows(parts.host(), parts.port.unwrap_or(HTTPS_PORT)) {
        judge_host_text(parts.host()).map_err(|refusal| host_refused(parts.host(), refusal.into()))?;
    }
    let git = Git { url, repository: workspace.path(), settings, caller, begun: Instant::now() };
    git.run(&["init", "--bare", "--quiet", "."])?;
    caller.watch.advance("fetch", 0, None, "");
    let commit = git.fetch_commit(reference)?;
    let tree = git.read_tree(&commit, subdir)?;
    let below = subdir.map(|subdir| format!("//{subdir}")).unwrap_or_default();
    let from = TakenFrom {
        reference: Some(format!("git+{url}{below}#{commit}")),
        commit: Some(commit),
        ..TakenFrom::default()
    };
    Ok(Fetched { tree, recorded: recorded.to_owned(), from })
}

struct Git<'a> {
    url: &'a str,
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

impl Git<'_> {
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
        let fixed = fixed.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
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

    fn fetch_commit(&self, reference: &GitRef) -> Result<String, WireError> {
        let wanted = match reference {
            GitRef::Commit(id) => return self.fetch_id(id),
            GitRef::None => "HEAD".to_owned(),
            GitRef::Tag(name) => format!("refs/tags/{name}"),
            GitRef::Branch(name) => format!("refs/heads/{name}"),
            GitRef::Bare(name) => self.qualify(name)?,
        };
        self.run(&["fetch", "--depth=1", "--no-tags", "--quiet", "--", self.url, &wanted])?;
        self.fetched_commit()
    }

    /// A server may refuse to hand out a bare commit; then everything is fetched and the commit is looked for.
    fn fetch_id(&self, id: &str) -> Result<String, WireError> {
        let direct =
            self.finish(&["fetch", "--depth=1", "--no-tags", "--quiet", "--", self.url, id], MAX_LISTING)?;
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

    fn read_tree(&self, commit: &str, subdir: Option<&RelPath>) -> Result<BundleTree, WireError> {
        let root = subdir.map_or_else(|| commit.to_owned(), |subdir| format!("{commit}:{}", subdir.as_str()));
        let listing = self.finish(&["ls-tree", "-rzt", "--full-tree", &root], MAX_LISTING)?;
        if !listing.ok {
            let folder = subdir.map(RelPath::as_str).unwrap_or_default();
            return Err(WireError::new(
                Code::NotFound,
                format!("the commit has no folder {}", shown(folder)),
            ));
        }
        let mut budget = Budget::staging();
        let mut twins = TwinGuard::new();
        let mut tree = BundleTree::default();
        let mut blobs: Vec<(RelPath, String, bool)> = Vec::new();
        for entry in listing.stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let Some((mode, kind, id, path)) = listed(entry) else { continue };
            if path.split(|byte| *byte == b'/').any(is_vcs_entry) || is_cache_entry(path) {
                continue;
            }
            let shown_path = shown(&String::from_utf8_lossy(path));
            let refuse = |code: &str, reason: &str| refused(code, &shown_path, reason);
            let member = check_member(path).map_err(|refusal| refuse("name", &refusal.to_string()))?;
            twins.add(&member, kind == "tree").map_err(|refusal| refuse("twin", &refusal.to_string()))?;
            match (kind, mode) {
                ("tree", _) => {
                    budget.add_dir().map_err(|over| refuse("too-many-entries", &over.to_string()))?;
                    tree.folders.insert(member.as_str().to_owned());
                }
                ("blob", "100644" | "100664") => blobs.push((member, id.to_owned(), false)),
                ("blob", "100755") => blobs.push((member, id.to_owned(), true)),
                ("blob", "120000") => {
                    return Err(refuse("symlink", "symlinks are not allowed in a bundle"));
                }
                _ => return Err(refuse("non-regular", "submodules are not allowed in a bundle")),
            }
        }
        self.read_blobs(&blobs, &mut budget, &mut tree)?;
        Ok(tree)
    }

    fn read_blobs(
        &self,
        blobs: &[(RelPath, String, bool)],
        budget: &mut Budget,
        tree: &mut BundleTree,
    ) -> Result<(), WireError> {
        let lost = |error: std::io::Error| {
            WireError::new(Code::SourceUnreachable, format!("reading from git: {error}"))
        };
        let mut command = self.command();
        command
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(lost)?;
        let (Some(mut requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(WireError::new(Code::Internal, "git has no pipes"));
        };
        let mut answers = BufReader::new(answers);
        let result = (|| {
            for (path, id, executable) in blobs {
                writeln!(requests, "{id}").map_err(lost)?;
                requests.flush().map_err(lost)?;
                let mut header = String::new();
                answers.by_ref().take(256).read_line(&mut header).map_err(lost)?;
                let size: u64 = header
                    .trim_end()
                    .rsplit(' ')
                    .next()
                    .and_then(|size| size.parse().ok())
                    .ok_or_else(|| {
                        WireError::new(Code::SourceUnreachable, format!("git lost {}", shown(path.as_str())))
                    })?;
                budget
                    .add_file(size)
                    .map_err(|over| refused("too-large", path.as_str(), &over.to_string()))?;
                let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
                answers.read_exact(&mut bytes).map_err(lost)?;
                answers.read_exact(&mut [0]).map_err(lost)?;
                tree.add(path, BundleFile { bytes, executable: *executable });
                self.caller.watch.check()?;
                self.caller.watch.advance(
                    "unpack",
                    tree.files.len() as u64,
                    Some(blobs.len() as u64),
                    "files",
                );
            }
            self.caller.watch.finished("unpack", tree.files.len() as u64, "files");
            Ok(())
        })();
        drop(requests);
        let _ = child.kill();
        let _ = child.wait();
        result
    }

    /// Time-out, authentication, unknown host, certificate and no such repository are different answers (FR-032).
    fn explain(&self, stderr: &str) -> WireError {
        let url = shown(self.url);
        let lower = stderr.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let error = if says(&[
            "authentication failed",
            "could not read username",
            "could not read password",
            "terminal prompts disabled",
            "permission denied (publickey",
            "access denied",
            " 401",
            " 403",
        ]) {
            WireError::new(
                Code::SourceUnreachable,
                format!("{url} wants authentication that your git does not have"),
            )
            .with_fix(
                "set up a credential helper or ssh key for that host, then check it",
                &["git", "ls-remote", &url],
            )
        } else if says(&["could not resolve host", "name or service not known", "no address associated"]) {
            WireError::new(Code::SourceUnreachable, format!("the host of {url} is not known"))
                .with_fix("check the spelling of the host, and the network", &[])
        } else if says(&["certificate", "ssl"]) {
            WireError::new(Code::SourceUnreachable, format!("the certificate of {url} is not trusted"))
                .with_fix("if your organisation has its own authority, name it in SSL_CERT_FILE", &[])
        } else if says(&["couldn't find remote ref", "not our ref", "unadvertised object"]) {
            WireError::new(Code::NotFound, format!("{url} does not have that tag, branch or commit"))
                .with_fix("list what there is", &["git", "ls-remote", "--tags", "--heads", &url])
        } else if says(&[
            "not found",
            "does not exist",
            "does not appear to be a git repository",
            "repository",
        ]) {
            WireError::new(Code::NotFound, format!("there is no repository at {url}"))
                .with_fix("check the URL; a private repository also looks like this without access", &[])
        } else if says(&["timed out", "timeout"]) {
            WireError::new(Code::SourceUnreachable, format!("{url} did not answer in time"))
        } else if says(&["transport", "not allowed"]) {
            WireError::new(Code::PolicyBlocked, format!("git refuses the transport of {url}"))
        } else {
            WireError::new(Code::SourceUnreachable, format!("{url} can't be reached"))
        };
        let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
        // What follows the first fatal line is advice.
        let told = lines().find(|line| line.starts_with("fatal:")).or_else(|| lines().next_back());
        let told = told.unwrap_or_default();
        error.caused_by(format!("git: {}", shown_up_to(&without_credentials(told), 200)))
    }
}

fn refused(code: &str, path: &str, reason: &str) -> WireError {
    let mut error =
        WireError::new(Code::Internal, format!("this repository is not a usable bundle: {reason}"))
            .at_file(path);
    error.code = format!("bundle.{code}").into();
    error.exit = 2;
    error
}

/// `<mode> <kind> <id>\t<path>`.
fn listed(entry: &[u8]) -> Option<(&str, &str, &str, &[u8])> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let mut head = std::str::from_utf8(&entry[..tab]).ok()?.split(' ');
    Some((head.next()?, head.next()?, head.next()?, &entry[tab + 1..]))
}

/// A rewritten URL of the person may hold a token, and git quotes it in errors.
pub(super) fn without_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        let authority = tail.find(['/', ' ', '\'', '"']).unwrap_or(tail.len());
        rest = match tail[..authority].rfind('@') {
            Some(user) => &tail[user + 1..],
            None => tail,
        };
    }
    out.push_str(rest);
    out
}

fn null_device() -> &'static str {
    if cfg!(windows) { "NUL" } else { "/dev/null" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fr_025_credentials_of_a_rewritten_url_are_not_repeated() {
        let text = "fatal: unable to access 'https://bob:hunter2@forge.example/x.git/': nope https://a@b/";
        assert_eq!(
            without_credentials(text),
            "fatal: unable to access 'https://forge.example/x.git/': nope https://b/"
        );
    }

    #[test]
    fn listings_are_split_by_bytes() {
        let entry = b"100644 blob 0123\ta b\xff";
        assert_eq!(listed(entry), Some(("100644", "blob", "0123", &b"a b\xff"[..])));
        assert_eq!(listed(b"nonsense"), None);
    }
}
