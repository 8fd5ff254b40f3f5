//! Keys of the managed settings of a host, for organisations that have written them already.
//!
//! A key is honoured where it means the same here. One that restricts something and has no equal is a restriction that
//! we would silently not keep, so it closes what comes closest to it.

use toml::de::{DeTable, DeValue};

use super::{Item, Key, MAX_ENTRIES, Matcher, Reader, Says, SurfaceClass};
use crate::text::shown_up_to;

/// What an entry of a list of marketplaces is here.
enum Entry {
    Fits(Matcher),
    NoEqual(String),
    Wrong,
}

impl Reader<'_> {
    /// Reads one; `false` when it is none.
    pub(super) fn managed_setting(&mut self, name: &str, value: &Item<'_>) -> bool {
        let at = value.span().start;
        match name {
            "strictKnownMarketplaces" => self.marketplaces(Key::StrictKnownMarketplaces, value, Says::Allow),
            "blockedMarketplaces" => self.marketplaces(Key::BlockedMarketplaces, value, Says::Deny),
            "allowManagedHooksOnly" => self.no_hooks(Key::AllowManagedHooksOnly, value),
            "disableAllHooks" => self.no_hooks(Key::DisableAllHooks, value),
            "allowManagedMcpServersOnly" => self.no_equal(Key::AllowManagedMcpServersOnly, value),
            "allowedMcpServers" => self.no_equal(Key::AllowedMcpServers, value),
            "deniedMcpServers" => self.no_equal(Key::DeniedMcpServers, value),
            "strictPluginOnlyCustomization" => self.no_equal(Key::StrictPluginOnlyCustomization, value),
            "disableBypassPermissionsMode" => self.no_equal(Key::DisableBypassPermissionsMode, value),
            "allowManagedPermissionRulesOnly" => self.no_equal(Key::AllowManagedPermissionRulesOnly, value),
            // There the key lies in a table.
            "permissions" => {
                let table = value.get_ref().as_table();
                let inner = table.and_then(|table| table.get("disableBypassPermissionsMode"));
                match inner {
                    Some(inner) => self.no_equal(Key::DisableBypassPermissionsMode, inner),
                    None => self.unknown(name, at, "permissions of a host's tools are the host's"),
                }
            }
            _ => return false,
        }
        true
    }

    fn no_hooks(&mut self, key: Key, value: &Item<'_>) {
        let classes = |on: bool| Says::Forbid(if on { vec![SurfaceClass::Hooks] } else { Vec::new() });
        self.switch(key, value, classes);
    }

    fn no_equal(&mut self, key: Key, value: &Item<'_>) {
        // Said, and restricting nothing.
        if value.get_ref().as_bool() == Some(false) {
            return;
        }
        let what = format!("`{}` is not understood here, so what comes closest to it is closed", key.name());
        self.close(key, value.span().start, what);
    }

    fn marketplaces(&mut self, key: Key, value: &Item<'_>, says: impl Fn(Vec<Matcher>) -> Says) {
        const MUST_BE: &str = "a list of tables such as {source = \"github\", repo = \"acme/capabilities\"}";
        let Some(items) = value.get_ref().as_array().filter(|items| items.len() <= MAX_ENTRIES) else {
            self.wrong(key, value.span().start, MUST_BE);
            return;
        };
        let mut entries = Vec::with_capacity(items.len());
        let mut closed = false;
        for item in items {
            match item.get_ref().as_table().map_or(Entry::Wrong, entry) {
                Entry::Fits(matcher) => entries.push(matcher),
                // An entry that allows nothing is on the safe side; one that denies nothing is not.
                Entry::NoEqual(text) if key == Key::StrictKnownMarketplaces => {
                    let told = format!("{}: {text}", key.name());
                    self.unknown(&told, item.span().start, "it is not understood here, so it allows nothing");
                    entries.push(Matcher::NotUnderstood(text));
                }
                Entry::NoEqual(text) => {
                    closed = true;
                    let what = format!("`{}` has an entry that is not understood here: {text}", key.name());
                    self.close(key, item.span().start, what);
                }
                Entry::Wrong => {
                    closed = true;
                    self.wrong(key, item.span().start, MUST_BE);
                }
            }
        }
        if !closed {
            self.say(key, value.span().start, says(entries));
        }
    }
}

fn entry(table: &DeTable<'_>) -> Entry {
    let text = |name: &str| table.get(name).and_then(|value| value.get_ref().as_str());
    let Some(source) = text("source") else { return Entry::Wrong };
    // A folder inside of a repository, headers, and whatever comes later.
    let extra = table.iter().find(|(name, _)| {
        let known: &[&str] = match source {
            "github" => &["source", "repo", "ref"],
            "git" => &["source", "url", "ref"],
            "url" => &["source", "url"],
            "npm" => &["source", "package"],
            "hostPattern" => &["source", "hostPattern"],
            _ => &["source"],
        };
        !known.contains(&&**name.get_ref())
    });
    let no_equal = || Entry::NoEqual(described(table));
    if extra.is_some() {
        return no_equal();
    }
    let reference = match table.get("ref") {
        None => None,
        Some(value) => match value.get_ref().as_str() {
            Some(name) => Some(name),
            None => return Entry::Wrong,
        },
    };
    let matcher = match source {
        "github" => match text("repo") {
            Some(repo) if repo.split('/').count() == 2 => {
                Matcher::only_repository(&format!("git+https://github.com/{repo}"), reference)
            }
            _ => return Entry::Wrong,
        },
        "git" => match text("url") {
            Some(url) => Matcher::only_repository(url, reference)
                .or_else(|| Matcher::only_repository(&format!("git+{url}"), reference)),
            None => return Entry::Wrong,
        },
        "url" => match text("url") {
            Some(url) => Matcher::only_url(url),
            None => return Entry::Wrong,
        },
        "npm" => match text("package") {
            Some(package) => Matcher::parse(&format!("npm:{package}")),
            None => return Entry::Wrong,
        },
        "hostPattern" => match text("hostPattern") {
            Some(pattern) => Matcher::host_pattern(pattern),
            None => return Entry::Wrong,
        },
        _ => None,
    };
    matcher.map_or_else(no_equal, Entry::Fits)
}

/// The entry as it may be repeated.
fn described(table: &DeTable<'_>) -> String {
    let member = |(name, value): (&toml::Spanned<toml::de::DeString<'_>>, &Item<'_>)| {
        let value = match value.get_ref() {
            DeValue::String(text) => shown_up_to(text, 60),
            _ => "…".to_owned(),
        };
        format!("{} = {value}", shown_up_to(name.get_ref(), 30))
    };
    table.iter().take(4).map(member).collect::<Vec<_>>().join(", ")
}
