//! What a host program does with the files that were written for it: nothing is known here about who wrote them.

use std::path::Path;

use serde_json::{Value, json};

use crate::files::bytes_of;
use crate::run::Run;
use crate::world::World;

/// Payload of a host that is about to write a file.
#[must_use]
pub fn write_of(file: &str) -> String {
    payload("PreToolUse", "Write", &json!({"file_path": file, "content": "x"}))
}

/// Payload of a host for one tool call.
#[must_use]
pub fn payload(event: &str, tool: &str, input: &Value) -> String {
    json!({"session_id": "s", "hook_event_name": event, "tool_name": tool, "tool_input": input}).to_string()
}

/// Command strings that a settings file registers for an event, in order.
#[track_caller]
#[must_use]
pub fn registered(settings: &Path, event: &str) -> Vec<String> {
    let bytes = bytes_of(settings);
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let document: Value = serde_json::from_slice(text).expect("the host reads JSON");
    let groups = document["hooks"][event].as_array().into_iter().flatten();
    let handlers = groups.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
    handlers.filter_map(|handler| handler["command"].as_str().map(ToOwned::to_owned)).collect()
}

impl World {
    /// A command line, run as a host runs it: by a shell, with a minimal environment, in the project.
    #[must_use]
    pub fn shell(&self, command: &str) -> Run {
        self.outside_program(Path::new("/bin/sh")).arg("-c").arg(command)
    }

    /// The one command that a settings file registers for an event, about to be run.
    #[track_caller]
    #[must_use]
    pub fn hook_of(&self, settings: &Path, event: &str) -> Run {
        let commands = registered(settings, event);
        assert_eq!(commands.len(), 1, "{}: {commands:?}", settings.display());
        self.shell(&commands[0])
    }
}
