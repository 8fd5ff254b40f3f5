//! What surrounds every call: a span, a deadline, cancellation, and a net for panics.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use gsd_proto::code::rpc;
use gsd_proto::{Code, WireError};
use jsonrpsee_core::server::MethodResponse;
use jsonrpsee_types::Id;
use tokio_util::sync::CancellationToken;

use super::error_object;
use crate::app::App;

/// Runs one call. Whatever happens inside, there is an answer: a panic would otherwise leave the caller waiting for
/// ever. `None` comes from `work` alone, when its answer goes another way.
pub async fn guarded(
    method: &'static str,
    id: Id<'static>,
    app: &App,
    deadline: Duration,
    cancelled: &CancellationToken,
    work: impl Future<Output = Option<MethodResponse>>,
) -> Option<MethodResponse> {
    let _counted = app.in_flight.enter();
    let began = Instant::now();
    let outcome = tokio::select! {
        biased;
        () = cancelled.cancelled() => Outcome::Cancelled,
        done = tokio::time::timeout(deadline, AssertUnwindSafe(work).catch_unwind()) => match done {
            Ok(Ok(answer)) => Outcome::Answered(answer),
            Ok(Err(_)) => Outcome::Panicked,
            Err(_) => Outcome::TooLate,
        },
    };
    let taken = began.elapsed();
    app.latencies.record(method, taken);
    let micros = u64::try_from(taken.as_micros()).unwrap_or(u64::MAX);
    match outcome {
        Outcome::Answered(answer) => {
            let code = answer.as_ref().and_then(MethodResponse::as_error_code);
            tracing::debug!(method, micros, code, "call");
            answer
        }
        Outcome::Cancelled => {
            tracing::info!(method, micros, "call cancelled");
            Some(failed(
                id,
                Code::Cancelled.number(),
                WireError::new(Code::Cancelled, "cancelled by the caller"),
            ))
        }
        Outcome::TooLate => {
            tracing::error!(method, micros, "call took too long");
            let message = format!("the daemon gave up after {} s", deadline.as_secs());
            Some(failed(id, Code::Timeout.number(), WireError::new(Code::Timeout, message)))
        }
        Outcome::Panicked => {
            // The panic's text may quote what the caller sent; the hook in `boot` logs its place only.
            tracing::error!(method, micros, "call failed by a panic");
            let error = WireError::new(Code::Internal, format!("`{method}` failed inside the daemon"))
                .with_fix("look for the reason in its log", &["gsdctl", "daemon", "logs"]);
            Some(failed(id, rpc::INTERNAL_ERROR, error))
        }
    }
}

enum Outcome {
    Answered(Option<MethodResponse>),
    Cancelled,
    TooLate,
    Panicked,
}

fn failed(id: Id<'static>, number: i32, error: WireError) -> MethodResponse {
    MethodResponse::error(id, error_object(number, error))
}
