//! The few kinds of URL that a source may be, taken apart strictly.
//!
//! Not a general URL reader: no relative forms, no percent signs or non-ASCII letters in hosts, no user-info except
//! the user name that ssh needs. What is written is what is recorded and what is compared with the policy.

use std::fmt;

use super::refusal::{SpecRefusal, SpecRefusalKind};

/// A URL of a source.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SourceUrl {
    /// In lower case: `https`, `ssh`, `oci`.
    pub scheme: String,
    /// User name; ssh only.
    pub user: Option<String>,
    /// In lower case; an IPv6 address in its brackets.
    pub host: String,
    /// The port as written.
    pub port: Option<u16>,
    /// From the first slash on, without query; may be empty.
    pub path: String,
    /// After the question mark.
    pub query: Option<String>,
}

impl fmt::Debug for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceUrl({}://{}{})", self.scheme, self.host, self.path)
    }
}

impl SourceUrl {
    /// Takes a URL without fragment apart.
    ///
    /// # Errors
    /// [`SpecRefusal`] for a missing scheme, credentials, a host or path of another shape.
    pub fn parse(raw: &str) -> Result<Self, SpecRefusal> {
        let (scheme, rest) = split_scheme(raw).ok_or(SpecRefusalKind::Unclassifiable.refusal())?;
        let scheme = scheme.to_ascii_lowercase();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        let user = match user {
            None => None,
            Some(user) if scheme == "ssh" && is_user_name(user) => Some(user.to_owned()),
            Some(_) => return Err(SpecRefusalKind::Credentials.refusal()),
        };
        let (host, port) = split_port(place)?;
        check_host(host)?;
        let (path, query) = match tail.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (tail, None),
        };
        if tail
            .chars()
            .any(|c| c.is_whitespace() || matches!(c, '\\' | '"' | '<' | '>' | '`' | '{' | '}' | '#'))
        {
            return Err(SpecRefusalKind::Unclassifiable.refusal());
        }
        Ok(Self {
            scheme,
            user,
            host: host.to_ascii_lowercase(),
            port,
            path: path.to_owned(),
            query: query.map(str::to_owned),
        })
    }

    /// The host without a port.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }
}

/// `https://…` into scheme and the rest.
#[must_use]
pub fn split_scheme(raw: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = raw.split_once("://")?;
    is_scheme(scheme).then_some((scheme, rest))
}

/// Whether a text is a URL scheme.
#[must_use]
pub fn is_scheme(raw: &str) -> bool {
    let mut bytes = raw.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

fn is_user_name(user: &str) -> bool {
    user.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
        && user.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn split_port(place: &str) -> Result<(&str, Option<u16>), SpecRefusal> {
    let malformed = SpecRefusalKind::Host.refusal();
    let after_host = match place.strip_prefix('[') {
        Some(inner) => 2 + inner.find(']').ok_or(malformed)?,
        None => place.find(':').unwrap_or(place.len()),
    };
    let (host, rest) = place.split_at(after_host);
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Ok((host, None)),
        Some(port) if port.bytes().all(|b| b.is_ascii_digit()) => {
            port.parse().map(|port| (host, Some(port))).map_err(|_| malformed)
        }
        _ => Err(malformed),
    }
}

fn check_host(host: &str) -> Result<(), SpecRefusal> {
    if host.starts_with('-') {
        return Err(SpecRefusalKind::DashHost.refusal());
    }
    let ok = match host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !host.is_empty()
                && !host.starts_with('.')
                && !host.contains("..")
                && host.len() <= 253
                && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'))
        }
    };
    if ok { Ok(()) } else { Err(SpecRefusalKind::Host.refusal()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(raw: &str, kind: SpecRefusalKind) {
        assert_eq!(SourceUrl::parse(raw).unwrap_err().kind, kind, "{raw}");
    }

    #[test]
    fn urls_are_taken_apart() {
        let url = SourceUrl::parse("SSH://git@Host.example:2222/org/r.git").unwrap();
        assert_eq!((url.scheme.as_str(), url.user.as_deref()), ("ssh", Some("git")));
        assert_eq!((url.host(), url.port, url.path.as_str()), ("host.example", Some(2222), "/org/r.git"));
        assert_eq!(SourceUrl::parse("ssh://_g.i-t@h.example/r").unwrap().user.as_deref(), Some("_g.i-t"));
        let url = SourceUrl::parse("https://[2001:DB8::1]/c.tgz?x=1").unwrap();
        assert_eq!((url.host(), url.query.as_deref()), ("[2001:db8::1]", Some("x=1")));
        assert_eq!(format!("{url:?}"), "SourceUrl(https://[2001:db8::1]/c.tgz)", "a query may carry a token");
    }

    #[test]
    fn t66_t80_t159_hosts_are_plain() {
        refused("https://user:pw@h.example/x", SpecRefusalKind::Credentials);
        refused("https://forge.example@evil.invalid/x", SpecRefusalKind::Credentials);
        refused("ssh://git:pw@h.example/x", SpecRefusalKind::Credentials);
        refused("ssh://-oProxyCommand=id/x", SpecRefusalKind::DashHost);
        refused("https:///x", SpecRefusalKind::Host);
        refused("https://bücher.example/x", SpecRefusalKind::Host);
        refused("https://h.example%2f.evil/x", SpecRefusalKind::Host);
        refused("https://h.example:99999/x", SpecRefusalKind::Host);
        refused("ssh://-u@h.example/x", SpecRefusalKind::Credentials);
        refused("ssh://g;t@h.example/x", SpecRefusalKind::Credentials);
        for place in [
            "[::1",
            "[::1]x",
            "[x]",
            ".h.example",
            "h..example",
            "h.example:",
            "h.example:+1",
            "h.example:1:2",
        ] {
            refused(&format!("https://{place}/x"), SpecRefusalKind::Host);
        }
        let longest = "n".repeat(253);
        refused(&format!("https://n{longest}/x"), SpecRefusalKind::Host);
        assert_eq!(SourceUrl::parse(&format!("https://{longest}/x")).unwrap().host(), longest);
        for raw in ["https://h.example/a b", "h ttps://h.example/x", "1https://h.example/x", "://h.example/x"]
        {
            refused(raw, SpecRefusalKind::Unclassifiable);
        }
    }
}
