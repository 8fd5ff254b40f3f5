//! Which hosts and addresses a source may lead to.
//!
//! A spec, a redirect or the answer of a name server may point anywhere; nothing of it may reach a machine that only
//! this one can see. The text of a host is judged first, because some spellings mean an address, and then the
//! address that is dialled, whoever named it. What a policy file lists is not judged here.
//!
//! Source: IANA special-purpose address registries; threats T58 to T63 and T68.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The one port of a source, unless a policy lists another.
pub const HTTPS_PORT: u16 = 443;

/// Why an address or a host is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum AddressRefusal {
    /// `127.0.0.0/8`, `::1`, `localhost` and what is below it.
    #[error("it is this machine itself")]
    Loopback,
    /// `0.0.0.0/8`, `::`.
    #[error("it is the unspecified address")]
    Unspecified,
    /// `169.254.0.0/16`, `fe80::/10`: neighbours, and the metadata services of clouds.
    #[error("it is a link-local address, where the metadata services of clouds are")]
    LinkLocal,
    /// `10/8`, `172.16/12`, `192.168/16`, `fc00::/7`, `fec0::/10`.
    #[error("it is a private address")]
    Private,
    /// `100.64.0.0/10`, between a provider and its customers.
    #[error("it is an address inside of a provider's network")]
    Shared,
    /// Groups of machines.
    #[error("it is a multicast or broadcast address")]
    Multicast,
    /// Reserved for documentation.
    #[error("it is an address for documentation")]
    Documentation,
    /// Another block that is not part of the public internet.
    #[error("it is not an address of the public internet")]
    Reserved,
    /// An IPv4 address inside of an IPv6 one: mapped, compatible, translated, 6to4, Teredo.
    #[error("it is an IPv4 address in the form of an IPv6 one")]
    Embedded,
    /// `127.1`, `0x7f.1`, `2130706433`, `0177.0.0.1`: programs read these differently.
    #[error("it is an unusual spelling of an address")]
    OddSpelling,
    /// Nothing that could be looked up.
    #[error("it is not a name of a host")]
    NotAHost,
}

/// Judges the text of a host: an address by [`judge_address`], a name by what it says already.
///
/// # Errors
/// [`AddressRefusal`]. A name that passes still has to be judged by the address that it leads to.
pub fn judge_host_text(host: &str) -> Result<(), AddressRefusal> {
    if let Some(inner) = host.strip_prefix('[') {
        let inner = inner.strip_suffix(']').ok_or(AddressRefusal::NotAHost)?;
        return inner
            .parse::<Ipv6Addr>()
            .map_err(|_| AddressRefusal::NotAHost)
            .and_then(|address| judge_address(IpAddr::V6(address)));
    }
    // Without brackets it is no host of a URL; somebody may read it as one all the same.
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return judge_address(IpAddr::V6(address));
    }
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.is_empty() {
        return Err(AddressRefusal::NotAHost);
    }
    // A last label that is a number makes the whole host an address, to the readers that matter.
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_number {
        let address: Ipv4Addr = name.parse().map_err(|_| AddressRefusal::OddSpelling)?;
        judge_address(IpAddr::V4(address))?;
        // With a dot at the end it is a name to some readers.
        return if host.ends_with('.') { Err(AddressRefusal::OddSpelling) } else { Ok(()) };
    }
    if last == "localhost" || name == "localhost.localdomain" || name == "ip6-localhost" {
        return Err(AddressRefusal::Loopback);
    }
    Ok(())
}

/// Judges an address that would be dialled.
///
/// # Errors
/// [`AddressRefusal`] for everything that is not an address of the public internet.
pub fn judge_address(address: IpAddr) -> Result<(), AddressRefusal> {
    match address {
        IpAddr::V4(address) => judge_v4(address),
        IpAddr::V6(address) => judge_v6(address),
    }
}

fn judge_v4(address: Ipv4Addr) -> Result<(), AddressRefusal> {
    let refusal = match address.octets() {
        [0, ..] => AddressRefusal::Unspecified,
        [127, ..] => AddressRefusal::Loopback,
        [169, 254, ..] => AddressRefusal::LinkLocal,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressRefusal::Private,
        [100, 64..=127, ..] => AddressRefusal::Shared,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressRefusal::Documentation,
        // Protocol assignments, the relays of 6to4, measurements inside of networks.
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] => AddressRefusal::Reserved,
        [224..=239, ..] | [255, 255, 255, 255] => AddressRefusal::Multicast,
        [240..=255, ..] => AddressRefusal::Reserved,
        _ => return Ok(()),
    };
    Err(refusal)
}

fn judge_v6(address: Ipv6Addr) -> Result<(), AddressRefusal> {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    let refusal = match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressRefusal::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressRefusal::Loopback,
        // Compatible, mapped, translated.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => AddressRefusal::Embedded,
        // A network without IPv4 reaches every public IPv4 address in this form: what counts is the one inside.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => return judge_v4(embedded(high, low)),
        [0x64, 0xff9b, ..] => AddressRefusal::Private,
        // 6to4, Teredo.
        [0x2002, ..] | [0x2001, 0, ..] => AddressRefusal::Embedded,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => AddressRefusal::Documentation,
        [0x2001, 0..=0x1ff, ..] => AddressRefusal::Reserved,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => AddressRefusal::Private,
        [0xfe80..=0xfebf, ..] => AddressRefusal::LinkLocal,
        [0xff00..=0xffff, ..] => AddressRefusal::Multicast,
        [0x2000..=0x3fff, ..] => return Ok(()),
        _ => AddressRefusal::Reserved,
    };
    Err(refusal)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::AddressRefusal::{
        Documentation, Embedded, LinkLocal, Loopback, Multicast, NotAHost, OddSpelling, Private, Reserved,
        Shared, Unspecified,
    };
    use super::*;

    #[track_caller]
    fn refused(hosts: &[&str], why: AddressRefusal) {
        for host in hosts {
            assert_eq!(judge_host_text(host), Err(why), "{host}");
        }
    }

    #[test]
    fn ordinary_hosts_pass() {
        for host in [
            "forge.example",
            "FORGE.example.",
            "localhost.example",
            "notlocalhost",
            "0x.example",
            "8.8.8.8",
            "100.63.255.255",
            "172.32.0.1",
            "[2606:4700::1111]",
            "[64:ff9b::808:808]",
        ] {
            assert_eq!(judge_host_text(host), Ok(()), "{host}");
        }
    }

    #[test]
    fn t58_loopback() {
        refused(&["127.0.0.1", "127.255.0.9", "localhost", "LocalHost.", "x.localhost"], Loopback);
        refused(&["localhost.localdomain", "ip6-localhost"], Loopback);
        refused(&["0.0.0.0", "0.1.2.3"], Unspecified);
    }

    #[test]
    fn t59_other_spellings_of_an_address() {
        refused(&["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0x7f000001", "1.2.3.4.5"], OddSpelling);
        refused(&["8.8.8.8.", "08.8.8.8", "8.8.2056"], OddSpelling);
        refused(&["", ".", "[::1", "[x]"], NotAHost);
    }

    #[test]
    fn t60_addresses_inside_of_ipv6_addresses() {
        refused(&["[::1]"], Loopback);
        refused(&["[::]", "::"], Unspecified);
        refused(&["::1"], Loopback);
        refused(&["[::ffff:127.0.0.1]", "[::ffff:8.8.8.8]", "[::127.0.0.1]", "[::ffff:0:8.8.8.8]"], Embedded);
        refused(&["[2002:7f00:1::]", "[2001:0:1::]"], Embedded);
        refused(&["[64:ff9b::7f00:1]"], Loopback);
        refused(&["[64:ff9b::a9fe:a9fe]"], LinkLocal);
        refused(&["[64:ff9b:1::808:808]"], Private);
    }

    #[test]
    fn t61_link_local_and_metadata() {
        refused(&["169.254.169.254", "[fe80::1]", "[febf::1]"], LinkLocal);
        refused(&["[fd00:ec2::254]"], Private);
        refused(&["100.100.100.200"], Shared);
    }

    #[test]
    fn t62_private_ranges() {
        refused(
            &["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "[fc00::1]", "[fec0::1]"],
            Private,
        );
        refused(&["100.64.0.1", "100.127.255.255"], Shared);
        refused(&["224.0.0.1", "255.255.255.255", "[ff02::1]"], Multicast);
        refused(&["192.0.2.1", "198.51.100.1", "203.0.113.1", "[2001:db8::1]", "[3fff::1]"], Documentation);
        refused(&["198.18.0.1", "192.0.0.8", "192.88.99.1", "240.0.0.1"], Reserved);
        refused(&["[100::1]", "[2001:2::1]", "[5f00::1]", "[4000::1]"], Reserved);
    }

    proptest! {
        /// No way of writing an address gets around the judgement of the address itself.
        #[test]
        fn text_and_address_agree(bits in any::<u128>(), low in any::<u32>()) {
            let v6 = Ipv6Addr::from_bits(bits);
            prop_assert_eq!(judge_host_text(&format!("[{v6}]")), judge_address(IpAddr::V6(v6)));
            let v4 = Ipv4Addr::from_bits(low);
            prop_assert_eq!(judge_host_text(&v4.to_string()), judge_address(IpAddr::V4(v4)));
            let wrapped = v4.to_ipv6_mapped();
            prop_assert!(judge_address(IpAddr::V6(wrapped)).is_err());
        }
    }
}
