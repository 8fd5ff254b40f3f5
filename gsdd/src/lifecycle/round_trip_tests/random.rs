//! Host files and capabilities as people have them, drawn by lot from a number.

use gsdd_core::projection::{Produced, ProducedFile, ProducedHook, ProducedServer};
use serde_json::{Value, json};

/// Numbers that look random and follow from a seed.
pub(super) struct Lot(u64);

impl Lot {
    pub(super) fn new(seed: u64) -> Self {
        // Neighbouring seeds have nothing in common afterwards (the finalizer of SplitMix64).
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((mixed ^ (mixed >> 31)) | 1)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Events that hosts know, one that they do not, and one that is no event.
pub(super) const EVENTS: [&str; 7] =
    ["PreToolUse", "PostToolUse", "Stop", "SessionStart", "UserPromptSubmit", "PreCompact", "NoSuchEvent"];

/// How one file is written.
struct Hand {
    comments: bool,
    trailing_commas: bool,
    line_end: &'static str,
    indent: &'static str,
    /// One in so many places looks otherwise than the rest.
    untidy: usize,
}

impl Hand {
    fn new(lot: &mut Lot) -> Self {
        let indents = ["", " ", "  ", "    ", "\t", "   "];
        Self {
            comments: lot.one_in(3),
            trailing_commas: lot.one_in(4),
            line_end: if lot.one_in(4) { "\r\n" } else { "\n" },
            indent: indents[lot.below(indents.len())],
            untidy: 3 + lot.below(30),
        }
    }

    /// White space, and a comment now and then.
    fn gap(&self, lot: &mut Lot, depth: usize, breaks: bool) -> String {
        let mut gap = String::new();
        if self.comments && lot.one_in(8) {
            let comment = lot.pick(&[" // {\"hooks\": ]", "/* , */", " // gsdctl", "/* a\n b */", "//"]);
            gap.push_str(comment);
            if comment.trim_start().starts_with("//") {
                gap.push_str(self.line_end);
            }
        }
        if lot.one_in(self.untidy) {
            gap.push_str(lot.pick(&["", "  ", "\t", "\n\n", "\r\n   ", " \n"]));
        } else if breaks && !self.indent.is_empty() {
            gap.push_str(self.line_end);
            gap.push_str(&self.indent.repeat(depth));
        }
        gap
    }

    fn write(&self, lot: &mut Lot, value: &Written, depth: usize, out: &mut String) {
        let (open, close, parts): (char, char, Vec<(Option<&str>, &Written)>) = match value {
            Written::Text(text) => return out.push_str(text),
            Written::List(items) => ('[', ']', items.iter().map(|item| (None, item)).collect()),
            Written::Object(members) => {
                ('{', '}', members.iter().map(|(key, value)| (Some(key.as_str()), value)).collect())
            }
        };
        out.push(open);
        let count = parts.len();
        for (at, (key, value)) in parts.into_iter().enumerate() {
            out.push_str(&self.gap(lot, depth + 1, true));
            if let Some(key) = key {
                out.push_str(&json!(key).to_string());
                out.push_str(&self.gap(lot, depth, false));
                out.push(':');
                out.push_str(lot.pick(&[" ", " ", " ", ""]));
            }
            self.write(lot, value, depth + 1, out);
            out.push_str(&self.gap(lot, depth, false));
            if at + 1 < count || (self.trailing_commas && lot.one_in(2)) {
                out.push(',');
            }
        }
        out.push_str(&self.gap(lot, depth, count > 0));
        out.push(close);
    }
}

/// JSON with its spelling.
#[derive(Clone)]
enum Written {
    Text(String),
    List(Vec<Written>),
    Object(Vec<(String, Written)>),
}

impl From<Value> for Written {
    fn from(value: Value) -> Self {
        match value {
            Value::Array(items) => Self::List(items.into_iter().map(Into::into).collect()),
            Value::Object(members) => {
                Self::Object(members.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
            other => Self::Text(other.to_string()),
        }
    }
}

fn scalar(lot: &mut Lot) -> Written {
    let texts = [
        "1",
        "1.0",
        "-0",
        "12345678901234567890123",
        "1e400",
        "true",
        "null",
        "\"\"",
        "\"opus\"",
        r#""// no comment, \" \ud800 é😀""#,
        r#""C:\\temp\\\u0041""#,
        "\"{\"",
    ];
    Written::Text(lot.pick(&texts).to_owned())
}

fn anything(lot: &mut Lot, depth: usize) -> Written {
    match lot.below(if depth == 0 { 4 } else { 7 }) {
        5 => Written::List((0..lot.below(4)).map(|_| anything(lot, depth - 1)).collect()),
        6 => Written::Object(
            (0..lot.below(4)).map(|at| (format!("k{at}"), anything(lot, depth - 1))).collect(),
        ),
        _ => scalar(lot),
    }
}

/// A hook of the person, or one that upstream registered for another capability.
fn group(lot: &mut Lot) -> Written {
    let upstream = lot.one_in(3);
    let command = if upstream {
        "node '/home/ada/.gsd/capabilities/other-one/hooks/check.js'"
    } else {
        lot.pick(&["true", "echo \"done\"", "gsdctl --version", "my-lint --fix; exit 0"])
    };
    let mut group = json!({"hooks": [{"type": "command", "command": command}]});
    if lot.one_in(2) {
        group["matcher"] = lot.pick(&["Bash", "Write|Edit", "*", ""]).into();
    }
    if lot.one_in(3) {
        group["hooks"][0]["timeout"] = 5.into();
    }
    if lot.one_in(4) {
        group["hooks"].as_array_mut().unwrap().push(json!({"type": "command", "command": "second"}));
    }
    if upstream {
        group["_gsdCapability"] = "other-one".into();
    }
    group.into()
}

/// The text of a settings file; `None` when there is none.
pub(super) fn document(lot: &mut Lot) -> Option<String> {
    if lot.one_in(8) {
        return None;
    }
    if lot.one_in(16) {
        return Some(
            lot.pick(&["", " ", "\n", "  \n\n", "{}", "{}\n", "{ }", "\u{feff}{}\r\n", "{\n}\n"]).to_owned(),
        );
    }
    let hand = Hand::new(lot);
    let mut members: Vec<(String, Written)> =
        (0..lot.below(5)).map(|at| (format!("own{at}"), anything(lot, 3))).collect();
    if lot.one_in(4) {
        members.push(("permissions".to_owned(), json!({"deny": ["Read(.env)"], "allow": []}).into()));
    }
    if !lot.one_in(3) {
        let mut events = Vec::new();
        for event in &EVENTS[..lot.below(4)] {
            events
                .push(((*event).to_owned(), Written::List((0..lot.below(3)).map(|_| group(lot)).collect())));
        }
        let at = lot.below(members.len() + 1);
        members.insert(at, ("hooks".to_owned(), Written::Object(events)));
    }
    if lot.one_in(2) {
        let mut servers: Vec<(String, Written)> = (0..lot.below(3))
            .map(|at| (format!("theirs{at}"), json!({"command": "npx", "args": ["-y", "tides"]}).into()))
            .collect();
        if lot.one_in(3) {
            let config = json!({"command": "other", "_gsdCapability": "other-one"});
            servers.push(("of-upstream".to_owned(), config.into()));
        }
        let at = lot.below(members.len() + 1);
        members.insert(at, ("mcpServers".to_owned(), Written::Object(servers)));
    }
    let mut text = String::from(if lot.one_in(6) { "\u{feff}" } else { "" });
    text.push_str(&hand.gap(lot, 0, false));
    hand.write(lot, &Written::Object(members), 0, &mut text);
    text.push_str(if lot.one_in(4) { "" } else { hand.line_end });
    text.push_str(&hand.gap(lot, 0, false));
    Some(text)
}

/// What a capability brings.
pub(super) fn produced(lot: &mut Lot, id: &str) -> Produced {
    let mut produced = Produced { id: id.to_owned(), title: format!("Title of {id}"), ..Produced::default() };
    for at in 0..lot.below(4) {
        produced.hooks.push(ProducedHook {
            event: EVENTS[lot.below(EVENTS.len())].to_owned(),
            script: format!("hooks/{at}.{}", lot.pick(&["sh", "js", "py"])),
            matcher: lot.one_in(2).then(|| lot.pick(&["Bash", "Write|Edit", "*"]).to_owned()),
        });
    }
    for at in 0..lot.below(3) {
        let file = |path: &str, text: &str, executable| ProducedFile {
            path: path.to_owned(),
            bytes: text.as_bytes().to_vec(),
            executable,
        };
        let stem = format!("{id}-{at}");
        let text = format!("---\nname: {stem}\ndescription: Made for a test\n---\nDo it.\n");
        let mut files = vec![file("SKILL.md", &text, false)];
        if lot.one_in(2) {
            files.push(file("scripts/deep/run.sh", "#!/bin/sh\n", true));
        }
        produced.skills.insert(stem, files);
    }
    if lot.one_in(3) {
        produced.agents.insert(format!("{id}-agent"), b"---\nname: x\n---\nBe one.\n".to_vec());
    }
    if lot.one_in(3) {
        produced.commands.insert(id.to_owned(), lot.one_in(2).then(|| b"Do $ARGUMENTS.\n".to_vec()));
    }
    for at in 0..lot.below(3) {
        let local = lot.one_in(2);
        let config = match (local, lot.below(3)) {
            (true, _) => json!({"command": "python3", "args": ["server/notes.py", "é\n"]}),
            (false, 0) => json!({"type": "http", "url": "https://tides.example/mcp", "headers": {"a": "b"}}),
            (false, _) => json!({"command": "tide-server", "args": [], "env": {"TIDE": "1"}}),
        };
        produced.servers.push(ProducedServer { name: format!("{id}-{at}"), config, local });
    }
    produced
}
