//! `gsdctl state`.

use std::fmt::Write as _;

use gsd_proto::api::capability::{State, StateParams};
use serde_json::{Value, json};

use super::Outcome;
use crate::args::{Global, StateArgs};
use crate::connect::{self, Options};
use crate::output::{Report, clean};

/// One row per composed capability, one line per loop hook of an id that was named.
pub(super) fn state(global: &Global, options: &Options, args: &StateArgs) -> Outcome {
    let mut connection = connect::connect(options)?;
    let state = connection.call::<State>(&StateParams {
        ctx: connection.context(),
        id: args.id.clone(),
        runtime: global.runtime.first().cloned(),
        config_dir: args.config_dir.clone(),
    })?;
    let mut text = String::new();
    let word = |on: &Value, word: &'static str| if *on == true { word } else { "-" };
    for row in &state.capabilities {
        let id = row["id"].as_str().unwrap_or_default();
        let _ = writeln!(
            text,
            "{:<24} {:<9} {:<8} {}",
            clean(id),
            word(&row["installed"], "installed"),
            word(&row["surfaced"], "surfaced"),
            word(&row["active"], "active"),
        );
        for hook in row["hooks"].as_array().into_iter().flatten().filter(|_| args.id.is_some()) {
            let when = hook["when"].as_str().map(|when| format!(" when {}", clean(when))).unwrap_or_default();
            let _ = writeln!(
                text,
                "  {:<12} {:<12} {}{when}",
                clean(hook["point"].as_str().unwrap_or_default()),
                clean(hook["kind"].as_str().unwrap_or_default()),
                if hook["active"] == true { "active" } else { "off" },
            );
        }
    }
    let mut warnings = state.warnings;
    warnings.extend(connection.warnings());
    let data = json!({"runtimeConfigDir": state.runtime_config_dir, "capabilities": state.capabilities});
    Ok(Report { command: "state", data, text, warnings, ..Report::default() })
}
