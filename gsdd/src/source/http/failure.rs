//! What can go wrong on the way, each with its own answer and remedy (FR-032).

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use gsd_proto::{Code, WireError};
use gsdd_core::source::address::AddressRefusal;
use gsdd_core::source::network::HostRefusal;
use gsdd_core::text::{shown, shown_up_to};
use reqwest::{StatusCode, Url};

use super::resolve::{RefusedAddress, UnknownName};
use crate::source::{printable, watch};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    NotAUrl,
    NotHttps,
    Credentials,
    Host(HostRefusal),
    /// By the policy.
    NotAllowed(Box<WireError>),
    TooManyRedirects,
    RedirectWithoutTarget,
    UnknownName(String),
    LeadsTo(IpAddr, AddressRefusal),
    NoConnection(String),
    NoAnswer,
    TooLong(Duration),
    TooSlow,
    Certificate(String),
    Tls(String),
    Status(StatusCode),
    TooLarge(u64),
    Encoded,
    BrokenOff(String),
    Cancelled,
    Disk(String),
    Setup(String),
}

impl Failure {
    /// Finds out what an error of the client is about.
    pub(super) fn of(error: &reqwest::Error) -> Self {
        let mut told = String::new();
        let mut next: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(cause) = next {
            if let Some(failure) = Self::recognised(cause) {
                return failure;
            }
            // What the operating system or the library said last is the most precise.
            told = shown_up_to(&cause.to_string(), 200);
            next = cause.source();
        }
        if error.is_timeout() {
            Self::NoAnswer
        } else if error.is_connect() {
            Self::NoConnection(told)
        } else {
            Self::BrokenOff(told)
        }
    }

    fn recognised(cause: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(refused) = cause.downcast_ref::<RefusedAddress>() {
            return Some(Self::LeadsTo(refused.address, refused.refusal));
        }
        if let Some(unknown) = cause.downcast_ref::<UnknownName>() {
            return Some(Self::UnknownName(shown_up_to(&unknown.to_string(), 200)));
        }
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            let told = shown_up_to(&tls.to_string(), 200);
            return Some(match tls {
                rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
                    Self::Certificate(told)
                }
                _ => Self::Tls(told),
            });
        }
        // An IO error hides what it was made from.
        cause
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
            .and_then(|inner| Self::recognised(inner))
    }

    #[allow(clippy::needless_pass_by_value, reason = "its place is `map_err`")]
    pub(super) fn disk(error: std::io::Error) -> Self {
        Self::Disk(error.to_string())
    }

    /// The answer, for a URL that could not even be read.
    pub(super) fn explain_unread(self, asked: &str) -> WireError {
        self.about(&printable(asked), None, None)
    }

    /// The answer, when `url` was contacted, or was going to be, on the way from `asked`.
    pub(super) fn explain(self, url: &Url, asked: &str) -> WireError {
        let reached = printable(url.as_str());
        let host = url.host_str().map(|host| match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        });
        let asked = printable(asked);
        let via = (asked != reached).then(|| format!("{asked} redirects to it"));
        self.about(&reached, host.as_deref(), via)
    }

    fn about(self, url: &str, host: Option<&str>, via: Option<String>) -> WireError {
        let host = shown(host.unwrap_or(url));
        let unreachable = |what: String| WireError::new(Code::SourceUnreachable, what);
        let blocked = |what: String| WireError::new(Code::PolicyBlocked, what);
        let retry = "try again; if it keeps happening, look at the network between you and that host";
        let error = match self {
            Self::NotAUrl => WireError::new(Code::SourceSpecInvalid, format!("{url} is not a usable URL"))
                .with_fix("write it as https://host/path, without spaces and percent signs in the host", &[]),
            Self::NotHttps => blocked(format!("{url} is not an https URL"))
                .with_fix("ask whoever runs that host for an https URL", &[]),
            Self::Credentials => blocked(format!("{url} carries a user name or password"))
                .with_fix("leave them out: they would be recorded", &[]),
            Self::Host(refusal) => private(blocked(format!("{host} is not contacted: {refusal}")), &host),
            Self::LeadsTo(address, refusal) => {
                let error = blocked(format!("{host} is not contacted: it leads to {address}"));
                private(error.caused_by(refusal.to_string()), &host)
            }
            Self::NotAllowed(refusal) => *refusal,
            Self::TooManyRedirects => unreachable(format!("{url} redirects too often"))
                .with_fix("name the address that it leads to in the end", &[]),
            Self::RedirectWithoutTarget => {
                unreachable(format!("{url} redirects to nowhere")).with_fix("ask whoever runs that host", &[])
            }
            Self::UnknownName(told) => unreachable(format!("the host {host} is not known"))
                .caused_by(told)
                .with_fix("check the spelling of the host, and the network", &[]),
            Self::NoConnection(told) => {
                unreachable(format!("no connection to {host}")).caused_by(told).with_fix(retry, &[])
            }
            Self::NoAnswer => unreachable(format!("{host} did not answer in time")).with_fix(retry, &[]),
            Self::TooLong(limit) => {
                unreachable(format!("{url} did not arrive within {} s", limit.as_secs())).with_fix(retry, &[])
            }
            Self::TooSlow => {
                unreachable(format!("{host} sends too slowly to be waited for")).with_fix(retry, &[])
            }
            Self::Certificate(told) => unreachable(format!("the certificate of {host} is not trusted"))
                .caused_by(told)
                .with_fix("if your organisation has its own authority, name its file in SSL_CERT_FILE", &[]),
            Self::Tls(told) => unreachable(format!("{host} and this program found no common TLS settings"))
                .caused_by(told)
                .with_fix("ask whoever runs that host to offer TLS 1.2 or later", &[]),
            Self::Status(status) => status_error(status, url, &host),
            Self::TooLarge(limit) => {
                let mut error = unreachable(format!("{url} has more than {limit} bytes"))
                    .with_fix("ask the author for a smaller archive", &[]);
                error.code = "bundle.too-large".into();
                error.exit = Code::UsageInvalid.exit();
                error
            }
            Self::Encoded => unreachable(format!("{host} encodes its answer, which was not asked for"))
                .with_fix("ask whoever runs that host to serve the bytes as they are", &[]),
            Self::BrokenOff(told) => {
                unreachable(format!("the answer of {host} broke off")).caused_by(told).with_fix(retry, &[])
            }
            Self::Cancelled => return watch::cancelled(),
            Self::Disk(told) => WireError::new(Code::IoFailed, "the download could not be written")
                .caused_by(told)
                .with_fix("make room on the disk that holds our state folder", &[]),
            Self::Setup(told) => {
                WireError::new(Code::Internal, "the network can't be used").caused_by(shown_up_to(&told, 200))
            }
        };
        match via {
            Some(via) => error.caused_by(via),
            None => error,
        }
    }
}

/// What to do when a host is wanted although it is not public.
fn private(error: WireError, host: &str) -> WireError {
    error.with_fix(
        format!(
            "if that host is yours, list it in ~/.config/gsd/policy.toml, and in /etc/gsd/policy.toml where that has such a list: [network] private_hosts = [\"{host}\"]"
        ),
        &[],
    )
}

fn status_error(status: StatusCode, url: &str, host: &str) -> WireError {
    let number = status.as_u16();
    match number {
        401 | 403 | 407 => WireError::new(
            Code::SourceUnreachable,
            format!("{host} wants authentication for {url} (status {number})"),
        )
        .with_fix("use a source that you have access to, or the git repository behind it", &[]),
        404 | 410 => WireError::new(Code::NotFound, format!("there is nothing at {url} (status {number})"))
            .with_fix("check the URL; what is private also looks like this without access", &[]),
        429 => WireError::new(Code::SourceUnreachable, format!("{host} wants fewer requests (status 429)"))
            .with_fix("wait a while, then run the same command again", &[]),
        _ => WireError::new(Code::SourceUnreachable, format!("{host} answered with status {number}"))
            .with_fix("try again later, or ask whoever runs that host", &[]),
    }
}
