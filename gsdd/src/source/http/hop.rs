//! One stop on the way to the bytes: judged before it is contacted.

use gsdd_core::policy::{Contact, Errand, Policy};
use gsdd_core::source::address::HTTPS_PORT;
use gsdd_core::source::network::NetworkPolicy;
use gsdd_core::text::shown;
use reqwest::Url;

use super::failure::Failure;
use crate::policy::source_refused;

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

    /// Judges scheme, credentials, host, port and path.
    pub(super) fn judge(
        &self,
        network: &NetworkPolicy,
        policy: &Policy,
        errand: Errand<'_>,
    ) -> Result<(), Failure> {
        let url = &self.url;
        if url.scheme() != "https" {
            return Err(Failure::NotHttps);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Failure::Credentials);
        }
        let host = url.host_str().ok_or(Failure::NotAUrl)?;
        network.judge_host(host, url.port().unwrap_or(HTTPS_PORT)).map_err(Failure::Host)?;
        let contact = Contact { host, path: url.path(), errand, is_origin: self.is_origin };
        policy
            .judge_contact(&contact)
            .map_err(|objection| Failure::NotAllowed(Box::new(source_refused(&shown(host), &objection))))
    }
}

#[cfg(test)]
mod tests {
    use gsdd_core::policy::{FileText, Layer, read_layer};
    use gsdd_core::source::address::AddressRefusal;

    use super::*;

    fn judged(raw: &str) -> Result<(), Failure> {
        Hop::first(raw)?.judge(&NetworkPolicy::default(), &Policy::default(), Errand::Unnamed)
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
        let judged =
            |hop: &Hop, policy: &Policy| hop.judge(&NetworkPolicy::default(), policy, Errand::Tarball);
        let open = Policy::default();
        judged(&first.to(Some("../y.tgz")).unwrap(), &open).unwrap();
        for target in [
            "http://forge.example/x",
            "//127.0.0.1/x",
            "https://0x7f.1/x",
            "https://u:p@cdn.example/x",
            "file:///etc/passwd",
            "https://cdn.example:8443/x",
            "https://[fd00::1]/x",
        ] {
            assert!(judged(&first.to(Some(target)).unwrap(), &open).is_err(), "{target}");
        }
        let text = FileText::Bytes(b"[sources]\nallow = [\"host:forge.example\"]");
        let policy = Policy::new([read_layer(Layer::User, std::path::Path::new("p"), &text)]);
        judged(&first, &policy).unwrap();
        let away = first.to(Some("https://cdn.example/x")).unwrap();
        assert!(matches!(judged(&away, &policy), Err(Failure::NotAllowed(_))));
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
