//! A person at a terminal: the client under a pseudo-terminal, answered once it has asked.

use crate::run::{Outcome, Run};
use crate::world::World;

/// Starts the program behind it on a pseudo-terminal, types the answer when the question appears, and ends as it ended.
const PERSON: &str = r#"
import os, pty, sys
question, answer = os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2]).replace(b"<end>", b"\x04").replace(b"<enter>", b"\n")
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[3], sys.argv[3:])
seen = b""
while True:
    try:
        more = os.read(terminal, 65536)
    except OSError:
        break
    if not more:
        break
    seen += more
    if answer and question in seen:
        os.write(terminal, answer)
        answer = b""
os.write(1, seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
"#;

impl World {
    /// The client at a terminal; `answer` is typed when it asks (`<enter>` and `<end>` are keys). Everything that
    /// appeared on the terminal is the outcome's standard output.
    #[must_use]
    pub fn at_terminal<'a>(&self, answer: &str, args: impl IntoIterator<Item = &'a str>) -> Outcome {
        self.terminal(answer, args).run()
    }

    /// As [`World::at_terminal`], about to be run.
    #[must_use]
    pub fn terminal<'a>(&self, answer: &str, args: impl IntoIterator<Item = &'a str>) -> Run {
        let client = self.program_path("gsdctl");
        let run = self.outside_program(std::path::Path::new("/usr/bin/python3"));
        run.arg("-c").arg(PERSON).arg("Type `yes`").arg(answer).arg(client).args(args)
    }
}
