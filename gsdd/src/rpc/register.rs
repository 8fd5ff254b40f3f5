//! Typed handlers in an untyped table.

use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use gsd_proto::api::daemon::ProtocolRange;
use gsd_proto::code::rpc;
use gsd_proto::{Code, Method, Subscription, WireError};
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::{RpcModule, SubscriptionSink};
use jsonrpsee_types::{ErrorObjectOwned, Params};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::app::App;
use crate::transport::Current;

type Answer = Result<Box<RawValue>, ErrorObjectOwned>;

/// Registers an async handler for `M`. It must not block: file work belongs into [`register_blocking`].
///
/// # Errors
/// When the name is taken.
pub fn register<M, H, F>(module: &mut RpcModule<App>, handler: H) -> Result<(), RegisterMethodError>
where
    M: Method + 'static,
    M::Params: Send + 'static,
    H: Fn(Arc<App>, M::Params) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<M::Result, WireError>> + Send + 'static,
{
    module.register_async_method(M::NAME, move |params, app, _| {
        let handler = handler.clone();
        async move {
            let params = read_params::<M>(&params)?;
            answer::<M>(handler(app, params).await)
        }
    })?;
    Ok(())
}

/// Registers a handler for `M` that may block; it runs on a thread of the blocking pool.
///
/// A call that is cancelled is answered at once, but its handler runs to its end.
///
/// # Errors
/// When the name is taken.
pub fn register_blocking<M, H>(module: &mut RpcModule<App>, handler: H) -> Result<(), RegisterMethodError>
where
    M: Method + 'static,
    M::Params: Send + 'static,
    H: Fn(&App, M::Params) -> Result<M::Result, WireError> + Clone + Send + Sync + 'static,
{
    module.register_async_method(M::NAME, move |params, app, _| {
        let handler = handler.clone();
        async move {
            let params = read_params::<M>(&params)?;
            let current = Current::get();
            let work = tokio::task::spawn_blocking(move || {
                Current::on_thread(current, || answer::<M>(handler(&app, params)))
            });
            match work.await {
                Ok(answer) => answer,
                // The guard around the call turns it into an answer and a line in the log.
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(_) => Err(error_object(
                    Code::DaemonStopping.number(),
                    WireError::new(Code::DaemonStopping, "the daemon is shutting down"),
                )),
            }
        }
    })?;
    Ok(())
}

/// Registers the opening and the closing call of `S`. The handler gets the parameters and a sink once the
/// subscription is open; it should end when [`EventSink::closed`] completes.
///
/// # Errors
/// When a name is taken.
pub fn register_subscription<S, H, F>(
    module: &mut RpcModule<App>,
    handler: H,
) -> Result<(), RegisterMethodError>
where
    S: Subscription + 'static,
    S::Params: Send + 'static,
    H: Fn(Arc<App>, S::Params, EventSink<S>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    module.register_subscription(
        S::SUBSCRIBE,
        S::EVENT,
        S::UNSUBSCRIBE,
        move |params, pending, app, _| {
            let handler = handler.clone();
            async move {
                match read_as::<S::Params>(S::SUBSCRIBE, &params) {
                    Err(error) => pending.reject(error).await,
                    Ok(params) => {
                        if let Ok(sink) = pending.accept().await {
                            handler(app, params, EventSink { sink, kind: PhantomData }).await;
                        }
                    }
                }
            }
        },
    )?;
    Ok(())
}

/// Where the events of an open subscription go.
#[derive(Debug)]
pub struct EventSink<S> {
    sink: SubscriptionSink,
    kind: PhantomData<fn() -> S>,
}

impl<S: Subscription> EventSink<S> {
    /// Sends one event, waiting while the client is slow; `false` once there is nobody to send to.
    pub async fn send(&self, event: &S::Event) -> bool {
        match serde_json::value::to_raw_value(event) {
            Ok(event) => self.sink.send(event).await.is_ok(),
            Err(_) => false,
        }
    }

    /// Completes when the subscription was closed or its connection ended.
    pub async fn closed(&self) {
        self.sink.closed().await;
    }
}

/// An error as it stands in an answer.
#[must_use]
pub fn error_object(number: i32, error: WireError) -> ErrorObjectOwned {
    let message = error.message.clone();
    ErrorObjectOwned::owned(number, message, Some(error))
}

fn answer<M: Method>(result: Result<M::Result, WireError>) -> Answer {
    match result {
        Ok(result) => serde_json::value::to_raw_value(&result).map_err(|error| {
            error_object(
                rpc::INTERNAL_ERROR,
                WireError::new(Code::Internal, format!("the result cannot be sent: {error}")),
            )
        }),
        Err(error) => Err(error_object(error.number(), error)),
    }
}

/// The part of every parameter object that is looked at before its method sees it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Probe {
    ctx: ProbedContext,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ProbedContext {
    protocol: u32,
    cwd: PathBuf,
    progress: bool,
    wait_ms: Option<u64>,
}

fn read_params<M: Method>(params: &Params<'_>) -> Result<M::Params, ErrorObjectOwned> {
    read_as(M::NAME, params)
}

fn read_as<P: DeserializeOwned>(method: &str, params: &Params<'_>) -> Result<P, ErrorObjectOwned> {
    let text = named(params.as_str().unwrap_or("{}"));
    let probe: Probe = parse(text)?;
    let asked = probe.ctx.protocol;
    // The calls that sort out different versions must get through.
    let exempt = method.starts_with("daemon.");
    if asked != 0 && !exempt && ProtocolRange::OURS.common(ProtocolRange { min: asked, max: asked }).is_none()
    {
        let error = crate::rpc::daemon::protocol_error(ProtocolRange { min: asked, max: asked });
        return Err(error_object(error.number(), error));
    }
    let cwd = &probe.ctx.cwd;
    if !cwd.as_os_str().is_empty() && !cwd.is_absolute() {
        let error = WireError::new(Code::UsageInvalidParams, "`ctx.cwd` must be an absolute path");
        return Err(error_object(rpc::INVALID_PARAMS, error));
    }
    if let Some(current) = Current::get() {
        if probe.ctx.progress {
            current.want_progress();
        }
        if let Some(wait_ms) = probe.ctx.wait_ms {
            current.set_wait(wait_ms);
        }
    }
    parse(text)
}

/// Libraries that only know positional parameters wrap the one object in an array.
fn named(text: &str) -> &str {
    let trimmed = text.trim();
    match trimmed.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).map(str::trim) {
        Some("") => "{}",
        Some(inner) if inner.starts_with('{') => inner,
        _ => trimmed,
    }
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ErrorObjectOwned> {
    serde_json::from_str(text).map_err(|error| {
        // serde's texts name fields and types; a value it quotes is the caller's own.
        let shown = gsdd_core::text::shown(&error.to_string());
        error_object(
            rpc::INVALID_PARAMS,
            WireError::new(Code::UsageInvalidParams, format!("the parameters do not fit: {shown}")),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn one_object_may_come_in_an_array() {
        assert_eq!(named(r#" [ {"a":[1]} ] "#), r#"{"a":[1]}"#);
        assert_eq!(named("[]"), "{}");
        assert_eq!(named(r#"{"a":1}"#), r#"{"a":1}"#);
        assert_eq!(named("[1]"), "[1]");
    }
}
