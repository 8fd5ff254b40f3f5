//! The one key of the person's configuration file that the client itself must know: what a hook answers when nobody
//! can be asked.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use crate::connect::Surroundings;

/// `hooks.when_unavailable`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WhenUnavailable {
    /// The call passes, with one line on standard error.
    #[default]
    Pass,
    /// The call is examined by a private process; blocked when that fails too.
    Examine,
}

/// Reads the key; any other value than `"ask"` or `"deny"` is the default.
pub(crate) fn when_unavailable(surroundings: &Surroundings) -> WhenUnavailable {
    let Some(text) = read(surroundings) else { return WhenUnavailable::Pass };
    parse(&text)
}

fn read(surroundings: &Surroundings) -> Option<String> {
    let path = match std::env::var_os("GSD_CONFIG") {
        Some(path) => surroundings.cwd.join(path),
        None => std::env::var_os(if cfg!(windows) { "APPDATA" } else { "XDG_CONFIG_HOME" })
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
            .unwrap_or_else(|| {
                let folder = if cfg!(windows) { "AppData/Roaming" } else { ".config" };
                surroundings.places.home.join(folder)
            })
            .join("gsd")
            .join("config.toml"),
    };
    let file =
        File::open(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    let mut text = String::new();
    file.take(1024 * 1024).read_to_string(&mut text).ok()?;
    Some(text)
}

fn parse(text: &str) -> WhenUnavailable {
    let mut table = String::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.trim().clone_into(&mut table);
        } else if let Some((key, value)) = line.split_once('=') {
            let key = key.trim();
            let ours = (table == "hooks" && key == "when_unavailable")
                || (table.is_empty() && key == "hooks.when_unavailable");
            if ours && matches!(value.trim().trim_matches(['"', '\'']), "ask" | "deny") {
                return WhenUnavailable::Examine;
            }
        }
    }
    WhenUnavailable::Pass
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_the_key() {
        assert_eq!(parse("[hooks]\nwhen_unavailable = \"deny\" # strict\n"), WhenUnavailable::Examine);
        assert_eq!(parse("hooks.when_unavailable = 'ask'\n"), WhenUnavailable::Examine);
        for other in ["", "[other]\nwhen_unavailable = \"deny\"\n", "[hooks]\nwhen_unavailable = \"pass\"\n"]
        {
            assert_eq!(parse(other), WhenUnavailable::Pass, "{other:?}");
        }
    }
}
