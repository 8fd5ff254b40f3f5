//! Console blocks: `$ ` begins a command, `> ` continues it, everything else is expected output.

/// One command with what it is expected to print.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Line of the document, counted from 1.
    pub(crate) line: usize,
    /// What is typed; several lines when it is continued.
    pub(crate) command: String,
    /// Lines that occur in the output, in this order; `…` stands for anything.
    pub(crate) expected: Vec<String>,
}

/// All commands in the `console` blocks of a Markdown document.
pub(crate) fn steps(markdown: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (index, line) in markdown.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if !inside {
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { line: index + 1, command: command.to_owned(), expected: Vec::new() });
        } else if let Some(last) = steps.last_mut() {
            match line.strip_prefix("> ").or((line == ">").then_some("")) {
                Some(more) if last.expected.is_empty() => {
                    last.command.push('\n');
                    last.command.push_str(more);
                }
                _ if line.trim().is_empty() => {}
                _ => last.expected.push(line.to_owned()),
            }
        }
    }
    steps
}

/// Whether a line is what the document shows, with `…` for anything.
pub(crate) fn fits(shown: &str, line: &str) -> bool {
    let parts: Vec<&str> = shown.split('…').collect();
    let [first, middle @ .., last] = parts.as_slice() else { return shown == line };
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn commands_continuations_and_outputs_are_told_apart() {
    let steps =
        steps("text\n```console\n$ cat <<E\n> a\n>\n> E\na\n$ true\n```\n$ not one\n```sh\n$ neither\n```\n");
    let commands: Vec<&str> = steps.iter().map(|step| step.command.as_str()).collect();
    assert_eq!(commands, ["cat <<E\na\n\nE", "true"]);
    assert_eq!(steps[0].expected, ["a"]);
    assert_eq!(steps[0].line, 3);
}

#[test]
fn dots_stand_for_anything() {
    assert!(fits("a", "a") && fits("…b…", "abc") && fits("a…c", "abc") && fits("…", ""));
    assert!(!fits("a", "ab") && !fits("a…c", "ab") && !fits("…b…", "ac"));
}
