//! `[network] private_hosts`: the hosts that may be reached although they are not on the public internet.
//!
//! Two files can say so: one of the machine, one of the person. Once one of them has the key, adding the other can
//! only take hosts away. A file that can't be understood closes the door: nothing is fetched over the network until
//! it is repaired.
//!
//! Source: decision D-18, threats T62, T68, T158, T160.

use std::fmt;

use super::address::{AddressRefusal, HTTPS_PORT, judge_host_text};

/// Most hosts of one file.
pub const MAX_PRIVATE_HOSTS: usize = 1024;

/// A host that a file lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateHost {
    /// In lower case, IPv6 addresses in brackets.
    host: String,
    /// Only this port; any when absent.
    port: Option<u16>,
}

impl PrivateHost {
    /// Reads `host` or `host:port`.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let after = match raw.strip_prefix('[') {
            Some(inner) => 2 + inner.find(']')?,
            None => raw.find(':').unwrap_or(raw.len()),
        };
        let (host, rest) = raw.split_at(after);
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => None,
            None => return None,
            Some(port) => Some(port.parse().ok().filter(|_| port.bytes().all(|b| b.is_ascii_digit()))?),
        };
        let host = host.to_ascii_lowercase();
        let is_address = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        let ok = match is_address {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                !host.is_empty()
                    && host.len() <= 253
                    && !host.starts_with(['.', '-'])
                    && !host.contains("..")
                    && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'))
                    // An address in an unusual spelling is never what a URL says after it was read.
                    && judge_host_text(&host) != Err(AddressRefusal::OddSpelling)
            }
        };
        ok.then_some(Self { host, port })
    }

    fn covers(&self, host: &str, port: u16) -> bool {
        self.host.eq_ignore_ascii_case(host) && self.port.is_none_or(|listed| listed == port)
    }
}

/// As it is written.
impl fmt::Display for PrivateHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

/// What one policy file says about hosts; `None` where it has no such key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkLayer {
    /// The listed hosts.
    pub private_hosts: Option<Vec<PrivateHost>>,
}

/// What both files say together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// The file of the machine.
    pub machine: NetworkLayer,
    /// The file of the person.
    pub user: NetworkLayer,
}

impl NetworkPolicy {
    /// Whether `host` at `port` may be reached whatever its address is. `host` as it stands in a URL, an IPv6 address
    /// in its brackets.
    ///
    /// A host is allowed when every file that has the key lists it, and at least one has it.
    #[must_use]
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let mut said =
            [&self.machine, &self.user].into_iter().filter_map(|layer| layer.private_hosts.as_ref());
        let lists = |hosts: &Vec<PrivateHost>| hosts.iter().any(|listed| listed.covers(host, port));
        said.next().is_some_and(lists) && said.all(lists)
    }

    /// Judges a host and port as a URL names them. A name that passes still has to be judged by its address.
    ///
    /// # Errors
    /// [`HostRefusal`].
    pub fn judge_host(&self, host: &str, port: u16) -> Result<(), HostRefusal> {
        if self.allows(host, port) {
            return Ok(());
        }
        judge_host_text(host)?;
        if port == HTTPS_PORT { Ok(()) } else { Err(HostRefusal::Port(port)) }
    }
}

/// Why a host of a URL is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostRefusal {
    /// By its address or its name.
    #[error(transparent)]
    Address(#[from] AddressRefusal),
    /// By its port.
    #[error("only port 443 is used, not {0}")]
    Port(u16),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layer(hosts: &[&str]) -> NetworkLayer {
        NetworkLayer {
            private_hosts: Some(hosts.iter().map(|host| PrivateHost::parse(host).unwrap()).collect()),
        }
    }

    #[test]
    fn a_host_is_shown_as_it_is_written() {
        for text in ["forge.corp.example", "localhost:8443", "[fd00::5]", "[fd00::1]:443"] {
            assert_eq!(PrivateHost::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn t62_t68_a_listed_host_is_reached_on_the_listed_port() {
        let policy = NetworkPolicy {
            user: layer(&["Localhost:8443", "forge.corp.example", "[fd00::1]:443", "10.0.0.5"]),
            ..NetworkPolicy::default()
        };
        for (host, port) in [
            ("localhost", 8443),
            ("forge.corp.example", 443),
            ("forge.corp.example", 8080),
            ("[fd00::1]", 443),
            ("10.0.0.5", 443),
        ] {
            assert_eq!(policy.judge_host(host, port), Ok(()), "{host}:{port}");
        }
        for (host, port) in [
            ("localhost", 443),
            ("localhost", 8444),
            ("[fd00::1]", 8443),
            ("10.0.0.6", 443),
            ("x.localhost", 8443),
        ] {
            assert!(policy.judge_host(host, port).is_err(), "{host}:{port}");
        }
    }

    #[test]
    fn what_is_no_host_is_not_listed() {
        for raw in [
            "",
            ":443",
            "a:",
            "a:+1",
            "a:65536",
            "a:1:2",
            "[::1",
            "[::1]x",
            "[::1]:",
            "[x]",
            ".a",
            "-a",
            "a..b",
            "a b",
            "a/b",
            "0x7f.1",
            "*.a.example",
        ] {
            assert_eq!(PrivateHost::parse(raw), None, "{raw}");
        }
        let long = "n".repeat(254);
        assert!(PrivateHost::parse(&long).is_none() && PrivateHost::parse(&long[1..]).is_some());
    }

    #[test]
    fn t68_ports_other_than_443_are_refused() {
        let policy = NetworkPolicy::default();
        assert_eq!(policy.judge_host("forge.example", 443), Ok(()));
        for port in [0, 22, 80, 6379, 8443] {
            assert_eq!(policy.judge_host("forge.example", port), Err(HostRefusal::Port(port)));
        }
    }

    fn some_layer() -> impl Strategy<Value = NetworkLayer> {
        let host = prop::sample::select(vec!["a.example", "b.example:8443", "localhost", "10.0.0.1:443"]);
        prop::option::of(prop::collection::vec(host, 0..4))
            .prop_map(|hosts| hosts.map_or_else(NetworkLayer::default, |hosts| layer(&hosts)))
    }

    proptest! {
        /// Once one file has spoken, another never allows what was refused, and an empty list refuses everything.
        #[test]
        fn t160_adding_a_layer_never_allows_what_was_refused(
            machine in some_layer(),
            user in some_layer(),
            host in prop::sample::select(vec!["a.example", "b.example", "localhost", "10.0.0.1", "c.example"]),
            port in prop::sample::select(vec![443u16, 8443]),
        ) {
            let both = NetworkPolicy { machine: machine.clone(), user: user.clone() };
            for one in [
                NetworkPolicy { machine: machine.clone(), ..NetworkPolicy::default() },
                NetworkPolicy { user: user.clone(), ..NetworkPolicy::default() },
            ] {
                let spoke = one.machine.private_hosts.is_some() || one.user.private_hosts.is_some();
                prop_assert!(!spoke || !both.allows(host, port) || one.allows(host, port));
            }
            let emptied = [
                NetworkPolicy { machine: layer(&[]), user },
                NetworkPolicy { machine, user: layer(&[]) },
            ];
            prop_assert!(emptied.iter().all(|policy| !policy.allows(host, port)));
        }
    }
}
