//! Clients, made when they are first needed: one for each way out.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gsd_proto::{Code, Context, WireError};
use gsdd_core::source::address::HTTPS_PORT;
use gsdd_core::source::network::NetworkPolicy;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Client, Proxy, Url};
use rustls::ClientConfig;

use super::failure::Failure;
use super::resolve::{Guard, GuardedResolver, Lookup, System};
use super::roots;

const CONNECT_TIME: Duration = Duration::from_secs(10);
/// An answer has a few dozen headers.
const MAX_HEADERS: usize = 100;

/// A way out.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Route {
    /// To the host itself.
    Direct(Guard),
    /// Through the person's proxy, which looks the name up.
    Through(String),
}

pub(super) struct Clients {
    tls: ClientConfig,
    proxies: Matcher,
    policy: NetworkPolicy,
    lookup: Arc<dyn Lookup>,
    made: Mutex<Vec<(Route, Client)>>,
}

impl Clients {
    pub(super) fn new(
        ctx: &Context,
        policy: NetworkPolicy,
        further_roots: Option<&Path>,
    ) -> Result<Self, WireError> {
        Ok(Self {
            tls: roots::settings(ctx, further_roots)?,
            proxies: proxies(ctx)?,
            policy,
            lookup: Arc::new(System),
            made: Mutex::default(),
        })
    }

    /// Names are looked up by `lookup`.
    #[cfg(all(test, unix))]
    pub(super) fn looking_up(mut self, lookup: Arc<dyn Lookup>) -> Self {
        self.lookup = lookup;
        self
    }

    pub(super) fn policy(&self) -> &NetworkPolicy {
        &self.policy
    }

    /// The client for a URL that was judged.
    pub(super) fn for_url(&self, url: &Url) -> Result<Client, Failure> {
        let uri: http::Uri = url.as_str().parse().map_err(|_| Failure::NotAUrl)?;
        let proxy = self.proxies.intercept(&uri);
        let route = match &proxy {
            Some(proxy) => Route::Through(proxy.uri().to_string()),
            None => {
                let host = url.host_str().unwrap_or_default();
                let listed = self.policy.allows(host, url.port().unwrap_or(HTTPS_PORT));
                Route::Direct(if listed { Guard::Listed } else { Guard::Public })
            }
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = made.iter().find(|(other, _)| *other == route) {
            return Ok(client.clone());
        }
        let guard = match route {
            Route::Direct(guard) => guard,
            Route::Through(_) => Guard::Listed,
        };
        let mut builder = Client::builder()
            .user_agent(concat!("gsdd/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(self.tls.clone())
            .https_only(true)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .http1_max_headers(MAX_HEADERS)
            .connect_timeout(CONNECT_TIME)
            .dns_resolver(Arc::new(GuardedResolver { guard, lookup: Arc::clone(&self.lookup) }));
        if let Some(intercept) = &proxy {
            let mut proxy = Proxy::all(intercept.uri().to_string())
                .map_err(|error| Failure::Setup(format!("the proxy can't be used: {error}")))?;
            if let Some(authorization) = intercept.basic_auth() {
                proxy = proxy.custom_http_auth(authorization.clone());
            }
            builder = builder.proxy(proxy);
        }
        let client = builder.build().map_err(|error| Failure::Setup(error.to_string()))?;
        made.push((route, client.clone()));
        Ok(client)
    }
}

/// The caller's proxies. The plain-text variable is not for us, and no variable of the daemon or of a project is
/// (T70).
fn proxies(ctx: &Context) -> Result<Matcher, WireError> {
    let text = |names: [&'static str; 2]| {
        names.into_iter().find_map(|name| {
            ctx.env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty()).map(|v| (name, v))
        })
    };
    let mut matcher = Matcher::builder();
    if let Some((name, proxy)) =
        text(["https_proxy", "HTTPS_PROXY"]).or_else(|| text(["all_proxy", "ALL_PROXY"]))
    {
        let scheme = proxy.split_once("://").map_or("http", |(scheme, _)| scheme);
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(WireError::new(
                Code::UsageInvalid,
                format!("{name} names a proxy of a kind that is not supported"),
            )
            .with_fix(format!("set HTTPS_PROXY to an http:// or https:// proxy, or unset {name}"), &[]));
        }
        matcher = matcher.https(proxy.to_owned());
    }
    if let Some((_, no)) = text(["no_proxy", "NO_PROXY"]) {
        matcher = matcher.no(no.to_owned());
    }
    Ok(matcher.build())
}
