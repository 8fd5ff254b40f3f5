//! `EVENT --host RUNTIME`, read by hand: an argument parser costs a third of a millisecond's budget.

use std::ffi::OsString;

/// What a host asks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// `EVENT --host RUNTIME`: everything that applies.
    Event(Wanted),
    /// `exec ID SCRIPT`: one hook, from a shared file.
    Script(Script),
}

/// One hook of a shared file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) id: String,
    pub(super) script: String,
}

/// An event of a host.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) event: String,
    pub(super) host: String,
}

/// Whether a command line is the hot form of `gsdctl hook`, and not one of its verbs for people.
pub(crate) fn is_hot(mut words: impl Iterator<Item = OsString>) -> bool {
    words.next().is_some_and(|word| word == "hook")
        && words.next().is_some_and(|word| {
            !matches!(word.to_str(), None | Some("list" | "test" | "help"))
                && !word.as_encoded_bytes().starts_with(b"-")
        })
}

/// Reads the words behind `hook`.
pub(super) fn parse(words: impl Iterator<Item = OsString>) -> Result<Asked, &'static str> {
    let mut words = words.peekable();
    if words.next_if(|word| word == "exec").is_none() {
        return event(words).map(Asked::Event);
    }
    let mut word = || words.next().map(|word| word.into_string().map_err(|_| "an argument is not UTF-8"));
    let script = match (word(), word(), word()) {
        (Some(id), Some(script), None) => Script { id: id?, script: script? },
        _ => return Err("`exec` takes an id and a script"),
    };
    Ok(Asked::Script(script))
}

fn event(words: impl Iterator<Item = OsString>) -> Result<Wanted, &'static str> {
    let mut event = None;
    let mut host = None;
    let mut words = words.map(|word| word.into_string().map_err(|_| "an argument is not UTF-8"));
    while let Some(word) = words.next() {
        let word = word?;
        let value = if word == "--host" {
            Some(words.next().ok_or("--host needs a value")??)
        } else {
            word.strip_prefix("--host=").map(ToOwned::to_owned)
        };
        match value {
            Some(_) if host.is_some() => return Err("--host is given twice"),
            Some(value) => host = Some(value),
            None if word.starts_with('-') => return Err("unknown flag"),
            None if event.is_some() => return Err("more than one event"),
            None => event = Some(word),
        }
    }
    Ok(Wanted { event: event.ok_or("no event")?, host: host.ok_or("no --host")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> impl Iterator<Item = OsString> {
        line.split(' ').map(OsString::from).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn both_forms_of_the_flag() {
        let wanted = Wanted { event: "Stop".into(), host: "h".into() };
        for line in ["Stop --host h", "--host h Stop", "Stop --host=h"] {
            assert_eq!(event(words(line)).unwrap(), wanted, "{line}");
        }
        for line in [
            "Stop",
            "--host h",
            "Stop --host",
            "Stop More --host h",
            "Stop --host h --host h",
            "Stop --hots h",
        ] {
            assert!(parse(words(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn one_hook_of_a_shared_file() {
        let script = Script { id: "acme".into(), script: "hooks/a.js".into() };
        assert_eq!(parse(words("exec acme hooks/a.js")).unwrap(), Asked::Script(script));
        for line in ["exec", "exec acme", "exec acme a.js b"] {
            assert!(parse(words(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn verbs_for_people_are_not_hot() {
        assert!(is_hot(words("hook PreToolUse --host h")));
        for line in ["hook list", "hook test PreToolUse", "hook --help", "hook", "run hook"] {
            assert!(!is_hot(words(line)), "{line}");
        }
    }
}
