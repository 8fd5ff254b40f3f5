//! The scripted model that a host talks to instead of a real one.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::{Doing as _, Failure, Outcome};
use crate::programs::repository;
use crate::throwaway::Throwaway;

/// How long it may take to open its port.
const SOON: Duration = Duration::from_secs(20);

/// A running model; it ends with this value.
#[derive(Debug)]
pub(super) struct Model {
    child: Child,
    port: u16,
}

impl Model {
    /// Starts one that says `turns`.
    pub(super) fn start(here: &Throwaway, turns: &Value) -> Outcome<Self> {
        let (script, port_file) = (here.root().join("turns.json"), here.root().join("model-port"));
        std::fs::write(&script, turns.to_string()).doing("writing the model's turns")?;
        let _ = std::fs::remove_file(&port_file);
        let mut command = here.command("python3");
        command.arg(repository().join("tests/support/fake_model.py")).arg(&script).arg(&port_file);
        let child = command.stdout(Stdio::null()).spawn().doing("starting the scripted model")?;
        let mut model = Self { child, port: 0 };
        model.port = model.wait_for_port(&port_file)?;
        Ok(model)
    }

    /// Where it listens.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn wait_for_port(&mut self, file: &Path) -> Outcome<u16> {
        let deadline = Instant::now() + SOON;
        loop {
            if let Some(port) = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok()) {
                return Ok(port);
            }
            let ended = self.child.try_wait().doing("waiting for the scripted model")?;
            if ended.is_some() || Instant::now() > deadline {
                return Err(Failure::new("the scripted model did not open a port"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // It has no end of its own.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
