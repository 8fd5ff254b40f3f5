//! Switching a capability on and off, and setting its switches: what would be written, judged before anything is.
//!
//! Source: ADR-1244 D7 (`set`, `enable`, `disable`); loop rules, section 8, oddities L7 and L9.

use serde_json::{Value, json};

use super::surface::SurfaceFile;
use crate::manifest::Manifest;
use crate::text::shown;

/// What a person wants of one capability.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchWish {
    /// On or off; `None` leaves it.
    pub on: Option<bool>,
    /// Boolean configuration keys of the capability and their values.
    pub gates: Vec<(String, bool)>,
}

/// What is so now.
#[derive(Clone, Copy, Debug)]
pub struct SwitchFacts<'f> {
    /// The surface file, when there is a usable one.
    pub surface: Option<&'f SurfaceFile>,
    /// The install profile marker, trimmed.
    pub marker: Option<&'f str>,
    /// Whether all skills of the capability are installed.
    pub installed: bool,
    /// Whether the configuration file that switches are written to can be edited.
    pub config_is_usable: bool,
}

/// What would be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switch {
    /// The surface file afterwards; `None` = it stays.
    pub surface: Option<SurfaceFile>,
    /// Configuration keys to set.
    pub gates: Vec<(String, bool)>,
    /// What did not stop it.
    pub warnings: Vec<String>,
}

/// Judges a wish. Nothing is written when there is an objection; all of them are named.
///
/// # Errors
/// The objections.
pub fn plan_switch(
    manifest: &Manifest,
    wish: &SwitchWish,
    facts: &SwitchFacts<'_>,
) -> Result<Switch, Vec<String>> {
    let id = &manifest.id;
    let mut objections = Vec::new();
    let mut switch = Switch { gates: wish.gates.clone(), ..Switch::default() };
    for (key, _) in &wish.gates {
        if !manifest.config.iter().any(|(known, _)| known == key) {
            objections.push(format!("{} is no configuration key of {id}", shown(key)));
        }
    }
    if !wish.gates.is_empty() && !facts.config_is_usable {
        objections.push("the configuration file does not parse, so nothing can be set in it".to_owned());
    }
    match (wish.on, manifest.skills.is_empty()) {
        (None, _) => {}
        // Upstream warns, writes nothing and fails afterwards; here the answer comes first.
        (Some(false), true) => {
            objections.push(format!("{id} has no skills, and only skills can be taken off the surface"));
        }
        (Some(true), true) => {
            switch.warnings.push(format!("{id} has no skills, so there is nothing to put on the surface"));
        }
        (Some(true), false) if !facts.installed => {
            objections.push(format!("{id} is not part of the install profile, so it can't be switched on"));
        }
        (Some(on), false) => switch.surface = surface_with(manifest, on, facts),
    }
    if objections.is_empty() { Ok(switch) } else { Err(objections) }
}

fn surface_with(manifest: &Manifest, on: bool, facts: &SwitchFacts<'_>) -> Option<SurfaceFile> {
    let id = manifest.id.as_str();
    let fresh = || SurfaceFile {
        base_profile: facts.marker.filter(|marker| !marker.is_empty()).unwrap_or("full").to_owned(),
        ..SurfaceFile::default()
    };
    let before = facts.surface.cloned().unwrap_or_else(fresh);
    let mut after = before.clone();
    let foreign = |stem: &String| !manifest.skills.contains(stem);
    after.disabled_clusters.retain(|name| name != id);
    if on {
        after.explicit_removes.retain(foreign);
    } else {
        match before.disabled_clusters.iter().any(|name| name == id) {
            true => after.disabled_clusters.clone_from(&before.disabled_clusters),
            false => after.disabled_clusters.push(id.to_owned()),
        }
        after.explicit_adds.retain(foreign);
    }
    (after != before).then_some(after)
}

impl SurfaceFile {
    /// The file as upstream writes it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let document: Value = json!({
            "baseProfile": self.base_profile,
            "disabledClusters": self.disabled_clusters,
            "explicitAdds": self.explicit_adds,
            "explicitRemoves": self.explicit_removes,
        });
        let mut bytes = serde_json::to_vec_pretty(&document).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}
