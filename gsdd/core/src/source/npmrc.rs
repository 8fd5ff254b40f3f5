//! Which npm registry a package comes from, and which secret goes to it: the settings of `.npmrc` files.
//!
//! Two files count: the person's own, and the one of the project. The project's is a stranger's text, so it may say one
//! thing only: which registry a scope (or everything) comes from, written out, and only a place that the
//! person's own file names, or the public registry when the person's own file has no other default; what the person's own
//! file says about a scope stands. It never supplies a secret, a certificate, a proxy, or a variable to be filled in: with
//! those a cloned repository could send the person's token to a host of its choosing, or slip its own package under the
//! name of theirs.
//!
//! A secret is kept with the place it was written for, and is sent nowhere else.
//!
//! Source: decision D-15, threats T65, T69, T70, T97, T185.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::secret::Secret;
use super::url::SourceUrl;
use crate::text::{shown, shown_up_to};

/// Largest file that is read, in bytes.
pub const MAX_NPMRC_BYTES: u64 = 256 * 1024;

/// Most settings of one file that are read.
const MAX_SETTINGS: usize = 2000;

/// The registry of whoever configures none.
pub const PUBLIC_REGISTRY: &str = "https://registry.npmjs.org/";

/// What the files say, taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NpmSettings {
    registry: RegistryUrl,
    scopes: BTreeMap<String, RegistryUrl>,
    secrets: BTreeMap<Place, Secret>,
    /// Path of certificates to trust in addition, as the person wrote it.
    pub cafile: Option<String>,
    /// What was not done, for the person; cleaned.
    pub warnings: Vec<String>,
}

/// Base URL of a registry; always https, always with a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryUrl {
    text: String,
    parts: SourceUrl,
}

/// Host, port and path that a secret was written for: `//host/path/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// `host` or `host:port`, in lower case.
    authority: String,
    /// With a slash at both ends.
    path: String,
}

impl RegistryUrl {
    /// Reads the base URL of a registry.
    ///
    /// # Errors
    /// What is wrong with it, without text of the URL.
    pub fn parse(raw: &str) -> Result<Self, &'static str> {
        let parts = SourceUrl::parse(raw).map_err(|_| "it is no plain URL, or has credentials in it")?;
        if parts.scheme != "https" {
            return Err("only https registries are used");
        }
        if parts.query.is_some() || parts.path.contains("/../") || parts.path.ends_with("/..") {
            return Err("it has more than a host and a path");
        }
        let slash = if parts.path.ends_with('/') { "" } else { "/" };
        Ok(Self { text: format!("{raw}{slash}"), parts })
    }

    /// The text, with a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its host, in lower case.
    #[must_use]
    pub fn host(&self) -> &str {
        self.parts.host()
    }

    /// URL of the description of a package.
    #[must_use]
    pub fn packument(&self, name: &str) -> String {
        // The slash of a scoped name belongs to the name, not to the path.
        format!("{}{}", self.text, name.replace('/', "%2f"))
    }

    fn place(&self) -> Place {
        Place::of(&self.parts)
    }
}

impl Place {
    fn of(url: &SourceUrl) -> Self {
        let authority = match url.port {
            Some(port) if port != 443 => format!("{}:{port}", url.host),
            _ => url.host.clone(),
        };
        let path = if url.path.ends_with('/') { url.path.clone() } else { format!("{}/", url.path) };
        Self { authority, path }
    }

    /// The part of a setting's name before the last `:`, as in `//host/path/:_authToken`.
    fn parse(raw: &str) -> Option<Self> {
        let url = SourceUrl::parse(&format!("https:{raw}")).ok()?;
        url.query.is_none().then(|| Self::of(&url))
    }

    /// Whether `inner` is at this place or below it.
    fn holds(&self, inner: &Self) -> bool {
        self.authority == inner.authority && inner.path.starts_with(&self.path)
    }
}

/// Reads the settings of both files; `env` answers for the variables that the person's file may name.
#[must_use]
pub fn read_settings(
    user: Option<&[u8]>,
    project: Option<&[u8]>,
    env: impl Fn(&str) -> Option<String>,
) -> NpmSettings {
    let public = RegistryUrl::parse(PUBLIC_REGISTRY).expect("the public registry is an https URL");
    let mut settings = NpmSettings {
        registry: public,
        scopes: BTreeMap::new(),
        secrets: BTreeMap::new(),
        cafile: None,
        warnings: Vec::new(),
    };
    let mut known = Vec::new();
    settings.read_user(user.unwrap_or_default(), &env, &mut known);
    settings.read_project(project.unwrap_or_default(), &known);
    settings
}

impl NpmSettings {
    /// The registry that a package comes from.
    #[must_use]
    pub fn registry_of(&self, package: &str) -> &RegistryUrl {
        let scope = package.strip_prefix('@').and_then(|scoped| scoped.split_once('/'));
        scope.and_then(|(scope, _)| self.scopes.get(&scope.to_lowercase())).unwrap_or(&self.registry)
    }

    /// The `Authorization` value for a request to `url`: the secret of the longest place that holds the URL, and within
    /// the registry's own host and port that of the registry. Any other host gets none.
    #[must_use]
    pub fn authorization(&self, url: &SourceUrl, registry: &RegistryUrl) -> Option<&Secret> {
        // A path that goes up again is not below what it seems to be below.
        let path = url.path.to_ascii_lowercase();
        if url.scheme != "https" || path.contains("..") || path.contains("%2e") {
            return None;
        }
        let at = |wanted: &Place| {
            self.secrets
                .iter()
                .filter(|(place, _)| place.holds(wanted))
                .max_by_key(|(place, _)| place.path.len())
                .map(|(_, secret)| secret)
        };
        let wanted = Place::of(url);
        let home = registry.place();
        at(&wanted).or_else(|| (home.authority == wanted.authority).then(|| at(&home)).flatten())
    }

    fn read_user(&mut self, file: &[u8], env: &impl Fn(&str) -> Option<String>, known: &mut Vec<Place>) {
        let mut users: BTreeMap<Place, String> = BTreeMap::new();
        let mut passwords: BTreeMap<Place, String> = BTreeMap::new();
        for (key, raw) in pairs(file) {
            let (Some(key), Some(value)) = (filled(&key, env), filled(&raw, env)) else {
                self.warnings.push(format!(
                    "{} of your .npmrc names a variable that is not set here, and is not used",
                    shown_up_to(&key, 100)
                ));
                continue;
            };
            if let Some((place, name)) = key.starts_with("//").then(|| key.rsplit_once(':')).flatten() {
                let Some(place) = Place::parse(place) else { continue };
                match name {
                    "_authToken" if !value.is_empty() => {
                        self.secrets.insert(place.clone(), Secret::new(format!("Bearer {value}")));
                    }
                    "_auth" if !value.is_empty() => {
                        self.secrets.insert(place.clone(), Secret::new(format!("Basic {value}")));
                    }
                    "username" => drop(users.insert(place.clone(), value)),
                    "_password" => drop(passwords.insert(place.clone(), value)),
                    "certfile" | "keyfile" => self.warnings.push(format!(
                        "client certificates ({}) of your .npmrc are not used",
                        shown_up_to(&key, 100)
                    )),
                    _ => {}
                }
                known.push(place);
                continue;
            }
            match key.as_str() {
                "registry" => match RegistryUrl::parse(&value) {
                    Ok(url) => self.registry = url,
                    Err(why) => self.unusable(&key, why),
                },
                "cafile" => self.cafile = Some(value).filter(|path| !path.is_empty()),
                "_auth" | "_authToken" | "_password" => self.warnings.push(format!(
                    "{key} of your .npmrc says for no host, so it is sent to none; write //host/:{key}"
                )),
                "strict-ssl" if value == "false" => self.warnings.push(
                    "strict-ssl=false of your .npmrc is not followed; name your authority in cafile"
                        .to_owned(),
                ),
                "proxy" | "https-proxy" | "http-proxy" | "noproxy" => self
                    .warnings
                    .push(format!("{key} of your .npmrc is not used; set HTTPS_PROXY and NO_PROXY instead")),
                _ => {
                    if let Some(scope) = scope_of(&key) {
                        match RegistryUrl::parse(&value) {
                            Ok(url) => drop(self.scopes.insert(scope, url)),
                            Err(why) => self.unusable(&key, why),
                        }
                    }
                }
            }
        }
        for (place, user) in users {
            // The password is base64 by itself, and the pair once more.
            let password = passwords.get(&place).and_then(|encoded| STANDARD.decode(encoded.as_bytes()).ok());
            if let Some(password) = password
                && !self.secrets.contains_key(&place)
            {
                let pair = [user.as_bytes(), b":", &password].concat();
                self.secrets.insert(place, Secret::new(format!("Basic {}", STANDARD.encode(pair))));
            }
        }
        known.push(self.registry.place());
        known.extend(self.scopes.values().map(RegistryUrl::place));
    }

    fn read_project(&mut self, file: &[u8], known: &[Place]) {
        let (own_default, own_scopes) = (self.registry.clone(), self.scopes.clone());
        for (key, value) in pairs(file) {
            let scope = scope_of(&key);
            if key != "registry" && scope.is_none() {
                if is_about_reaching(&key) {
                    self.warnings.push(format!(
                        "{} of the project's .npmrc is not used; what goes to a registry is for your own .npmrc to say",
                        shown_up_to(&key, 100)
                    ));
                }
                continue;
            }
            // A variable is not filled in, so what names one is no URL.
            let url = match RegistryUrl::parse(&value) {
                Ok(url) => url,
                Err(why) => {
                    self.warnings.push(format!(
                        "{} of the project's .npmrc is not used: {why}",
                        shown_up_to(&key, 100)
                    ));
                    continue;
                }
            };
            let own = match &scope {
                Some(scope) => own_scopes.get(scope),
                None if own_default.as_str() == PUBLIC_REGISTRY => None,
                None => Some(&own_default),
            };
            let whose = match &scope {
                Some(scope) => format!("@{}", shown_up_to(scope, 100)),
                None => "all packages".to_owned(),
            };
            if let Some(own) = own {
                if *own != url {
                    self.warnings.push(format!(
                        "the project's .npmrc takes {whose} from {}; your own .npmrc says {}, which counts",
                        shown(url.as_str()),
                        shown(own.as_str()),
                    ));
                }
                continue;
            }
            if !known.iter().any(|place| place.holds(&url.place())) {
                self.warnings.push(format!(
                    "the project's .npmrc takes {whose} from {}, which your own .npmrc does not name, so that is not followed; to follow it, put this line into your own: {}={}",
                    shown(url.host()),
                    shown_up_to(&key, 100),
                    shown(url.as_str()),
                ));
                continue;
            }
            match scope {
                Some(scope) => drop(self.scopes.insert(scope, url)),
                None => self.registry = url,
            }
        }
    }

    fn unusable(&mut self, key: &str, why: &str) {
        self.warnings.push(format!("{} of your .npmrc is not used: {why}", shown_up_to(key, 100)));
    }
}

/// `@scope:registry`, into the scope in lower case.
fn scope_of(key: &str) -> Option<String> {
    key.strip_prefix('@')?.strip_suffix(":registry").filter(|scope| !scope.is_empty()).map(str::to_lowercase)
}

/// Settings that decide where something is sent, what is trusted, or what is known to whom.
fn is_about_reaching(key: &str) -> bool {
    key.starts_with("//")
        || key.starts_with('_')
        || matches!(
            key,
            "cafile"
                | "ca"
                | "cert"
                | "key"
                | "strict-ssl"
                | "proxy"
                | "https-proxy"
                | "http-proxy"
                | "noproxy"
                | "userconfig"
                | "globalconfig"
        )
}

/// The lines `key = value` of a file, in order. Sections, lists and comments are left out, as are lines that are not
/// UTF-8.
fn pairs(file: &[u8]) -> Vec<(String, String)> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut pairs = Vec::new();
    for line in file.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
        let line = line.trim();
        // What follows a section belongs to the section, which npm does not look into.
        if line.starts_with('[') && line.ends_with(']') {
            break;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        // The key of a comment is empty.
        let (key, value) = (unquoted(key.trim()), unquoted(value.trim()));
        if !key.is_empty() && !key.ends_with("[]") && pairs.len() < MAX_SETTINGS {
            pairs.push((key, value));
        }
    }
    pairs
}

fn unquoted(text: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner.to_owned();
        }
    }
    // An unescaped comment character ends a value.
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek().is_some_and(|next| matches!(next, '\\' | ';' | '#')) => {
                out.extend(chars.next());
            }
            ';' | '#' => break,
            other => out.push(other),
        }
    }
    out.trim_end().to_owned()
}

/// `text` with `${NAME}` filled in, `${NAME?}` by nothing when unset; `None` when a variable is not set.
fn filled(text: &str, env: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, tail)) = after.split_once('}') else { break };
        out.push_str(before);
        match name.strip_suffix('?') {
            Some(optional) => out.push_str(&env(optional).unwrap_or_default()),
            None => out.push_str(&env(name)?),
        }
        rest = tail;
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests;
