//! The disclosure as lines for a person: counts first, then what runs, then what instructs.
//!
//! Every text of the manifest stands in quotes with its quotes, control and invisible characters escaped, so that no
//! value can forge a line, end its own quotes or repaint the screen (threats T119 to T122). The number of lines and
//! the length of each are bounded.

use std::collections::BTreeMap;

use super::disclosure::{CommandCode, Disclosure, GateCommand, LaneSurface, McpSurface, file_named_by};
use super::items::LANE_RECEIVES;
use crate::text::shown_up_to;

/// How much of a disclosure is shown. The counts at the top are always complete, and what is cut says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// Most items of one class that are listed.
    pub items: usize,
    /// Most arguments of one process that are listed.
    pub args: usize,
    /// Longest environment value, in characters.
    pub env_value: usize,
    /// Longest other text of the manifest, in characters.
    pub text: usize,
    /// Longest shell command, in characters.
    pub command: usize,
}

impl Detail {
    /// What fits before a question (threat T121).
    pub const PROMPT: Self = Self { items: 50, args: 100, env_value: 60, text: 200, command: 4096 };
    /// What is shown when somebody asks for all of it.
    pub const FULL: Self =
        Self { items: 10_000, args: 10_000, env_value: 65_536, text: 65_536, command: 65_536 };
}

/// What lines are made with.
#[derive(Clone, Copy)]
struct View<'a> {
    /// `None` for lines without a word about contents.
    files: Option<&'a FileFacts>,
    detail: Detail,
}

/// Which group a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DisclosureGroup {
    /// The counts.
    Summary,
    /// Runs code on this machine or sends data away; consent is needed.
    Executable,
    /// Instructs the agent; trusted as it is.
    Instructing,
    /// Neither.
    Inert,
}

impl DisclosureGroup {
    /// Short stable name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Executable => "executable",
            Self::Instructing => "instructing",
            Self::Inert => "inert",
        }
    }
}

/// One line, ready to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisclosureLine {
    /// Its group.
    pub group: DisclosureGroup,
    /// One line without hostile characters.
    pub text: String,
}

/// What is known about one file of the bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFact {
    /// Digest in text form, `sha256:<hex>`.
    pub digest: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// What is known about the files of the bundle, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// One fact per regular file.
    pub files: BTreeMap<String, FileFact>,
}

impl FileFacts {
    /// The fact about a declared file, `./` allowed.
    #[must_use]
    pub fn get(&self, declared: &str) -> Option<&FileFact> {
        self.files.get(declared.strip_prefix("./").unwrap_or(declared))
    }
}

impl Disclosure {
    /// The lines, counts first. `files` supplies the digests of what would run; a declared file without a fact is
    /// shown as missing.
    #[must_use]
    pub fn lines(&self, files: &FileFacts, detail: Detail) -> Vec<DisclosureLine> {
        self.lines_with(View { files: Some(files), detail })
    }

    /// The lines without a word about contents: two of these differ only where the declarations do.
    #[must_use]
    pub fn declared_lines(&self) -> Vec<DisclosureLine> {
        self.lines_with(View { files: None, detail: Detail::PROMPT })
    }

    fn lines_with(&self, view: View<'_>) -> Vec<DisclosureLine> {
        let mut out = Vec::new();
        self.summary(&mut out);
        let mut push = |group, texts: Vec<String>, what: &str| {
            let hidden = texts.len().saturating_sub(view.detail.items);
            out.extend(texts.into_iter().take(view.detail.items).map(|text| DisclosureLine { group, text }));
            if hidden > 0 {
                out.push(DisclosureLine { group, text: format!("… and {hidden} more {what}") });
            }
        };
        let runs = DisclosureGroup::Executable;
        push(runs, self.hooks.iter().map(|hook| hook_line(hook, view)).collect(), "hooks");
        push(runs, self.modules.iter().map(|command| command_line(command, view)).collect(), "commands");
        push(runs, self.gate_commands.iter().map(|gate| gate_line(gate, view)).collect(), "gate commands");
        let servers: Vec<Vec<String>> =
            self.servers.iter().map(|server| server_lines(server, view)).collect();
        let hidden = servers.len().saturating_sub(view.detail.items);
        let shown = servers.into_iter().take(view.detail.items).flatten();
        out.extend(shown.map(|text| DisclosureLine { group: runs, text }));
        if hidden > 0 {
            out.push(DisclosureLine { group: runs, text: format!("… and {hidden} more MCP servers") });
        }
        if let Some(lane) = &self.lane {
            out.extend(lane_lines(lane, view).into_iter().map(|text| DisclosureLine { group: runs, text }));
        }
        for (what, plural, names) in [
            ("skill", "skills", &self.skills),
            ("agent", "agents", &self.agents),
            ("slash command", "slash commands", &self.commands),
            ("prompt text", "prompt texts", &self.fragments),
        ] {
            let group = DisclosureGroup::Instructing;
            let hidden = names.len().saturating_sub(view.detail.items);
            let texts =
                names.iter().take(view.detail.items).map(|name| format!("{what} {}", quoted(name, view)));
            out.extend(texts.map(|text| DisclosureLine { group, text }));
            if hidden > 0 {
                out.push(DisclosureLine { group, text: format!("… and {hidden} more {plural}") });
            }
        }
        self.inert_line(&mut out);
        out
    }

    fn summary(&self, out: &mut Vec<DisclosureLine>) {
        let mut say = |text: String| out.push(DisclosureLine { group: DisclosureGroup::Summary, text });
        let executable = counted(&[
            (self.hooks.len(), "hook", "hooks"),
            (self.modules.len(), "command", "commands"),
            (self.gate_commands.len(), "gate command", "gate commands"),
            (self.servers.len(), "MCP server", "MCP servers"),
            (usize::from(self.lane.is_some()), "reviewer lane", "reviewer lanes"),
        ]);
        let instructing = counted(&[
            (self.skills.len(), "skill", "skills"),
            (self.agents.len(), "agent", "agents"),
            (self.commands.len(), "slash command", "slash commands"),
            (self.fragments.len(), "prompt text", "prompt texts"),
        ]);
        match (&executable, &instructing) {
            (None, None) => say("declarative only: nothing in it runs or instructs the agent".to_owned()),
            (None, Some(_)) => say("nothing in it runs by itself".to_owned()),
            (Some(counts), _) => say(format!("runs on this machine: {counts}")),
        }
        if let Some(counts) = instructing {
            say(format!("instructs the agent, trusted as written and not scanned: {counts}"));
        }
    }

    fn inert_line(&self, out: &mut Vec<DisclosureLine>) {
        let inert = counted(&[
            (self.inert.config_keys, "configuration key", "configuration keys"),
            (self.inert.gates, "gate without a command", "gates without a command"),
        ]);
        if let Some(counts) = inert {
            out.push(DisclosureLine {
                group: DisclosureGroup::Inert,
                text: format!("also declares: {counts}"),
            });
        }
    }
}

/// `2 hooks, 1 command`; `None` when every count is zero.
fn counted(counts: &[(usize, &str, &str)]) -> Option<String> {
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn hook_line(hook: &super::disclosure::HookSurface, view: View<'_>) -> String {
    let event = if hook.event.is_empty() { "no event".to_owned() } else { quoted(&hook.event, view) };
    let matcher = match hook.matcher.as_deref() {
        None | Some("") => "every tool".to_owned(),
        Some(matcher) => format!("matcher {}", quoted(matcher, view)),
    };
    format!("hook on {event}, {matcher}, runs {}{}", quoted(&hook.script, view), fact(&hook.script, view))
}

fn command_line(command: &super::disclosure::CommandSurface, view: View<'_>) -> String {
    let family =
        if command.family.is_empty() { "no family".to_owned() } else { quoted(&command.family, view) };
    match &command.runs {
        CommandCode::Module { module, router } => {
            let router = if router.is_empty() {
                String::new()
            } else {
                format!(", function {}", quoted(router, view))
            };
            format!("command {family} runs module {}{router}{}", quoted(module, view), fact(module, view))
        }
        CommandCode::Exec { exec } => {
            format!("command {family} runs {}{}", quoted(exec, view), fact(exec, view))
        }
    }
}

fn gate_line(gate: &GateCommand, view: View<'_>) -> String {
    let timeout = if gate.timeout.is_empty() {
        String::new()
    } else {
        format!(", time limit {}", quoted(&gate.timeout, view))
    };
    format!(
        "gate at {} runs the shell command {}{timeout}",
        quoted(&gate.point, view),
        quoted_up_to(&gate.command, view.detail.command)
    )
}

fn server_lines(server: &McpSurface, view: View<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let name = quoted(&server.name, view);
    if !server.command.is_empty() || server.url.is_empty() {
        let mut text = format!("MCP server {name} starts {}", quoted(&server.command, view));
        text.push_str(&fact_if_present(&server.command, view));
        push_args(&server.args, view, &mut text);
        lines.push(text);
    } else if !server.args.is_empty() {
        let mut text = format!("MCP server {name} also lists arguments");
        push_args(&server.args, view, &mut text);
        lines.push(text);
    }
    if !server.url.is_empty() {
        let transport = if server.transport.is_empty() {
            "no transport".to_owned()
        } else {
            quoted(&server.transport, view)
        };
        lines.push(format!("MCP server {name} connects to {} ({transport})", quoted(&server.url, view)));
    } else if !server.transport.is_empty() {
        lines.push(format!("MCP server {name} has the transport {}", quoted(&server.transport, view)));
    }
    if !server.header_names.is_empty() {
        lines.push(format!("MCP server {name} sends the headers {}", listed(&server.header_names, view)));
    }
    for (variable, value) in server.env.iter().take(view.detail.items) {
        let warning = if server.env_warnings.contains(variable) { " (changes what runs)" } else { "" };
        let value = quoted_up_to(value, view.detail.env_value);
        lines.push(format!("MCP server {name} sets {} to {value}{warning}", quoted(variable, view)));
    }
    if server.env.len() > view.detail.items {
        lines.push(format!("… and {} more variables of {name}", server.env.len() - view.detail.items));
    }
    if !server.cwd.is_empty() {
        lines.push(format!("MCP server {name} runs in the folder {}", quoted(&server.cwd, view)));
    }
    if !server.other_fields.is_empty() {
        lines.push(format!("MCP server {name} has other settings: {}", listed(&server.other_fields, view)));
    }
    lines
}

fn lane_lines(lane: &LaneSurface, view: View<'_>) -> Vec<String> {
    let slug = quoted(&lane.slug, view);
    let mut lines = Vec::new();
    if !lane.binary.is_empty() || !lane.args.is_empty() {
        let mut text = format!("reviewer lane {slug} starts {}", quoted(&lane.binary, view));
        push_args(&lane.args, View { files: None, ..view }, &mut text);
        lines.push(text);
    }
    if !lane.host_config_key.is_empty() || !lane.default_host.is_empty() {
        let key = match lane.host_config_key.as_str() {
            "" => String::new(),
            key => format!(", set by {}", quoted(key, view)),
        };
        lines.push(match &lane.destination {
            None => format!("reviewer lane {slug} sends to an address that is not known yet{key}"),
            Some(destination) => {
                let whose = if destination.is_local { "this machine" } else { "ANOTHER machine" };
                let address = quoted(&destination.address, view);
                format!("reviewer lane {slug} sends to {address} ({whose}{key})")
            }
        });
    }
    if !lane.handler.is_empty() {
        lines.push(format!("reviewer lane {slug} uses the handler {}", quoted(&lane.handler, view)));
    }
    if !lane.probe_binary.is_empty() {
        lines.push(format!(
            "reviewer lane {slug} runs {} to see whether it works",
            quoted(&lane.probe_binary, view)
        ));
    }
    let [first, second, third, last] = LANE_RECEIVES;
    lines.push(format!("reviewer lane {slug} receives {first}, {second}, {third} and {last}"));
    lines
}

fn push_args(args: &[String], view: View<'_>, out: &mut String) {
    for arg in args.iter().take(view.detail.args) {
        out.push(' ');
        out.push_str(&quoted(arg, view));
        out.push_str(&fact_if_present(arg, view));
    }
    if args.len() > view.detail.args {
        out.push_str(&format!(" … and {} more arguments", args.len() - view.detail.args));
    }
}

fn fact(file: &str, view: View<'_>) -> String {
    let Some(files) = view.files else { return String::new() };
    match files.get(file) {
        Some(fact) => format!(" [{}, {} bytes]", shown_up_to(&fact.digest, 80), fact.bytes),
        None => " [not in the bundle]".to_owned(),
    }
}

fn fact_if_present(part: &str, view: View<'_>) -> String {
    let named = view.files.and_then(|files| file_named_by(part, files));
    named.map_or_else(String::new, |file| fact(&file, view))
}

fn listed(names: &[String], view: View<'_>) -> String {
    let mut text =
        names.iter().take(view.detail.items).map(|name| quoted(name, view)).collect::<Vec<_>>().join(", ");
    if names.len() > view.detail.items {
        text.push_str(&format!(" … and {} more", names.len() - view.detail.items));
    }
    text
}

fn quoted(raw: &str, view: View<'_>) -> String {
    quoted_up_to(raw, view.detail.text)
}

/// Foreign text in quotes that it cannot end, with a remark when letters are not ASCII and so may look like others.
fn quoted_up_to(raw: &str, max_chars: usize) -> String {
    let remark = if !raw.is_ascii() { " (not ASCII)" } else { "" };
    let mut inner = String::with_capacity(raw.len().min(max_chars * 2));
    let mut characters = raw.chars();
    for c in characters.by_ref().take(max_chars) {
        if c == '"' || c == '\\' {
            inner.push('\\');
        }
        inner.push(c);
    }
    let cut = characters.count();
    let shown = shown_up_to(&inner, inner.len().max(1));
    if cut > 0 {
        format!("\"{shown}\"… ({cut} more characters){remark}")
    } else {
        format!("\"{shown}\"{remark}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(manifest: &serde_json::Value, files: &FileFacts) -> Vec<String> {
        Disclosure::collect(manifest).lines(files, Detail::PROMPT).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn counts_come_first_and_every_surface_has_a_line() {
        let facts = FileFacts {
            files: [("a.sh".to_owned(), FileFact { digest: "sha256:ab".to_owned(), bytes: 3 })].into(),
        };
        let lines = texts(
            &json!({
                "hooks": [{"event": "Stop", "script": "a.sh"}, {"script": "b.sh", "matcher": "Write"}],
                "gates": [{"point": "ship:pre", "check": {"predicate": {"kind": "command-exit-zero", "command": "make \"x\""}}}],
                "mcpServers": {"db": {"command": "node", "args": ["a.sh", 1], "env": {"NODE_OPTIONS": "-r x"}}},
                "reviewer": {"slug": "acme", "invoke": {"binary": "curl", "defaultHost": "evil.example"}},
                "skills": ["s"],
            }),
            &facts,
        );
        assert_eq!(
            lines,
            [
                "runs on this machine: 2 hooks, 1 gate command, 1 MCP server, 1 reviewer lane",
                "instructs the agent, trusted as written and not scanned: 1 skill",
                "hook on \"Stop\", every tool, runs \"a.sh\" [sha256:ab, 3 bytes]",
                "hook on no event, matcher \"Write\", runs \"b.sh\" [not in the bundle]",
                "gate at \"ship:pre\" runs the shell command \"make \\\"x\\\"\"",
                "MCP server \"db\" starts \"node\" \"a.sh\" [sha256:ab, 3 bytes] \"1\"",
                "MCP server \"db\" sets \"NODE_OPTIONS\" to \"-r x\" (changes what runs)",
                "reviewer lane \"acme\" starts \"curl\"",
                "reviewer lane \"acme\" sends to \"http://evil.example\" (ANOTHER machine)",
                "reviewer lane \"acme\" receives plan text, requirements, research findings and CONTEXT.md decisions",
                "skill \"s\"",
            ]
        );
    }

    #[test]
    fn t119_t120_no_value_repaints_or_forges_a_line() {
        let lines = texts(
            &json!({"hooks": [{"event": "Stop\u{1b}[2K\u{1b}[1A", "script": "x\n  hooks (0)\u{202e}"}]}),
            &FileFacts::default(),
        );
        assert!(lines[1].contains(r"Stop\u{1b}[2K\u{1b}[1A"), "{lines:?}");
        assert!(lines[1].contains(r"x\u{a}  hooks (0)\u{202e}"), "{lines:?}");
    }

    #[test]
    fn t121_flooding_is_bounded_and_counted() {
        let hooks: Vec<_> =
            (0..5000).map(|n| json!({"event": "Stop", "script": format!("{n}.sh")})).collect();
        let env = json!({"A": "x".repeat(1_000_000)});
        let lines = texts(
            &json!({"hooks": hooks, "mcpServers": {"s": {"command": "c", "env": env}}}),
            &FileFacts::default(),
        );
        assert_eq!(lines[0], "runs on this machine: 5000 hooks, 1 MCP server");
        assert!(lines.len() < 60);
        assert!(lines.iter().all(|line| line.len() < 500));
        assert!(lines.contains(&"… and 4950 more hooks".to_owned()));
    }

    #[test]
    fn t122_letters_that_are_not_ascii_are_marked() {
        let lines = texts(&json!({"skills": ["\u{430}lpha"]}), &FileFacts::default());
        assert!(lines.contains(&"skill \"\u{430}lpha\" (not ASCII)".to_owned()), "{lines:?}");
    }

    #[test]
    fn declarative_only_is_claimed_only_when_true() {
        assert_eq!(
            texts(&json!({}), &FileFacts::default()),
            ["declarative only: nothing in it runs or instructs the agent"]
        );
        assert_eq!(
            texts(&json!({"skills": ["s"]}), &FileFacts::default())[0],
            "nothing in it runs by itself"
        );
    }
}
