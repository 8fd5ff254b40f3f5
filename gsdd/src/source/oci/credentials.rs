//! What the person has logged in to, as `docker login` and `podman login` write it down.
//!
//! It is read for one request and kept nowhere. Programs that such a file names (credential helpers) are not started.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gsd_proto::Context;
use reqwest::header::HeaderValue;
use serde::Deserialize;

use crate::fs::bounded_read::{self, MAX_FILE};
use crate::source::http::secret_header;

/// Name and password for one registry.
pub(super) struct Credentials {
    /// `base64(name:password)`
    basic: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LoginFile {
    auths: BTreeMap<String, Login>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Login {
    auth: String,
}

impl Credentials {
    /// What the caller has for the registry at `host` (with its port); the first file that knows it counts. A file that
    /// can't be read or understood is one without logins: the registry then says that it wants some.
    pub(super) fn of_person(ctx: &Context, host: &str) -> Option<Self> {
        files(ctx).iter().find_map(|file| {
            let bytes = bounded_read::read(file, MAX_FILE).ok()?;
            let logins: LoginFile = serde_json::from_slice(&bytes).ok()?;
            logins.auths.iter().find(|(name, _)| is_for(name, host)).and_then(|(_, login)| {
                let text = STANDARD.decode(&login.auth).ok()?;
                text.contains(&b':').then(|| Self { basic: login.auth.clone() })
            })
        })
    }

    pub(super) fn header(&self) -> Option<HeaderValue> {
        secret_header(&format!("Basic {}", self.basic))
    }
}

fn files(ctx: &Context) -> Vec<PathBuf> {
    let folder = |name: &str| ctx.env.get(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let docker = folder("DOCKER_CONFIG").or_else(|| Some(folder("HOME")?.join(".docker")));
    let podman = folder("XDG_RUNTIME_DIR").map(|folder| folder.join("containers").join("auth.json"));
    docker.map(|folder| folder.join("config.json")).into_iter().chain(podman).collect()
}

/// Older programs write whole URLs, and one registry is known by its oldest one.
fn is_for(name: &str, host: &str) -> bool {
    let name = name.strip_prefix("https://").unwrap_or(name);
    let (name, path) = name.split_once('/').unwrap_or((name, ""));
    let known = if name == "index.docker.io" { "docker.io" } else { name };
    known.eq_ignore_ascii_case(host) && matches!(path, "" | "v1/" | "v2/" | "v1" | "v2")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::atomic;

    #[test]
    fn logins_are_found_by_host_and_port() {
        let dir = tempfile::tempdir().unwrap();
        let auth = STANDARD.encode("me:pw");
        let text = format!(
            r#"{{"auths": {{"r.example:5000": {{"auth": "{auth}"}}, "https://index.docker.io/v1/": {{"auth": "{auth}"}},
               "https://old.example/v2/": {{"auth": "{auth}"}}, "helper.example": {{}}, "bad.example": {{"auth": "%"}}}},
               "credsStore": "desktop"}}"#
        );
        atomic::write(&dir.path().join("config.json"), text.as_bytes(), atomic::Mode::Keep(0o022)).unwrap();
        let ctx = Context::new("t", "/".into(), [("DOCKER_CONFIG".into(), dir.path().into())]);
        for host in ["r.example:5000", "docker.io", "old.example"] {
            let header = Credentials::of_person(&ctx, host).unwrap().header().unwrap();
            assert!(header.is_sensitive() && header.to_str().unwrap().ends_with(&auth), "{host}");
        }
        for host in ["r.example", "r.example:443", "helper.example", "bad.example", "evil.example"] {
            assert!(Credentials::of_person(&ctx, host).is_none(), "{host}");
        }
        assert!(Credentials::of_person(&Context::default(), "r.example:5000").is_none());
    }
}
