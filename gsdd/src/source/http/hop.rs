//! One stop on the way to the bytes: judged before it is contacted.

use gsdd_core::source::address::HTTPS_PORT;
use gsdd_core::source::network::NetworkPolicy;
use gsdd_core::source::policy::KnownRegistries;
use reqwest::Url;

use super::failure::Failure;

/// A URL that is about to be contacted.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    pub(super) url: Url,
    /// Whether nothing but the origin of the request was contacted so far: only then credentials are sent. Coming back
    /// to it does not bring them back.
    pub(super) is_origin: bool,
}

impl Hop {
    pub(super) fn first(raw: &str) -> Result<Self, Failure> {
        // The reader of URLs repairs what it can; a spelling that it would have to repair is refused instead.
        let host = raw.split_once("://").map_or("", |(_, rest)| rest);
        let host = &host[..host.find(['/', '?', '#']).unwrap_or(host.len())];
        if host.contains(|c: char| !c.is_ascii_graphic() || matches!(c, '%' | '\\')) {
            return Err(Failure::NotAUrl);
        }
        let url = Url::parse(raw).map_err(|_| Failure::NotAUrl)?;
        // What it made of the host has to be what was written: `0x7f.1` is not.
        let name = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let same = url.host_str().is_some_and(|read| {
            let written = name.get(..read.len()).unwrap_or_default();
            written.eq_ignore_ascii_case(read) && matches!(name.as_bytes().get(read.len()), None | Some(b':'))
        });
        if !same {
            return Err(Failure::Host(gsdd_core::source::address::AddressRefusal::OddSpelling.into()));
        }
        Ok(Self { url, is_origin: true })
    }

    /// Where a redirect leads to.
    pub(super) fn to(&self, target: Option<&str>) -> Result<Self, Failure> {
        let target = target.ok_or(Failure::RedirectWithoutTarget)?;
        let mut url = self.url.join(target).map_err(|_| Failure::RedirectWithoutTarget)?;
        url.set_fragment(None);
        let is_origin = self.is_origin && url.origin() == self.url.origin();
        Ok(Self { url, is_origin })
    }

    /// Judges scheme, credentials, host and port.
    pub(super) fn judge(
        &self,
        policy: &NetworkPolicy,
        known: Option<&KnownRegistries>,
    ) -> Result<(), Failure> {
        let url = &self.url;
        if url.scheme() != "https" {
            return Err(Failure::NotHttps);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Failure::Credentials);
        }
        let host = url.host_str().ok_or(Failure::NotAUrl)?;
        policy.judge_host(host, url.port().unwrap_or(HTTPS_PORT)).map_err(Failure::Host)?;
        known.map_or(Ok(()), |known| known.judge_host(host)).map_err(Failure::NotListed)
    }
}

#[cfg(test)]
mod tests {
    use gsdd_core::source::address::AddressRefusal;

    use super::*;

    fn judged(raw: &str) -> Result<(), Failure> {
        Hop::first(raw)?.judge(&NetworkPolicy::default(), None)
    }

    #[test]
    fn t58_t59_t66_t67_t68_a_url_is_judged_before_anything_is_dialled() {
        judged("https://forge.example/x.tgz?token=1").unwrap();
        judged("https://FORGE.example:443/x.tgz").unwrap();
        for (raw, why) in [
            ("https://127.0.0.1/x", AddressRefusal::Loopback),
            ("https://localhost./x", AddressRefusal::Loopback),
            ("https://0x7f.1/x", AddressRefusal::OddSpelling),
            ("https://2130706433/x", AddressRefusal::OddSpelling),
            ("https://[::ffff:127.0.0.1]/x", AddressRefusal::OddSpelling),
            ("https://[::ffff:7f00:1]/x", AddressRefusal::Embedded),
        ] {
            assert_eq!(judged(raw), Err(Failure::Host(why.into())), "{raw}");
        }
        assert_eq!(judged("http://forge.example/x"), Err(Failure::NotHttps));
        assert_eq!(judged("ftp://forge.example/x"), Err(Failure::NotHttps));
        assert_eq!(judged("https://u@forge.example/x"), Err(Failure::Credentials));
        assert!(matches!(judged("https://forge.example:22/x"), Err(Failure::Host(_))));
        for raw in ["https://forge%2eexample/x", "https://f\u{f6}rge.example/x", "https://a b/x", "x"] {
            assert_eq!(judged(raw), Err(Failure::NotAUrl), "{raw}");
        }
    }

    #[test]
    fn t64_every_redirect_is_judged_like_the_first_url() {
        let first = Hop::first("https://forge.example/a/x.tgz").unwrap();
        let policy = NetworkPolicy::default();
        first.to(Some("../y.tgz")).unwrap().judge(&policy, None).unwrap();
        for target in [
            "http://forge.example/x",
            "//127.0.0.1/x",
            "https://0x7f.1/x",
            "https://u:p@cdn.example/x",
            "file:///etc/passwd",
            "https://cdn.example:8443/x",
            "https://[fd00::1]/x",
        ] {
            assert!(first.to(Some(target)).unwrap().judge(&policy, None).is_err(), "{target}");
        }
        let known = KnownRegistries::Listed(vec!["forge.example".to_owned()]);
        first.judge(&policy, Some(&known)).unwrap();
        let away = first.to(Some("https://cdn.example/x")).unwrap();
        assert!(matches!(away.judge(&policy, Some(&known)), Err(Failure::NotListed(_))));
    }

    #[test]
    fn t65_credentials_stay_with_their_origin_and_do_not_come_back() {
        let first = Hop::first("https://forge.example/x").unwrap();
        assert!(first.to(Some("/y")).unwrap().is_origin);
        let away = first.to(Some("https://cdn.example/x")).unwrap();
        assert!(!away.is_origin);
        assert!(!away.to(Some("https://forge.example/x")).unwrap().is_origin);
        assert!(!first.to(Some("https://forge.example:8443/x")).unwrap().is_origin);
    }
}
