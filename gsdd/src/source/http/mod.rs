//! Fetching over HTTPS, from hosts that nobody vouches for.
//!
//! What a spec names, and where a server sends on to, is judged before it is dialled: the scheme, the host, the port,
//! the address that its name leads to, and the policy. Names are looked up by us, and exactly the
//! addresses that were judged are dialled, so a name that answers differently the second time gains nothing (T63).
//! Nothing that the daemon's own environment says is used: proxies and further root certificates come from the
//! caller's.
//!
//! The calls block; they run on threads for blocking work. A client is made when it is first needed and lives as
//! long as one fetch.

mod body;
mod client;
mod failure;
mod hop;
mod resolve;
mod roots;

use std::sync::Arc;
use std::time::Duration;

use gsd_proto::{Context, WireError};
use gsdd_core::policy::{Errand, Policy};
use gsdd_core::source::network::HostRefusal;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue, LOCATION};
use reqwest::{StatusCode, Url};
use tokio::time::Instant;

pub(crate) use body::Downloaded;
use body::Sink;
use client::Clients;
use failure::Failure;
use hop::Hop;

use super::archive::max_stream;
use super::watch::Watch;

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// Time for one server to begin its answer, the connection included.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Bounds of one answer, redirects included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Total time.
    pub(crate) time: Duration,
    /// Most bytes of the body.
    pub(crate) bytes: u64,
    /// Every `window` at least `window_bytes` have to come (T71).
    pub(crate) window: Duration,
    /// See `window`.
    pub(crate) window_bytes: u64,
}

impl Limits {
    /// For a document that is read as a whole.
    pub(crate) const fn document(bytes: u64) -> Self {
        Self {
            time: Duration::from_secs(30),
            bytes,
            window: Duration::from_secs(10),
            window_bytes: 10 * 1024,
        }
    }

    /// For the archive of a bundle with at most `bundle_bytes` of content. The bound is upstream's until a bundle may
    /// have more than that; the time grows with it.
    pub(crate) const fn archive(bundle_bytes: u64) -> Self {
        const USUAL: u64 = 64 * 1024 * 1024;
        let wanted = max_stream(bundle_bytes);
        let bytes = if wanted > USUAL { wanted } else { USUAL };
        Self {
            time: Duration::from_secs(300 * bytes.div_ceil(USUAL)),
            bytes,
            window: Duration::from_secs(15),
            window_bytes: 60 * 1024,
        }
    }
}

/// What to get.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) url: &'a str,
    /// `Accept`.
    pub(crate) accept: Option<&'a str>,
    /// `Authorization`, sent to the origin of `url` and to no other (T65). Build it by [`secret_header`].
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) limits: Limits,
    /// What the policy is told that this is for.
    pub(crate) errand: Errand<'a>,
    /// What the progress is of, for example `download`.
    pub(crate) phase: &'static str,
}

impl<'a> Request<'a> {
    /// A request for `url` without credentials.
    pub(crate) fn new(url: &'a str, limits: Limits) -> Self {
        Self { url, accept: None, authorization: None, limits, errand: Errand::Unnamed, phase: "download" }
    }
}

/// The answer when a host is not contacted, for adapters that bring their own way of contacting it.
pub(crate) fn host_refused(host: &str, refusal: HostRefusal) -> WireError {
    Failure::Host(refusal).explain_unread(host)
}

/// A header value that is never printed; `None` for a text that can't be one.
pub(crate) fn secret_header(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// An answer that was read as a whole.
#[derive(Debug)]
pub(crate) struct Document {
    /// Where it came from in the end.
    pub(crate) final_url: Url,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
}

impl Document {
    /// The document, if its status is a success. `asked` is the URL of the request.
    ///
    /// # Errors
    /// What the status means, and what to do about it.
    pub(crate) fn or_status(self, asked: &str) -> Result<Self, WireError> {
        if self.status.is_success() {
            return Ok(self);
        }
        Err(Failure::Status(self.status).explain(&self.final_url, asked))
    }
}

/// The network as one fetch may use it.
pub(crate) struct Http {
    clients: Clients,
    policy: Arc<Policy>,
    watch: Watch,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}

impl Http {
    /// The network for the caller of `ctx`; `further_roots` is a file of certificates that they trust besides.
    ///
    /// # Errors
    /// When the caller's proxy or root certificates can't be used.
    pub(crate) fn new(
        ctx: &Context,
        policy: Arc<Policy>,
        watch: Watch,
        further_roots: Option<&std::path::Path>,
    ) -> Result<Self, WireError> {
        Ok(Self { clients: Clients::new(ctx, policy.network(), further_roots)?, policy, watch })
    }

    /// Gets a document. Any status that is not a success is an error.
    ///
    /// # Errors
    /// What failed, and what to do about it.
    pub(crate) fn get(&self, request: &Request<'_>) -> Result<Document, WireError> {
        self.ask(request)?.or_status(request.url)
    }

    /// Gets a document whatever its status, for protocols in which a refusal says how to go on.
    ///
    /// # Errors
    /// As [`Http::get`], but for the status.
    pub(crate) fn ask(&self, request: &Request<'_>) -> Result<Document, WireError> {
        self.block(request, async |deadline| {
            let (hop, mut response) = self.follow(request, deadline).await?;
            let mut bytes = Vec::new();
            body::read(&mut response, request, deadline, &self.watch, &mut Sink::Memory(&mut bytes))
                .await
                .map_err(|failure| failure.explain(&hop, request.url))?;
            let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
            Ok(Document { final_url: hop, status, headers, bytes })
        })
    }

    /// Gets an archive into a temporary file, or into memory while it is small, and takes its digests while it comes.
    ///
    /// # Errors
    /// As [`Http::get`].
    pub(crate) fn download(
        &self,
        request: &Request<'_>,
        workspace: &std::path::Path,
    ) -> Result<Downloaded, WireError> {
        self.block(request, async |deadline| {
            let (hop, mut response) = self.follow(request, deadline).await?;
            if !response.status().is_success() {
                return Err(Failure::Status(response.status()).explain(&hop, request.url));
            }
            let mut spool = body::Spool::new(workspace);
            body::read(&mut response, request, deadline, &self.watch, &mut Sink::Spool(&mut spool))
                .await
                .and_then(|()| spool.finish(hop.clone()).map_err(Failure::disk))
                .map_err(|failure| failure.explain(&hop, request.url))
        })
    }

    /// Follows redirects to the answer that is none.
    async fn follow(
        &self,
        request: &Request<'_>,
        deadline: Instant,
    ) -> Result<(Url, reqwest::Response), WireError> {
        let mut hop = Hop::first(request.url).map_err(|failure| failure.explain_unread(request.url))?;
        for _ in 0..=MAX_REDIRECTS {
            let failed = |failure: Failure| failure.explain(&hop.url, request.url);
            hop.judge(self.clients.policy(), &self.policy, request.errand).map_err(failed)?;
            let response = self.send(&hop, request, deadline).await.map_err(failed)?;
            if !is_redirect(response.status()) {
                return Ok((hop.url, response));
            }
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
            hop = hop.to(target).map_err(failed)?;
        }
        Err(Failure::TooManyRedirects.explain(&hop.url, request.url))
    }

    async fn send(
        &self,
        hop: &Hop,
        request: &Request<'_>,
        deadline: Instant,
    ) -> Result<reqwest::Response, Failure> {
        let client = self.clients.for_url(&hop.url)?;
        let mut builder = client.get(hop.url.clone()).header(ACCEPT_ENCODING, "identity");
        if let Some(accept) = request.accept {
            builder = builder.header(ACCEPT, accept);
        }
        if let Some(authorization) = request.authorization.as_ref().filter(|_| hop.is_origin) {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        let until = deadline.min(Instant::now() + ANSWER_TIME);
        tokio::select! {
            biased;
            () = self.watch.cancelled() => Err(Failure::Cancelled),
            sent = tokio::time::timeout_at(until, builder.send()) => match sent {
                Ok(sent) => sent.map_err(|error| Failure::of(&error)),
                Err(_) => Err(Failure::NoAnswer),
            },
        }
    }

    /// Runs the exchange on the runtime of this thread and waits for it.
    fn block<T>(
        &self,
        request: &Request<'_>,
        exchange: impl AsyncFnOnce(Instant) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        let runtime = tokio::runtime::Handle::try_current()
            .map_err(|error| Failure::Setup(error.to_string()).explain_unread(request.url))?;
        runtime.block_on(async {
            let deadline = Instant::now() + request.limits.time;
            exchange(deadline).await
        })
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
