//! What a fetch takes over from the person's own git configuration (D-15).

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use crate::source::Caller;

/// What is taken over from the person's configuration.
#[derive(Default)]
pub(super) struct PersonalSettings {
    pub(super) pairs: Vec<(String, String)>,
    /// Schemes that an `insteadOf` of theirs may lead to.
    pub(super) schemes: Vec<&'static str>,
    /// What an `insteadOf` of theirs makes of the URL; git takes the longest one.
    pub(super) rewritten: Option<String>,
}

/// Reads the keys that a fetch may need from the person's own configuration.
pub(super) fn settings_of(caller: &Caller<'_>, url: &str) -> PersonalSettings {
    let mut command = Command::new("git");
    command.env_clear().args(["config", "--global", "--includes", "--list", "-z"]).stdin(Stdio::null());
    for name in ["PATH", "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"] {
        if let Some(value) = caller.ctx.env.get(name) {
            command.env(name, value);
        }
    }
    command.current_dir(&caller.workspace);
    let Ok(output) = command.output() else { return PersonalSettings::default() };
    let mut settings = PersonalSettings::default();
    let mut taken = BTreeMap::new();
    let mut longest = 0;
    for entry in output.stdout.split(|byte| *byte == 0) {
        let entry = String::from_utf8_lossy(entry);
        let Some((key, value)) = entry.split_once('\n') else { continue };
        if !is_personal(key) {
            continue;
        }
        if let Some(base) = key.strip_prefix("url.").and_then(|key| key.strip_suffix(".insteadof"))
            && let Some(rest) = url.strip_prefix(value)
        {
            if settings.rewritten.is_none() || value.len() > longest {
                longest = value.len();
                settings.rewritten = Some(format!("{base}{rest}"));
            }
            settings.schemes.extend(
                ["file", "http", "git"].into_iter().find(|scheme| base.starts_with(&format!("{scheme}://"))),
            );
        }
        *taken.entry(key.to_owned()).or_insert(0) += 1;
        settings.pairs.push((key.to_owned(), value.to_owned()));
    }
    if !taken.is_empty() {
        tracing::info!(keys = ?taken.keys().collect::<Vec<_>>(), "settings taken over from the person's git configuration");
    }
    settings
}

/// Keys that change how a host is reached, never what is done with the content.
fn is_personal(key: &str) -> bool {
    (key.starts_with("url.") && key.ends_with(".insteadof"))
        || key.starts_with("http.")
        || key.starts_with("credential.")
        || key == "core.sshcommand"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_about_reaching_a_host_are_taken_over() {
        for key in ["url.file:///x/.insteadof", "http.proxy", "credential.helper", "core.sshcommand"] {
            assert!(is_personal(key), "{key}");
        }
        for key in ["core.hookspath", "filter.lfs.smudge", "alias.x", "init.templatedir", "core.fsmonitor"] {
            assert!(!is_personal(key), "{key}");
        }
    }
}
