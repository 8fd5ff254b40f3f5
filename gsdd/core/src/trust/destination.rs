//! Where a reviewer lane sends what it receives, in one comparable form, and whether that is this machine.
//!
//! Source: ADR-2782 D5 (the destination is disclosed, bound, and compared at each use); threats T113 to T115.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest destination that is read, in bytes; a longer one is cut, and so never equals a shorter one by accident
/// because the cut is part of the form.
const MAX_DESTINATION: usize = 2048;

/// A destination as it was written, brought into one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// `scheme://host[:port][/path]`: scheme and host in lower case, without the port that the scheme implies and
    /// without a slash at the end. Text of another shape stays as it is.
    pub address: String,
    /// Whether it names this machine, in any spelling that programs read as an address of it.
    pub is_local: bool,
}

impl Destination {
    /// Brings `raw` into the comparable form; `None` when there is nothing in it.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let mut raw = raw.trim();
        if raw.len() > MAX_DESTINATION {
            let end = (0..=MAX_DESTINATION).rev().find(|at| raw.is_char_boundary(*at)).unwrap_or(0);
            raw = raw.get(..end).unwrap_or_default();
        }
        if raw.is_empty() {
            return None;
        }
        let (scheme, rest) = match raw.split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            // A bare host is read as upstream reads it: without encryption.
            None => ("http".to_owned(), raw),
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
        let host_and_port = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
        let (host, port) = split_port(host_and_port);
        let host = host.to_ascii_lowercase();
        let implied = match scheme.as_str() {
            "http" => "80",
            "https" => "443",
            _ => "",
        };
        let port = if port.is_empty() || port == implied { String::new() } else { format!(":{port}") };
        let user = if authority.len() > host_and_port.len() {
            &authority[..authority.len() - host_and_port.len()]
        } else {
            ""
        };
        let address = format!("{scheme}://{user}{host}{port}{}", path.trim_end_matches('/'));
        Some(Self { is_local: is_this_machine(&host), address })
    }
}

/// `[::1]:8080`, `host:8080`, `host`.
fn split_port(place: &str) -> (&str, &str) {
    let after_brackets = place.find(']').map_or(0, |at| at + 1);
    match place[after_brackets..].rfind(':') {
        Some(at) => (&place[..after_brackets + at], &place[after_brackets + at + 1..]),
        None => (place, ""),
    }
}

fn is_this_machine(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let Ok(address) = inner.parse::<Ipv6Addr>() else { return false };
        let inner = address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4);
        return inner.is_loopback() || inner.is_unspecified();
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    if name == "localhost" || name.ends_with(".localhost") {
        return true;
    }
    old_spelling(name).is_some_and(|address| address.is_loopback() || address.is_unspecified())
}

/// An IPv4 address as the C library reads it: one to four parts, decimal, octal or hexadecimal, the last one filling
/// the rest.
fn old_spelling(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u32> = text
        .split('.')
        .map(|part| match part.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None if part.len() > 1 && part.starts_with('0') => u32::from_str_radix(part, 8).ok(),
            None => part.parse().ok(),
        })
        .collect::<Option<_>>()?;
    let (last, front) = parts.split_last()?;
    if front.len() > 3 || front.iter().any(|part| *part > 255) {
        return None;
    }
    let high = front.iter().zip([24, 16, 8]).fold(0_u32, |sum, (part, shift)| sum | part << shift);
    let room = u32::MAX.checked_shr(8 * u32::try_from(front.len()).ok()?).unwrap_or(0);
    (*last <= room).then(|| Ipv4Addr::from(high | last))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(raw: &str) -> (String, bool) {
        let destination = Destination::parse(raw).unwrap();
        (destination.address, destination.is_local)
    }

    #[test]
    fn spellings_of_one_destination_are_one_form() {
        for raw in ["HTTP://LocalHost:80/", "http://localhost", " localhost ", "http://localhost:80"] {
            assert_eq!(parsed(raw), ("http://localhost".to_owned(), true), "{raw}");
        }
        assert_eq!(parsed("https://a.example:443/v1/"), ("https://a.example/v1".to_owned(), false));
        assert_ne!(parsed("http://a.example").0, parsed("https://a.example").0);
        assert_ne!(parsed("http://a.example:81").0, parsed("http://a.example").0);
        assert_ne!(parsed("http://u@a.example").0, parsed("http://a.example").0);
        assert_eq!(Destination::parse("  "), None);
    }

    #[test]
    fn t115_this_machine_is_told_in_every_spelling_and_nothing_else_is() {
        for local in [
            "http://127.0.0.1:1234",
            "http://127.1",
            "2130706433",
            "http://0x7f.1",
            "http://0177.0.0.1",
            "http://[::1]:8080",
            "http://[::ffff:127.0.0.1]",
            "http://x.localhost",
            "http://localhost.",
            "0.0.0.0",
        ] {
            assert!(parsed(local).1, "{local}");
        }
        for remote in [
            "http://notlocalhost.example",
            "http://localhost.example",
            "http://127.0.0.1.example",
            "http://10.0.0.1",
            "http://localhost@evil.example",
            "http://evil.example/localhost",
            "http://evil.example#@localhost",
            "http://evil.example\\@localhost",
            "http://128.1",
            "http://[::2]",
            "http://1.2.3.4.5",
            "http://256.1",
        ] {
            assert!(!parsed(remote).1, "{remote}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_stable_form(raw in "\\PC{0,40}") {
            if let Some(once) = Destination::parse(&raw) {
                let again = Destination::parse(&once.address);
                prop_assert_eq!(again.map(|again| again.is_local), Some(once.is_local));
            }
        }
    }
}
