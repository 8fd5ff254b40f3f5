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

fn calls_launcher(entry: &Value, words: &[&str]) -> bool {
    let command = entry.get("command").and_then(Value::as_str).unwrap_or_default();
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut tokens = tokens(command);
    tokens.extend(args.flat_map(self::tokens));
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
    fn a_server_is_known_by_capability_and_name() {
        let server =
            json!({"command": "sh", "args": ["-c", "exec \"$HOME\"/.gsd/bin/gsdctl mcp exec acme notes"]});
        assert!(is_server_launcher(&server, "acme", "notes"));
        assert!(!is_server_launcher(&server, "acme", "other"));
    }
}
