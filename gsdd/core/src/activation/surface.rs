//! Which skills are installed and which are on the surface: install profile and surface file.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What profiles and clusters are made of.
#[derive(Clone, Debug, Default)]
pub struct SkillUniverse {
    /// Stem → stems that it needs.
    pub requires: BTreeMap<String, Vec<String>>,
    /// Profile → hand-written list of stems; `full` means all.
    pub base_profiles: BTreeMap<String, Vec<String>>,
    /// Cluster name → stems; hand-written clusters come last and win.
    pub clusters: BTreeMap<String, Vec<String>>,
    /// Capability id → its profiles and stems.
    pub membership: BTreeMap<String, (Vec<String>, Vec<String>)>,
}

/// The surface file of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SurfaceFile {
    /// Profile to start from.
    pub base_profile: String,
    /// Clusters or capabilities that are switched off.
    pub disabled_clusters: Vec<String>,
    /// Stems that are put on the surface.
    pub explicit_adds: Vec<String>,
    /// Stems that are taken off it.
    pub explicit_removes: Vec<String>,
}

impl SurfaceFile {
    /// Reads the document; anything but all four members with the right types counts as no file.
    #[must_use]
    pub fn parse(document: &Value) -> Option<Self> {
        let list = |member: &str| -> Option<Vec<String>> {
            Some(
                document
                    .get(member)?
                    .as_array()?
                    .iter()
                    .filter_map(Value::as_str)
                    .map(ToOwned::to_owned)
                    .collect(),
            )
        };
        Some(Self {
            base_profile: document.get("baseProfile")?.as_str()?.to_owned(),
            disabled_clusters: list("disabledClusters")?,
            explicit_adds: list("explicitAdds")?,
            explicit_removes: list("explicitRemoves")?,
        })
    }
}

/// Answer of the two questions; `None` stands for "every skill".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnabledSkills {
    installed: Option<BTreeSet<String>>,
    surfaced: BTreeSet<String>,
    all_surfaced: bool,
}

impl EnabledSkills {
    /// Resolves the profile marker (`.gsd-profile`) and the surface file.
    #[must_use]
    pub fn resolve(universe: &SkillUniverse, marker: Option<&str>, surface: Option<&SurfaceFile>) -> Self {
        let marker = marker.map(str::trim).filter(|text| is_marker(text)).unwrap_or("full");
        let installed = universe.profile(marker);
        let Some(surface) = surface else {
            let all_surfaced = installed.is_none();
            return Self { surfaced: installed.clone().unwrap_or_default(), installed, all_surfaced };
        };
        let base = if surface.base_profile.is_empty() { marker } else { &surface.base_profile };
        let mut surfaced = universe.profile(base).unwrap_or_else(|| universe.every_stem());
        for name in &surface.disabled_clusters {
            for stem in universe.clusters.get(name).into_iter().flatten() {
                surfaced.remove(stem);
            }
        }
        universe.close(&mut surfaced, &surface.explicit_adds);
        for stem in &surface.explicit_removes {
            surfaced.remove(stem);
        }
        Self { installed, surfaced, all_surfaced: false }
    }

    /// Whether all of these skills are installed.
    #[must_use]
    pub fn installed(&self, skills: &[String]) -> bool {
        self.installed.as_ref().is_none_or(|set| skills.iter().all(|stem| set.contains(stem)))
    }

    /// Whether all of these skills are on the surface.
    #[must_use]
    pub fn surfaced(&self, skills: &[String]) -> bool {
        self.all_surfaced || skills.iter().all(|stem| self.surfaced.contains(stem))
    }

    /// Whether all of these skills are installed and on the surface.
    #[must_use]
    pub fn enabled(&self, skills: &[String]) -> bool {
        self.installed(skills) && self.surfaced(skills)
    }
}

fn is_marker(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ',' | '_' | '-'))
}

impl SkillUniverse {
    /// Stems of a comma list of profiles; `None` = everything.
    fn profile(&self, names: &str) -> Option<BTreeSet<String>> {
        let known: Vec<&str> = names
            .split(',')
            .filter(|name| *name == "full" || self.base_profiles.contains_key(*name))
            .collect();
        if known.is_empty() || known.contains(&"full") {
            return None;
        }
        let mut stems = BTreeSet::new();
        for name in known {
            let base = self.base_profiles.get(name).into_iter().flatten();
            let members =
                self.membership.values().filter(|(profiles, _)| profiles.iter().any(|at| at == name));
            let wanted: Vec<String> = base.chain(members.flat_map(|(_, skills)| skills)).cloned().collect();
            self.close(&mut stems, &wanted);
        }
        Some(stems)
    }

    fn every_stem(&self) -> BTreeSet<String> {
        let owned = self.membership.values().flat_map(|(_, skills)| skills);
        self.requires.keys().chain(owned).cloned().collect()
    }

    fn close(&self, into: &mut BTreeSet<String>, wanted: &[String]) {
        let mut open: Vec<String> = wanted.to_vec();
        while let Some(stem) = open.pop() {
            if into.insert(stem.clone()) {
                open.extend(self.requires.get(&stem).into_iter().flatten().cloned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn universe() -> SkillUniverse {
        let list = |stems: &[&str]| stems.iter().map(|stem| (*stem).to_owned()).collect::<Vec<_>>();
        SkillUniverse {
            requires: BTreeMap::from([("helm".into(), list(&["log"])), ("log".into(), vec![])]),
            base_profiles: BTreeMap::from([("core".into(), list(&["helm"]))]),
            clusters: BTreeMap::from([("acme".into(), list(&["plan", "ask"]))]),
            membership: BTreeMap::from([("acme".into(), (list(&["full"]), list(&["plan", "ask"])))]),
        }
    }

    fn skills(stems: &[&str]) -> Vec<String> {
        stems.iter().map(|stem| (*stem).to_owned()).collect()
    }

    #[test]
    fn nothing_said_means_everything() {
        for marker in [None, Some("full"), Some("core, standard"), Some("nonsense")] {
            assert!(
                EnabledSkills::resolve(&universe(), marker, None).enabled(&skills(&["plan", "x"])),
                "{marker:?}"
            );
        }
    }

    #[test]
    fn a_profile_is_closed_under_requires() {
        let core = EnabledSkills::resolve(&universe(), Some("core"), None);
        assert!(core.enabled(&skills(&["helm", "log"])));
        assert!(!core.enabled(&skills(&["plan"])));
        assert!(core.enabled(&[]));
    }

    #[test]
    fn a_disabled_cluster_leaves_the_surface_only() {
        let surface = SurfaceFile {
            base_profile: "full".into(),
            disabled_clusters: skills(&["acme"]),
            ..SurfaceFile::default()
        };
        let state = EnabledSkills::resolve(&universe(), None, Some(&surface));
        assert!(state.installed(&skills(&["plan"])) && !state.surfaced(&skills(&["plan"])));
        let added = SurfaceFile { explicit_adds: skills(&["plan"]), ..surface };
        let state = EnabledSkills::resolve(&universe(), None, Some(&added));
        assert!(state.surfaced(&skills(&["plan"])) && !state.surfaced(&skills(&["ask"])));
    }
}
