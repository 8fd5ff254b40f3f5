//! Where the socket is: a pure function of an environment value.
//!
//! One daemon per user and home, so the name carries the protocol number and a hash of the home:
//! `gsdd-p1-0a1b2c3d.sock` in a folder of ours. The operating system limits the length of a socket's path (107 bytes on
//! Linux, 103 on macOS); a longer one is never cut but replaced by a hashed name in a short private folder, so that
//! both sides, each computing it alone, arrive at the same place.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::PROTOCOL;

/// Longest socket path in bytes that is used on any platform.
pub const MAX_SOCKET_PATH_BYTES: usize = 100;

/// The part of a process environment that decides where things are.
///
/// All paths are absolute; [`Surroundings::from_vars`] sees to that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The user's home; empty if it is not known.
    pub home: PathBuf,
    /// `GSD_HOME`, or `--home`.
    pub gsd_home: Option<PathBuf>,
    /// `GSD_SOCKET`, or `--socket`: the socket itself.
    pub socket: Option<PathBuf>,
    /// `GSD_RUNTIME_DIR`: takes the place of `XDG_RUNTIME_DIR`.
    pub gsd_runtime_dir: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`.
    pub xdg_runtime_dir: Option<PathBuf>,
    /// `XDG_STATE_HOME`.
    pub xdg_state_home: Option<PathBuf>,
    /// `TMPDIR`.
    pub tmpdir: Option<PathBuf>,
    /// Effective user id; 0 where there is none.
    pub uid: u32,
}

impl Surroundings {
    /// Reads the variables through `var`. Empty values count as unset; relative ones are ignored, except those of
    /// `GSD_HOME` and `GSD_SOCKET`, which a person types and which are taken from `cwd`.
    #[must_use]
    pub fn from_vars(var: impl Fn(&str) -> Option<OsString>, cwd: &Path, uid: u32) -> Self {
        let set = |name: &str| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let absolute = |name: &str| set(name).filter(|path| path.is_absolute());
        let typed = |name: &str| set(name).map(|path| cwd.join(path));
        let home = absolute("HOME").or_else(|| absolute("USERPROFILE")).unwrap_or_default();
        Self {
            home,
            gsd_home: typed("GSD_HOME"),
            socket: typed("GSD_SOCKET"),
            gsd_runtime_dir: absolute("GSD_RUNTIME_DIR"),
            xdg_runtime_dir: absolute("XDG_RUNTIME_DIR"),
            xdg_state_home: absolute("XDG_STATE_HOME"),
            tmpdir: absolute("TMPDIR"),
            uid,
        }
    }

    /// The home that is served: `GSD_HOME`, else the user's.
    #[must_use]
    pub fn served_home(&self) -> &Path {
        self.gsd_home.as_deref().unwrap_or(&self.home)
    }

    /// Whether it cannot be told where things are: no home, and not all of what would make it unnecessary.
    #[must_use]
    pub fn lacks_home(&self) -> bool {
        self.home.as_os_str().is_empty() && (self.gsd_home.is_none() || self.xdg_state_home.is_none())
    }

    /// Folder of our own state (logs, generations, audit).
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        if cfg!(windows) {
            return self.home.join("AppData").join("Local").join("gsd");
        }
        match &self.xdg_state_home {
            Some(dir) => dir.join("gsd"),
            None => self.home.join(".local").join("state").join("gsd"),
        }
    }

    /// Eight hexadecimal digits that stand for the served home in file names.
    #[must_use]
    pub fn home_tag(&self) -> String {
        let hash = fnv64(self.served_home().components().collect::<PathBuf>().as_os_str());
        format!("{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff))
    }
}

/// A socket and the files beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The socket, or on Windows the name of the pipe.
    pub socket: PathBuf,
    /// Folder of the socket and of the files below; private to the user.
    pub dir: PathBuf,
    /// True when a person chose the socket: its folder is then theirs, and is neither made nor changed.
    pub explicit: bool,
    /// Stem of the file names.
    stem: String,
}

impl Endpoint {
    /// Held by the daemon for its life.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.beside("lock")
    }

    /// Held by a client while it starts a daemon.
    #[must_use]
    pub fn start_lock_file(&self) -> PathBuf {
        self.beside("start")
    }

    /// Left by a daemon that could not start.
    #[must_use]
    pub fn failure_file(&self) -> PathBuf {
        self.beside("failed")
    }

    /// Touched when a client asked an older daemon to make room.
    #[must_use]
    pub fn replaced_file(&self) -> PathBuf {
        self.beside("replaced")
    }

    fn beside(&self, ending: &str) -> PathBuf {
        self.dir.join(format!("{}.{ending}", self.stem))
    }

    /// The place for `surroundings`.
    #[must_use]
    pub fn resolve(surroundings: &Surroundings) -> Self {
        if cfg!(windows) {
            return Self::pipe(surroundings);
        }
        if let Some(socket) = &surroundings.socket {
            return Self::explicit(socket);
        }
        let stem = format!("gsdd-p{PROTOCOL}-{}", surroundings.home_tag());
        let parent = surroundings
            .gsd_runtime_dir
            .clone()
            .or_else(|| surroundings.xdg_runtime_dir.clone())
            .or_else(|| surroundings.tmpdir.clone().filter(|_| cfg!(target_os = "macos")));
        let wanted = match parent {
            Some(parent) => Self::in_dir(parent.join("gsd"), stem),
            None => Self::in_dir(surroundings.state_dir().join("run"), stem),
        };
        if fits(&wanted.socket) { wanted } else { Self::shortened(surroundings, &wanted) }
    }

    /// A short place that stands for a too long one: the first of the usual private folders in which it fits.
    fn shortened(surroundings: &Surroundings, wanted: &Self) -> Self {
        let stem = format!("gsdd-p{PROTOCOL}-{:016x}", fnv64(wanted.socket.as_os_str()));
        let own = format!("gsd-{}", surroundings.uid);
        let candidates = [
            surroundings.xdg_runtime_dir.as_ref().map(|dir| dir.join("gsd")),
            surroundings.tmpdir.as_ref().map(|dir| dir.join(&own)),
        ];
        let dir = candidates
            .into_iter()
            .flatten()
            .find(|dir| fits(&dir.join(format!("{stem}.sock"))))
            .unwrap_or_else(|| Path::new("/tmp").join(&own));
        Self::in_dir(dir, stem)
    }

    fn in_dir(dir: PathBuf, stem: String) -> Self {
        Self { socket: dir.join(format!("{stem}.sock")), dir, explicit: false, stem }
    }

    fn explicit(socket: &Path) -> Self {
        let dir = socket.parent().unwrap_or(Path::new("/")).to_owned();
        let name = socket.file_name().unwrap_or(OsStr::new("gsdd.sock")).to_string_lossy();
        let stem = name.strip_suffix(".sock").unwrap_or(&name).to_owned();
        Self { socket: socket.to_owned(), explicit: true, dir, stem }
    }

    fn pipe(surroundings: &Surroundings) -> Self {
        let user = fnv64(surroundings.home.as_os_str());
        let stem = format!("gsdd-p{PROTOCOL}-{}", surroundings.home_tag());
        let dir = surroundings.state_dir().join("run");
        let socket = surroundings
            .socket
            .clone()
            .unwrap_or_else(|| PathBuf::from(format!(r"\\.\pipe\{stem}-{user:016x}")));
        Self { socket, dir, explicit: false, stem }
    }
}

fn fits(path: &Path) -> bool {
    path.as_os_str().len() <= MAX_SOCKET_PATH_BYTES
}

/// FNV-1a, 64 bits: a short name for a path, not a proof of anything. The daemon says which home it serves, so two
/// homes that meet in one name are noticed.
fn fnv64(text: &OsStr) -> u64 {
    text.as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn surroundings(vars: &[(&str, &str)]) -> Surroundings {
        let vars: Vec<(String, OsString)> =
            vars.iter().map(|(k, v)| ((*k).to_owned(), OsString::from(v))).collect();
        let look = |name: &str| vars.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone());
        Surroundings::from_vars(look, Path::new("/cwd"), 1000)
    }

    fn socket(vars: &[(&str, &str)]) -> String {
        Endpoint::resolve(&surroundings(vars)).socket.to_str().unwrap().to_owned()
    }

    #[test]
    fn runtime_dir_then_state_dir() {
        let at_runtime = socket(&[("HOME", "/home/a"), ("XDG_RUNTIME_DIR", "/run/user/1000")]);
        assert!(at_runtime.starts_with("/run/user/1000/gsd/gsdd-p1-"), "{at_runtime}");
        assert!(at_runtime.ends_with(".sock"));
        let at_state = socket(&[("HOME", "/home/a")]);
        assert!(at_state.starts_with("/home/a/.local/state/gsd/run/gsdd-p1-"), "{at_state}");
    }

    #[test]
    fn one_socket_per_home() {
        let a = socket(&[("HOME", "/home/a"), ("XDG_RUNTIME_DIR", "/run")]);
        let b = socket(&[("HOME", "/home/a"), ("GSD_HOME", "/elsewhere"), ("XDG_RUNTIME_DIR", "/run")]);
        let same = socket(&[("HOME", "/home/a/"), ("GSD_HOME", ""), ("XDG_RUNTIME_DIR", "/run")]);
        assert_ne!(a, b);
        assert_eq!(a, same);
    }

    #[test]
    fn relative_xdg_values_are_ignored() {
        let got = socket(&[("HOME", "/home/a"), ("XDG_RUNTIME_DIR", "run"), ("XDG_STATE_HOME", "state")]);
        assert!(got.starts_with("/home/a/.local/state/gsd/run/"), "{got}");
    }

    #[test]
    fn typed_values_are_taken_from_the_working_directory() {
        assert_eq!(socket(&[("HOME", "/h"), ("GSD_SOCKET", "s/x.sock")]), "/cwd/s/x.sock");
        assert_eq!(surroundings(&[("GSD_HOME", "g")]).served_home(), Path::new("/cwd/g"));
    }

    #[test]
    fn fr033_deep_directories_get_a_short_private_place() {
        let deep = format!("/w/{}/{}", "a".repeat(60), "b".repeat(60));
        let got =
            socket(&[("HOME", "/home/a"), ("GSD_RUNTIME_DIR", &deep), ("XDG_RUNTIME_DIR", "/run/user/1000")]);
        assert!(
            got.len() <= MAX_SOCKET_PATH_BYTES && got.starts_with("/run/user/1000/gsd/gsdd-p1-"),
            "{got}"
        );
        let in_tmp = socket(&[("HOME", "/home/a"), ("GSD_RUNTIME_DIR", &deep), ("TMPDIR", &deep)]);
        assert!(in_tmp.starts_with("/tmp/gsd-1000/"), "{in_tmp}");
        let other = socket(&[("HOME", "/home/a"), ("GSD_RUNTIME_DIR", &format!("{deep}x"))]);
        assert_ne!(in_tmp, other);
    }

    #[test]
    fn files_beside_the_socket_share_its_stem() {
        let endpoint = Endpoint::explicit(Path::new("/d/my.sock"));
        assert_eq!(endpoint.lock_file(), Path::new("/d/my.lock"));
        assert_eq!(endpoint.failure_file(), Path::new("/d/my.failed"));
    }
}
