//! Recognising what we wrote by what it does.
//!
//! Hosts rewrite their own files and may drop members that they do not know; people wrap commands. So an entry is ours
//! when it runs our launcher with our words, whatever stands around them (FR-005, FR-006).

use serde_json::Value;

/// Whether a handler calls the launcher for this event of this host.
#[must_use]
pub fn is_dispatcher(handler: &Value, event: &str, host: &str) -> bool {
    calls_launcher(handler, &["hook", event, "--host", host])
}

/// Whether a server entry starts the launcher for this server of this capability.
#[must_use]
pub fn is_server_launcher(server: &Value, id: &str, name: &str) -> bool {
    calls_launcher(server, &["mcp", "exec", id, name])
}

/// Whether a handler of a shared file runs this script of this capability through the launcher.
#[must_use]
pub fn is_script_launcher(handler: &Value, id: &str, script: &str) -> bool {
    calls_launcher(handler, &["hook", "exec", id, script])
}

/// Whether a handler of a shared file runs anything of this capability: through the launcher, or as a file of its
/// installed bundle, as upstream registers it.
#[must_use]
pub fn belongs_to(handler: &Value, id: &str) -> bool {
    calls_launcher(handler, &["hook", "exec", id]) || words(handler).iter().any(|word| is_in_bundle(word, id))
}

/// Whether a handler is exactly what upstream registers: the file of the bundle, behind `node` or alone.
#[must_use]
pub fn is_upstream_registration(handler: &Value, id: &str) -> bool {
    match words(handler).as_slice() {
        [script] => is_in_bundle(script, id),
        [node, script] => node == "node" && is_in_bundle(script, id),
        _ => false,
    }
}

/// Whether one of the words of a handler is this script, whatever runs it. Too weak alone: for entries of which our own
/// records say that they were there (FR-006).
#[must_use]
pub fn names_script(handler: &Value, script: &str) -> bool {
    words(handler).iter().any(|word| {
        word.strip_suffix(script).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    })
}

fn is_in_bundle(word: &str, id: &str) -> bool {
    word.contains(&format!("/.gsd/capabilities/{id}/"))
}

fn words(entry: &Value) -> Vec<String> {
    let command = entry.get("command").and_then(Value::as_str).unwrap_or_default();
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut words = tokens(command);
    words.extend(args.flat_map(tokens));
    words
}

fn calls_launcher(entry: &Value, words: &[&str]) -> bool {
    let tokens = self::words(entry);
    (0..tokens.len()).any(|at| {
        is_launcher(&tokens[at])
            && tokens[at + 1..].iter().map(String::as_str).take(words.len()).eq(words.iter().copied())
    })
}

fn is_launcher(token: &str) -> bool {
    matches!(token.rsplit(['/', '\\']).next(), Some("gsdctl" | "gsdctl.exe"))
}

/// Words of a shell line, quotes taken off. Enough to recognise our own words; not a shell.
fn tokens(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => word.extend(chars.next()),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, c) if c.is_whitespace() || matches!(c, ';' | '&' | '|') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, c) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dispatcher_is_known_by_what_it_runs() {
        for ours in [
            json!({"type": "command", "command": "\"$HOME\"/.gsd/bin/gsdctl hook Stop --host h"}),
            json!({"type": "command", "command": "'/home/o'\\''neil/.gsd/bin/gsdctl' hook Stop --host h"}),
            json!({"command": "quiet-launcher", "args": ["--hidden", "/x/gsdctl", "hook", "Stop", "--host", "h"]}),
            json!({"command": "nice gsdctl hook Stop --host h; true"}),
        ] {
            assert!(is_dispatcher(&ours, "Stop", "h"), "{ours}");
        }
        for other in [
            json!({"command": "gsdctl hook Start --host h"}),
            json!({"command": "gsdctl hook Stop --host hh"}),
            json!({"command": "echo gsdctl is hook Stop --host h"}),
            json!({"command": "mygsdctl hook Stop --host h"}),
            json!(null),
        ] {
            assert!(!is_dispatcher(&other, "Stop", "h"), "{other}");
        }
    }

    #[test]
    fn a_hook_of_a_shared_file_is_known_by_script_and_capability() {
        let ours = json!({"command": "\"$HOME\"/.gsd/bin/gsdctl hook exec acme hooks/a.js"});
        assert!(is_script_launcher(&ours, "acme", "hooks/a.js"));
        assert!(belongs_to(&ours, "acme") && !belongs_to(&ours, "acm"));
        assert!(!is_script_launcher(&ours, "acme", "a.js"));
        let upstream = json!({"command": "node '/p/it'\\''s/.gsd/capabilities/acme/hooks/a.js'"});
        assert!(belongs_to(&upstream, "acme") && is_upstream_registration(&upstream, "acme"));
        assert!(!belongs_to(&upstream, "hooks"));
        let wrapped = json!({"command": "quiet", "args": ["--x", "/p/.gsd/capabilities/acme/hooks/a.js"]});
        assert!(belongs_to(&wrapped, "acme") && !is_upstream_registration(&wrapped, "acme"));
        let bare = json!({"command": "quiet", "args": ["--x", "hooks/a.js"]});
        assert!(!belongs_to(&bare, "acme") && names_script(&bare, "hooks/a.js"));
        assert!(!names_script(&bare, "oks/a.js"));
    }

    #[test]
    fn a_server_is_known_by_capability_and_name() {
        let server =
            json!({"command": "sh", "args": ["-c", "exec \"$HOME\"/.gsd/bin/gsdctl mcp exec acme notes"]});
        assert!(is_server_launcher(&server, "acme", "notes"));
        assert!(!is_server_launcher(&server, "acme", "other"));
    }
}
