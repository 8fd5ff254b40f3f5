//! What is accepted by itself, beside the agreement to what runs: another signer, or less proof of where it comes from.

use std::fmt::Write as _;
use std::io::{BufRead as _, Write as _};

use gsd_proto::api::capability::{Signer, StageResult, Stop};
use gsd_proto::{Code, WireError};
use serde_json::{Value, json};

use crate::args::AcceptArgs;
use crate::output::{clean, say};

/// How well it is known where it comes from, and who signed it; on standard error, below the disclosure.
pub(super) fn show(staged: &StageResult) {
    let mut text = format!("Where it comes from: {} ({})\n", clean(&staged.level_text), clean(&staged.level));
    if let Some(signer) = &staged.signer {
        let _ = writeln!(text, "  signed by {}", called(signer));
        let known = match signer.trust.as_str() {
            "configured" => "you named this key in your configuration",
            "registry" => "the registry names this key as the publisher's",
            "agreed" => "the same key as for what you agreed to before",
            _ => {
                "first seen now, and nobody you know names this key: it proves nothing yet, and later versions have to have the same one"
            }
        };
        let _ = writeln!(text, "  {known}");
        if !signer.comment.is_empty() {
            let _ = writeln!(text, "  signed comment: {}", clean(&signer.comment));
        }
    }
    for stop in &staged.stops {
        let _ = writeln!(text, "STOP: {}.", clean(&stop.text));
    }
    for line in text.lines() {
        say(line);
    }
}

/// A signer, by the person's own name where there is one, and always with the whole key.
pub(super) fn called(signer: &Signer) -> String {
    let key = format!("{} (key id {})", clean(&signer.key), clean(&signer.key_id));
    signer.name.as_ref().map_or_else(|| key.clone(), |name| format!("{}, {key}", clean(name)))
}

/// A signer in documents.
pub(super) fn row(signer: Option<&Signer>) -> Value {
    signer.map_or(Value::Null, |signer| {
        json!({
            "key": signer.key,
            "key_id": signer.key_id,
            "name": signer.name,
            "trust": signer.trust,
            "comment": signer.comment,
        })
    })
}

/// The stops in documents.
pub(super) fn stop_rows(stops: &[Stop]) -> Value {
    let row = |stop: &Stop| json!({"code": stop.code, "text": stop.text, "accept": [stop.flag, stop.value]});
    stops.iter().map(row).collect()
}

/// What of `stops` the flags do not accept.
pub(super) fn open<'a>(stops: &'a [Stop], args: &AcceptArgs) -> Vec<&'a Stop> {
    let accepts = |stop: &Stop| match stop.flag.as_str() {
        "--accept-signer" => args.accept_signer.as_ref() == Some(&stop.value),
        _ => args.accept_level.as_ref() == Some(&stop.value),
    };
    stops.iter().filter(|stop| !accepts(stop)).collect()
}

/// The refusal when nobody is there to accept `open`; `argv` would proceed.
pub(super) fn refusal(staged: &StageResult, open: &[&Stop], argv: &[&str]) -> WireError {
    let first = open.first();
    let code = first.and_then(|stop| Code::from_name(&stop.code)).unwrap_or(Code::SignatureDowngrade);
    let text = first.map(|stop| clean(&stop.text)).unwrap_or_default();
    let mut error = WireError::new(code, format!("{}: {text}", clean(&staged.id)));
    for other in open.iter().skip(1) {
        error = error.caused_by(format!("besides, {}", clean(&other.text)));
    }
    error
        .with_fix("ask the publisher by another way than the source whether this is right", &[])
        .with_fix("to accept exactly that", argv)
}

/// Asks for one acceptance; the default is no.
pub(super) fn ask(staged: &StageResult, stop: &Stop) -> bool {
    let mut stderr = std::io::stderr();
    drop(write!(
        stderr,
        "\n{} {}: {}.\nThis is not about what it runs. Type `yes` in full to accept it: ",
        clean(&staged.id),
        clean(&staged.version),
        clean(&stop.text)
    ));
    drop(stderr.flush());
    let mut line = String::new();
    matches!(std::io::stdin().lock().read_line(&mut line), Ok(count) if count > 0) && line.trim() == "yes"
}
