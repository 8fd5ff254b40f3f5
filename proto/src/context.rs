//! The caller's surroundings, sent with each request.
//!
//! A daemon serves many terminals and projects, so its own working directory and environment must not decide
//! anything (field report: the daemon acts with the caller's environment, not with the one it was born with).
//! The other way round, a request must not be able to carry variables that change how programs load code:
//! only allow-listed names are sent, and the same list is applied again when a context is read (threat T181).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};

/// Longest environment value that travels, in bytes; longer ones are left out.
pub const MAX_ENV_VALUE_BYTES: usize = 4096;

/// Largest number of environment values in one context.
pub const MAX_ENV_VALUES: usize = 128;

/// Where and as what a client runs.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Context {
    /// Protocol number the request is written in; 0 means "not said".
    pub protocol: u32,
    /// Name of the client program.
    pub client: String,
    /// Absolute working directory of the client; empty if it has none.
    pub cwd: PathBuf,
    /// Allow-listed environment variables, see [`is_allowed`].
    #[serde(deserialize_with = "allowed_only")]
    pub env: BTreeMap<String, String>,
    /// Whether the caller wants to be told how far the call is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
    /// How long the caller waits for others who are at work, in milliseconds; absent = as the daemon thinks fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// File mode mask of the client; absent where there is none or it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub umask: Option<u32>,
}

/// Names of variables only: their values may be tokens.
impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("client", &self.client)
            .field("cwd", &self.cwd)
            .field("env", &self.env.keys())
            .finish_non_exhaustive()
    }
}

impl Context {
    /// A context for `client` in `cwd`, with the allowed ones of `vars`. Values that are not UTF-8 are left out.
    #[must_use]
    pub fn new(client: &str, cwd: PathBuf, vars: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let pairs = vars.into_iter().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            if !is_allowed(&name) { None } else { Some((name, value.into_string().ok()?)) }
        });
        Self {
            protocol: crate::PROTOCOL,
            client: client.to_owned(),
            cwd,
            env: keep_allowed(pairs),
            progress: false,
            wait_ms: None,
            umask: None,
        }
    }
}

/// The file mode mask of this process. Reading it means setting it for a moment, so it has to be called before there
/// are other threads.
#[cfg(unix)]
#[must_use]
pub fn umask_of_process() -> Option<u32> {
    let private = rustix::fs::Mode::from_raw_mode(0o077);
    let found = rustix::process::umask(private);
    rustix::process::umask(found);
    #[allow(clippy::useless_conversion, reason = "the type of a mode differs between systems")]
    let bits = u32::from(found.as_raw_mode());
    Some(bits)
}

/// There is no such mask here.
#[cfg(not(unix))]
#[must_use]
pub fn umask_of_process() -> Option<u32> {
    None
}

/// Names that travel whatever they end in.
const EXACT: &[&str] = &[
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PATH",
    "PATHEXT",
    "LANG",
    "LANGUAGE",
    "TZ",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SSH_AUTH_SOCK",
    // Where the person's `insteadOf` and proxies are, as powerful as `HOME`; only keys about reaching a host are read.
    "GIT_CONFIG_GLOBAL",
    // The same for npm: where the person's registries are.
    "NPM_CONFIG_USERCONFIG",
    // The two names that build machines keep a registry's token under; only the person's own `.npmrc` can name them.
    "NPM_TOKEN",
    "NODE_AUTH_TOKEN",
    "CI",
    "GSD_OFFLINE",
    "GSD_SAFE",
    "GSD_JSON_ERRORS",
    "GSD_PROJECT",
    "GSD_WORKSTREAM",
    "GSD_RUNTIME",
    "GSD_CONFIG",
];

/// Endings by which host programs name the variables that move their configuration.
const CONFIG_ENDINGS: &[&str] = &["_CONFIG_DIR", "_AGENT_DIR", "_SHARE_DIR", "_HOME", "_CONFIG"];

/// Beginnings that are never taken by their ending: they change how programs load code or find data, or decide
/// which daemon is ours.
const REFUSED_BEGINNINGS: &[&str] =
    &["LD_", "DYLD_", "NODE_", "npm_", "NPM_", "GIT_", "GSD_", "RUST", "CARGO_", "PYTHON"];

/// Whether an environment variable travels from client to daemon.
///
/// Allowed: where host programs keep their configuration, the user's directories, locale, proxies, the token of an npm
/// registry, and the per-call switches of this product. Never: loader variables, other tokens, `GSD_HOME` (a daemon has
/// one home).
#[must_use]
pub fn is_allowed(name: &str) -> bool {
    if EXACT.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_") {
        return true;
    }
    let plain = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    plain
        && CONFIG_ENDINGS.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
        && !REFUSED_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

fn keep_allowed(pairs: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    pairs
        .into_iter()
        .filter(|(name, value)| {
            is_allowed(name) && value.len() <= MAX_ENV_VALUE_BYTES && !value.contains('\0')
        })
        .take(MAX_ENV_VALUES)
        .collect()
}

fn allowed_only<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    Ok(keep_allowed(BTreeMap::<String, String>::deserialize(deserializer)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_configuration_travels() {
        for name in [
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "PI_CODING_AGENT_DIR",
            "XDG_CONFIG_HOME",
            "LC_ALL",
            "HOME",
            "PATH",
            "GIT_CONFIG_GLOBAL",
        ] {
            assert!(is_allowed(name), "{name}");
        }
    }

    #[test]
    fn t181_environment_carried_from_client() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "GSD_HOME",
            "GSD_SOCKET",
            "GIT_CONFIG",
            "AWS_SECRET_ACCESS_KEY",
            "_HOME",
            "a_HOME",
        ] {
            assert!(!is_allowed(name), "{name}");
        }
        // The reader does not trust the writer: a forged context loses the same names.
        let forged = r#"{"cwd":"/w","env":{"LD_PRELOAD":"/tmp/x.so","GSD_HOME":"/tmp/h","CODEX_HOME":"/c"},"later":1}"#;
        let context: Context = serde_json::from_str(forged).unwrap();
        assert_eq!(context.env.keys().collect::<Vec<_>>(), ["CODEX_HOME"]);
    }

    #[test]
    fn t185_values_are_not_printed() {
        let context = Context::new("t", "/".into(), [("NPM_TOKEN".into(), "s3cret".into())]);
        let printed = format!("{context:?}");
        assert!(printed.contains("NPM_TOKEN") && !printed.contains("s3cret"), "{printed}");
    }

    #[test]
    fn long_values_stay_behind() {
        let long = "x".repeat(MAX_ENV_VALUE_BYTES + 1);
        let context =
            Context::new("t", "/".into(), [("PATH".into(), long.into()), ("LANG".into(), "C".into())]);
        assert_eq!(context.env.len(), 1);
    }
}
