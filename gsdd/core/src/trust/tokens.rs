//! How much a capability adds to what a model reads.

use super::disclosure::Disclosure;
use super::lines::FileFacts;

/// Bytes of text that make one token, as a rule of thumb over the tokenizers of today: English prose has a little
/// more, code and other languages have fewer.
const BYTES_PER_TOKEN: u64 = 4;

/// Tokens that `bytes` of text are, roughly; rounded up.
#[must_use]
pub fn estimated_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// One text that an agent gets to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// `skill`, `agent`, `command` or `fragment`.
    pub kind: &'static str,
    /// Its name as declared, or the file.
    pub name: String,
    /// Size of the text that is read when it is used; what a skill leads to besides its own document counts too.
    pub bytes: u64,
}

impl Disclosure {
    /// Everything that an agent may get to read of the bundle, in the order of the disclosure.
    #[must_use]
    pub fn instructions(&self, files: &FileFacts) -> Vec<Instruction> {
        let file = |path: &str| files.get(path).map_or(0, |fact| fact.bytes);
        let below = |folder: &str| -> u64 {
            let inside =
                files.files.range(folder.to_owned()..).take_while(|(path, _)| path.starts_with(folder));
            inside.map(|(_, fact)| fact.bytes).sum()
        };
        let item = |kind, name: &String, bytes| Instruction { kind, name: name.clone(), bytes };
        let skills = self.skills.iter().map(|name| item("skill", name, below(&format!("skills/{name}/"))));
        let agents = self.agents.iter().map(|name| item("agent", name, file(&format!("agents/{name}.md"))));
        let commands = self.commands.iter().map(|name| item("command", name, file(name)));
        let fragments = self.fragments.iter().map(|name| {
            item("fragment", name, self.inline_bytes.get(name).copied().unwrap_or_else(|| file(name)))
        });
        skills.chain(agents).chain(commands).chain(fragments).collect()
    }

    /// What all of it together adds to a model's context, in tokens, roughly.
    #[must_use]
    pub fn tokens(&self, files: &FileFacts) -> u64 {
        self.instructions(files).iter().map(|instruction| estimated_tokens(instruction.bytes)).sum()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trust::lines::FileFact;

    #[test]
    fn every_text_counts_once_with_its_own_size() {
        let mut disclosure = Disclosure::collect(&json!({
            "skills": ["a"], "agents": ["b", "gone"],
            "steps": [{"fragment": {"path": "./f.md"}}],
            "contributions": [{"fragment": {"inline": "12345"}}],
        }));
        disclosure.add_documents(["commands/c.md"]);
        let fact = |bytes| FileFact { digest: String::new(), bytes };
        let sizes = [
            ("skills/a/SKILL.md", 10),
            ("skills/a/more/x.md", 3),
            ("skills/ab/SKILL.md", 1000),
            ("agents/b.md", 8),
            ("commands/c.md", 1),
            ("f.md", 4),
            ("README.md", 1000),
        ];
        let files = FileFacts { files: sizes.map(|(path, bytes)| (path.to_owned(), fact(bytes))).into() };
        let sizes: Vec<(String, u64)> = disclosure
            .instructions(&files)
            .into_iter()
            .map(|it| (format!("{} {}", it.kind, it.name), it.bytes))
            .collect();
        let expected = [
            ("skill a", 13),
            ("agent b", 8),
            ("agent gone", 0),
            ("command commands/c.md", 1),
            ("fragment ./f.md", 4),
            ("fragment inline text of contributions[0]", 5),
        ];
        assert_eq!(sizes, expected.map(|(name, bytes)| (name.to_owned(), bytes)));
        assert_eq!(disclosure.tokens(&files), 4 + 2 + 1 + 1 + 2);
    }
}
