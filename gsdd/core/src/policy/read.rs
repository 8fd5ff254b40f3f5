//! From the text of a policy file to rules. Every problem is a rule that closes a door, so nothing that somebody wrote
//! is lost.

mod managed_settings;

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::{Door, Key};
use super::matcher::Matcher;
use super::place::{Layer, Place};
use super::rule::{Rule, Says};
use super::surface_class::SurfaceClass;
use crate::ids::CapabilityId;
use crate::json;
use crate::source::network::{MAX_PRIVATE_HOSTS, PrivateHost};
use crate::source::policy::{ConfigFile, KnownRegistries, POLICY_KEY};
use crate::text::{shown, shown_up_to};
use crate::trust::VerificationLevel;

/// Most entries of one list.
pub const MAX_ENTRIES: usize = 1024;
/// Keys that are told although they say nothing.
const MAX_UNKNOWN: usize = 50;

/// A policy file as the shell found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileText<'b> {
    /// There is none.
    Absent,
    /// There is something that can't be read, for this reason.
    Unreadable(String),
    /// Its content.
    Bytes(&'b [u8]),
}

/// What one file says.
#[derive(Clone, Debug, Default)]
pub struct LayerRules {
    /// The rules.
    pub rules: Vec<Rule>,
    /// Keys that say nothing here.
    pub unknown: Vec<Unknown>,
}

/// A key that says nothing here.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// The key, with dots; cleaned.
    pub key: String,
    /// Where it stands.
    pub place: Place,
    /// Why it says nothing.
    pub why: &'static str,
}

/// Reads a policy file: the machine's and the person's as a whole, of a project's the table `policy`.
#[must_use]
pub fn read_layer(layer: Layer, file: &Path, text: &FileText<'_>) -> LayerRules {
    let mut reader = Reader { layer, file: file.to_owned(), text: "", found: LayerRules::default() };
    match text {
        FileText::Absent => {}
        FileText::Unreadable(why) => reader.close_file(None, why),
        FileText::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Err(_) => reader.close_file(None, "it is not UTF-8 text"),
            Ok(text) => {
                reader.text = text;
                match DeTable::parse(text) {
                    Ok(root) => reader.root(root.get_ref()),
                    Err(error) => {
                        let why = error.message().lines().next().unwrap_or("it is not TOML");
                        reader.close_file(Some(error.span().map_or(0, |span| span.start)), why);
                    }
                }
            }
        },
    }
    reader.found
}

/// Reads upstream's list out of the configuration of a project.
#[must_use]
pub fn read_known_registries(file: &Path, config: ConfigFile<'_>) -> LayerRules {
    let known = KnownRegistries::from_project_config(config);
    if known == KnownRegistries::Open {
        return LayerRules::default();
    }
    let line = match config {
        ConfigFile::Bytes(bytes) => std::str::from_utf8(bytes).ok().and_then(|text| {
            let places = json::locate_all(text, &["/capabilities/strict_known_registries", "/capabilities"]);
            places.into_iter().flatten().next().map(|(line, _)| line)
        }),
        ConfigFile::Absent | ConfigFile::Unreadable => None,
    };
    let place = Place { layer: Layer::Project, file: file.to_owned(), line };
    let rule = Rule { key: Key::KnownRegistries, place, says: Says::KnownRegistries(known) };
    debug_assert_eq!(rule.key.name(), POLICY_KEY);
    LayerRules { rules: vec![rule], unknown: Vec::new() }
}

type Item<'t> = Spanned<DeValue<'t>>;

struct Reader<'t> {
    layer: Layer,
    file: PathBuf,
    text: &'t str,
    found: LayerRules,
}

impl Reader<'_> {
    fn root(&mut self, root: &DeTable<'_>) {
        match self.layer {
            Layer::Machine | Layer::User => self.table(root),
            // The rest of that file is not about policy.
            Layer::Project => match root.get("policy") {
                None => {}
                Some(policy) => match policy.get_ref().as_table() {
                    Some(table) => self.table(table),
                    None => self.close_file(Some(policy.span().start), "`policy` must be a table"),
                },
            },
        }
    }

    fn table(&mut self, root: &DeTable<'_>) {
        for (name, value) in root {
            let at = name.span().start;
            match &**name.get_ref() {
                "sources" => self.section(name.get_ref(), value, Key::SourcesAllow, |reader, key, value| {
                    match key {
                        "allow" => reader.sources(Key::SourcesAllow, value, Says::Allow),
                        "deny" => reader.sources(Key::SourcesDeny, value, Says::Deny),
                        "require_commit" => reader.switch(Key::RequireCommit, value, Says::RequireCommit),
                        "min_level" => reader.level(value),
                        _ => return false,
                    }
                    true
                }),
                "consent" => self.section(name.get_ref(), value, Key::ConsentYes, |reader, key, value| {
                    key == "yes" && {
                        reader.switch(Key::ConsentYes, value, Says::Blanket);
                        true
                    }
                }),
                "update" => self.section(name.get_ref(), value, Key::UpdateAuto, |reader, key, value| {
                    key == "auto" && {
                        reader.switch(Key::UpdateAuto, value, Says::Unattended);
                        true
                    }
                }),
                "executable" => {
                    self.section(name.get_ref(), value, Key::ExecutableForbid, |reader, key, value| {
                        key == "forbid" && {
                            reader.classes(value);
                            true
                        }
                    });
                }
                "network" if self.layer == Layer::Project => {
                    self.unknown(name.get_ref(), at, "a project can't say what may be reached");
                }
                "network" => self.section(name.get_ref(), value, Key::PrivateHosts, |reader, key, value| {
                    key == "private_hosts" && {
                        reader.private_hosts(value);
                        true
                    }
                }),
                "required" => self.required(value),
                other => {
                    if !self.managed_setting(other, value) {
                        self.unknown(other, at, NO_SUCH_KEY);
                    }
                }
            }
        }
    }

    /// Reads the keys of a table; `take` says which of them it knows.
    fn section(
        &mut self,
        name: &str,
        value: &Item<'_>,
        first: Key,
        take: impl Fn(&mut Self, &str, &Item<'_>) -> bool,
    ) {
        let Some(table) = value.get_ref().as_table() else {
            let what = format!("`{name}` must be a table");
            self.close(first, value.span().start, what);
            return;
        };
        for (key, value) in table {
            if !take(self, key.get_ref(), value) {
                self.unknown(&format!("{name}.{}", key.get_ref()), key.span().start, NO_SUCH_KEY);
            }
        }
    }

    fn place(&self, at: usize) -> Place {
        let breaks = self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
        let line = u32::try_from(breaks).unwrap_or(u32::MAX).saturating_add(1);
        Place { layer: self.layer, file: self.file.clone(), line: Some(line) }
    }

    fn say(&mut self, key: Key, at: usize, says: Says) {
        let place = self.place(at);
        self.found.rules.push(Rule { key, place, says });
    }

    fn close(&mut self, key: Key, at: usize, what: String) {
        self.say(key, at, Says::Unusable { what, door: key.door() });
    }

    fn wrong(&mut self, key: Key, at: usize, must_be: &str) {
        self.close(key, at, format!("`{}` must be {must_be}", key.name()));
    }

    fn close_file(&mut self, at: Option<usize>, why: &str) {
        let what = format!("this file can't be used: {}", shown(why));
        let line = at.and_then(|at| self.place(at).line);
        let place = Place { layer: self.layer, file: self.file.clone(), line };
        let says = Says::Unusable { what, door: Door::File };
        self.found.rules.push(Rule { key: Key::File, place, says });
    }

    fn unknown(&mut self, key: &str, at: usize, why: &'static str) {
        if self.found.unknown.len() < MAX_UNKNOWN {
            let place = self.place(at);
            self.found.unknown.push(Unknown { key: shown_up_to(key, 100), place, why });
        }
    }

    fn switch(&mut self, key: Key, value: &Item<'_>, says: impl Fn(bool) -> Says) {
        match value.get_ref().as_bool() {
            Some(on) => self.say(key, value.span().start, says(on)),
            None => self.wrong(key, value.span().start, "true or false"),
        }
    }

    fn level(&mut self, value: &Item<'_>) {
        match value.get_ref().as_str().and_then(VerificationLevel::parse) {
            Some(level) => self.say(Key::MinLevel, value.span().start, Says::MinLevel(level)),
            None => {
                let names = VerificationLevel::ALL.map(VerificationLevel::name).join(", ");
                self.wrong(Key::MinLevel, value.span().start, &format!("one of {names}"));
            }
        }
    }

    /// A list whose items are read one by one; the first that can't be read closes the door.
    fn list<T>(
        &mut self,
        key: Key,
        value: &Item<'_>,
        must_be: &str,
        item: impl Fn(&str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(key, value.span().start, must_be);
            return None;
        };
        if items.len() > MAX_ENTRIES {
            self.close(
                key,
                value.span().start,
                format!("`{}` has more than {MAX_ENTRIES} entries", key.name()),
            );
            return None;
        }
        let mut read = Vec::with_capacity(items.len());
        let mut wrong = false;
        // Every one that is wrong is told.
        for found in items {
            match found.get_ref().as_str().and_then(&item) {
                Some(item) => read.push(item),
                None => {
                    wrong = true;
                    let which = found.get_ref().as_str().map_or(String::new(), |text| {
                        format!("; `{}` is not one of them", shown_up_to(text, 80))
                    });
                    self.wrong(key, found.span().start, &format!("{must_be}{which}"));
                }
            }
        }
        (!wrong).then_some(read)
    }

    fn sources(&mut self, key: Key, value: &Item<'_>, says: impl Fn(Vec<Matcher>) -> Says) {
        const MUST_BE: &str = "a list of entries such as \"host:forge.example\", \"repository:forge.example/acme\" and \"kind:local\"";
        if let Some(entries) = self.list(key, value, MUST_BE, Matcher::parse) {
            self.say(key, value.span().start, says(entries));
        }
    }

    fn classes(&mut self, value: &Item<'_>) {
        let key = Key::ExecutableForbid;
        let names = SurfaceClass::ALL.map(SurfaceClass::name).join(", ");
        if let Some(classes) = self.list(key, value, &format!("a list of {names}"), SurfaceClass::parse) {
            self.say(key, value.span().start, Says::Forbid(classes));
        }
    }

    fn required(&mut self, value: &Item<'_>) {
        let id = |text: &str| CapabilityId::parse(text).ok();
        if let Some(ids) = self.list(Key::Required, value, "a list of ids of capabilities", id) {
            self.say(Key::Required, value.span().start, Says::Required(ids));
        }
    }

    fn private_hosts(&mut self, value: &Item<'_>) {
        const MUST_BE: &str = "a list of texts such as \"forge.corp.example\" or \"localhost:8443\"";
        const _: () = assert!(MAX_PRIVATE_HOSTS == MAX_ENTRIES, "one bound for every list");
        if let Some(hosts) = self.list(Key::PrivateHosts, value, MUST_BE, PrivateHost::parse) {
            self.say(Key::PrivateHosts, value.span().start, Says::PrivateHosts(hosts));
        }
    }
}

const NO_SUCH_KEY: &str = "there is no such key";
