//! Where a host keeps its configuration.
//!
//! Source: ADR-1016 D1 and its amendment on `probeExists`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How the folder is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigHomeKind {
    /// A folder of the home directory.
    DotHome,
    /// A folder inside a folder of the home directory.
    DotHomeNested,
    /// Below the XDG configuration folder.
    Xdg,
    /// The first of several shared folders that carries a marker.
    GenericAgentsRoot,
    /// The host has none.
    #[default]
    None,
}

/// The `configHome` axis of a descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigHome {
    /// How the folder is found.
    pub kind: ConfigHomeKind,
    /// Name of the folder, as it is on disk.
    #[serde(default)]
    pub name: String,
    /// Folder around it, for [`ConfigHomeKind::DotHomeNested`].
    #[serde(default)]
    pub parent: Option<String>,
    /// Environment variables that move it, in order.
    #[serde(default)]
    pub env: Vec<String>,
    /// Candidates, in order.
    #[serde(default)]
    pub probe: Vec<String>,
    /// What marks the right candidate.
    #[serde(default)]
    pub probe_exists: Option<String>,
    /// Another place for skills.
    #[serde(default)]
    pub skills_home: Option<Box<ConfigHome>>,
}

/// Facts about the person's machine that resolution needs.
pub struct PathFacts<'a> {
    /// The person's home directory, absolute.
    pub home: &'a str,
    /// The environment of the request.
    pub env: &'a BTreeMap<String, String>,
    /// Whether a path exists.
    pub exists: &'a dyn Fn(&str) -> bool,
}

/// The host has no configuration folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this host has no configuration folder")]
pub struct NoConfigHome;

impl ConfigHome {
    /// The folder, as text; in values of variables a leading `~` or `~/` is the home directory, nothing else is
    /// replaced.
    ///
    /// # Errors
    /// [`NoConfigHome`] for hosts of kind `none`.
    pub fn resolve(&self, facts: &PathFacts<'_>) -> Result<String, NoConfigHome> {
        let set = |name: &String| facts.env.get(name).filter(|value| !value.trim().is_empty());
        match self.kind {
            ConfigHomeKind::DotHome => Ok(match self.env.iter().find_map(set) {
                Some(value) => expanded(value, facts.home),
                None => join(facts.home, &self.name),
            }),
            ConfigHomeKind::DotHomeNested => Ok(match self.env.first().and_then(set) {
                Some(value) => expanded(value, facts.home),
                None => self.probed_nested(facts),
            }),
            ConfigHomeKind::Xdg => Ok(self.resolve_xdg(facts)),
            ConfigHomeKind::GenericAgentsRoot => Ok(match self.env.first().and_then(set) {
                Some(value) => expanded(value, facts.home),
                None => self.probed_marker(facts),
            }),
            ConfigHomeKind::None => Err(NoConfigHome),
        }
    }

    /// The environment variable that moved the folder, when one did.
    #[must_use]
    pub fn moved_by(&self, facts: &PathFacts<'_>) -> Option<&str> {
        self.env
            .iter()
            .map(String::as_str)
            .find(|name| facts.env.get(*name).is_some_and(|value| !value.trim().is_empty()))
    }

    /// Every environment variable that has a say in where the folders of the host are.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let skills = self.skills_home.iter().flat_map(|home| &home.env);
        self.env.iter().chain(skills).map(String::as_str)
    }

    fn probed_nested(&self, facts: &PathFacts<'_>) -> String {
        let parent = join(facts.home, self.parent.as_deref().unwrap_or_default());
        let candidates: Vec<String> = self.probe.iter().map(|name| join(&parent, name)).collect();
        let marked = self
            .probe_exists
            .as_ref()
            .and_then(|marker| candidates.iter().find(|candidate| (facts.exists)(&join(candidate, marker))));
        marked
            .or_else(|| candidates.iter().find(|candidate| (facts.exists)(candidate)))
            .or_else(|| candidates.first())
            .cloned()
            .unwrap_or_else(|| join(&parent, &self.name))
    }

    fn resolve_xdg(&self, facts: &PathFacts<'_>) -> String {
        let value = |at: usize| {
            self.env.get(at).and_then(|name| facts.env.get(name)).filter(|value| !value.trim().is_empty())
        };
        if let Some(folder) = value(0) {
            return expanded(folder, facts.home);
        }
        if let Some(file) = value(1) {
            return folder_of(&expanded(file, facts.home));
        }
        value(2).map_or_else(
            || join(&join(facts.home, ".config"), &self.name),
            |base| join(&expanded(base, facts.home), &self.name),
        )
    }

    fn probed_marker(&self, facts: &PathFacts<'_>) -> String {
        let expand = |raw: &String| match raw.strip_prefix("~/") {
            Some(rest) => join(facts.home, rest),
            None => raw.clone(),
        };
        let candidates: Vec<String> = self.probe.iter().map(expand).collect();
        let marker = self.probe_exists.as_deref().unwrap_or_default();
        candidates
            .iter()
            .find(|candidate| (facts.exists)(&join(candidate, marker)))
            .or_else(|| candidates.first())
            .cloned()
            .unwrap_or_else(|| join(facts.home, &self.name))
    }
}

fn expanded(value: &str, home: &str) -> String {
    match value.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", home.trim_end_matches('/'))
        }
        _ => value.to_owned(),
    }
}

/// The folder that a file lies in; slashes at the end do not count.
fn folder_of(file: &str) -> String {
    let trimmed = file.trim_end_matches('/');
    match trimmed.rfind('/') {
        Some(0) => "/".to_owned(),
        Some(slash) => trimmed[..slash].to_owned(),
        None if trimmed.is_empty() && !file.is_empty() => "/".to_owned(),
        None => ".".to_owned(),
    }
}

fn join(base: &str, rest: &str) -> String {
    if rest.is_empty() {
        base.to_owned()
    } else if base.ends_with('/') {
        format!("{base}{rest}")
    } else {
        format!("{base}/{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(home: &str, env: &[(&str, &str)], exists: &[&str]) -> String {
        let descriptor: ConfigHome = serde_json::from_str(home).unwrap();
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let facts = PathFacts { home: "/home/ada", env: &env, exists: &|path| exists.contains(&path) };
        descriptor.resolve(&facts).unwrap()
    }

    #[test]
    fn blank_variables_count_as_unset() {
        let dot = r#"{"kind":"dot-home","name":".x","env":["X_HOME"]}"#;
        assert_eq!(resolve(dot, &[], &[]), "/home/ada/.x");
        assert_eq!(resolve(dot, &[("X_HOME", "  ")], &[]), "/home/ada/.x");
        assert_eq!(resolve(dot, &[("X_HOME", "/srv/x")], &[]), "/srv/x");
    }

    #[test]
    fn a_marker_beats_bare_existence() {
        let nested = r#"{"kind":"dot-home-nested","name":"n","parent":".p","env":[],"probe":["a","b"],"probeExists":"V"}"#;
        assert_eq!(resolve(nested, &[], &[]), "/home/ada/.p/a");
        assert_eq!(resolve(nested, &[], &["/home/ada/.p/b"]), "/home/ada/.p/b");
        assert_eq!(resolve(nested, &[], &["/home/ada/.p/a", "/home/ada/.p/b/V"]), "/home/ada/.p/b");
    }

    #[test]
    fn the_second_xdg_variable_names_a_file() {
        let xdg = r#"{"kind":"xdg","name":"o","env":["D","F","B"]}"#;
        assert_eq!(resolve(xdg, &[], &[]), "/home/ada/.config/o");
        assert_eq!(resolve(xdg, &[("F", "/a/o.json")], &[]), "/a");
        assert_eq!(resolve(xdg, &[("F", "o.json")], &[]), ".");
        assert_eq!(resolve(xdg, &[("B", "/base")], &[]), "/base/o");
    }
}
