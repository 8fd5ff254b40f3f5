//! What an OCI registry answers: manifests of bundles, and challenges for a token.
//!
//! A bundle is an artifact of one layer, an archive. How the archive is compressed its content says; its media type
//! only promises.
//!
//! Source: OCI image specification 1.1 (manifests), OCI distribution specification 1.1 (pulling), RFC 9110 section
//! 11.6.1 (challenges).

use serde::Deserialize;

/// Largest manifest, in bytes: what registries take.
pub const MAX_MANIFEST: u64 = 4 * 1024 * 1024;
/// Media types of manifests that can be a bundle, for `Accept`.
pub const MANIFEST_TYPES: &str =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

/// The one layer of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// `sha256:<64 hex>`.
    pub digest: String,
    /// In bytes.
    pub size: u64,
    /// What it is said to be.
    pub media_type: String,
}

/// Why a manifest is not one of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestProblem {
    /// No JSON object of the form.
    #[error("it is not an OCI manifest")]
    Malformed,
    /// A list of manifests for platforms.
    #[error("it is a list of images for several platforms, and a bundle is one artifact")]
    Index,
    /// None, or many.
    #[error("it has {0} layers, and a bundle has one")]
    Layers(usize),
    /// `sha512:`, or nonsense.
    #[error("the digest of its layer is not `sha256:` and 64 hexadecimal digits")]
    Digest,
    /// The layer lies somewhere else than in the registry.
    #[error("its layer lies outside of the registry")]
    Foreign,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    schema_version: u32,
    #[serde(default)]
    manifests: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default)]
    urls: Vec<String>,
}

/// Finds the layer of a bundle.
///
/// # Errors
/// [`ManifestProblem`].
pub fn layer_of(manifest: &[u8]) -> Result<Layer, ManifestProblem> {
    let manifest: Manifest = serde_json::from_slice(manifest).map_err(|_| ManifestProblem::Malformed)?;
    if manifest.manifests.is_some() {
        return Err(ManifestProblem::Index);
    }
    if manifest.schema_version != 2 {
        return Err(ManifestProblem::Malformed);
    }
    let count = manifest.layers.len();
    let [layer] = <[Descriptor; 1]>::try_from(manifest.layers).map_err(|_| ManifestProblem::Layers(count))?;
    if !layer.urls.is_empty() || layer.media_type.contains("foreign") {
        return Err(ManifestProblem::Foreign);
    }
    if !is_sha256(&layer.digest) {
        return Err(ManifestProblem::Digest);
    }
    Ok(Layer { digest: layer.digest, size: layer.size, media_type: layer.media_type })
}

/// Whether a text is `sha256:` and 64 lower-case hexadecimal digits.
#[must_use]
pub fn is_sha256(digest: &str) -> bool {
    digest.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// How a registry wants to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// With a token from `realm`.
    Bearer {
        /// URL of the service that gives tokens.
        realm: String,
        /// Its name for the registry.
        service: Option<String>,
    },
    /// With name and password.
    Basic,
}

/// Reads a `WWW-Authenticate` header; `None` for schemes that are not known. The scope that it asks for is not taken
/// over: a pull of one repository is all that is wanted.
#[must_use]
pub fn read_challenge(header: &str) -> Option<Challenge> {
    let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let (mut realm, mut service) = (None, None);
    let mut rest = rest.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => {
                let end = quoted.find('"')?;
                (&quoted[..end], &quoted[end + 1..])
            }
            None => after.split_at(after.find(',').unwrap_or(after.len())),
        };
        let name = name.trim();
        if name.eq_ignore_ascii_case("realm") {
            realm = Some(value.to_owned());
        } else if name.eq_ignore_ascii_case("service") {
            service = Some(value.to_owned());
        }
        rest = after.trim_start().strip_prefix(',').unwrap_or_default().trim_start();
    }
    realm.map(|realm| Challenge::Bearer { realm, service })
}

/// Whether the credentials of a registry may be sent to the service that gives its tokens: the same host, or one that
/// lies beside it (`registry.forge.example` and `forge.example` or `auth.forge.example`).
#[must_use]
pub fn is_beside(registry: &str, realm: &str) -> bool {
    let same = registry.eq_ignore_ascii_case(realm);
    let parent = registry.split_once('.').map(|(_, parent)| parent).filter(|parent| parent.contains('.'));
    let is_name =
        registry.rsplit('.').next().is_some_and(|last| last.bytes().any(|b| b.is_ascii_alphabetic()));
    same || (is_name
        && parent.is_some_and(|parent| {
            let (realm, parent) = (realm.to_ascii_lowercase(), parent.to_ascii_lowercase());
            realm == parent || realm.strip_suffix(&parent).is_some_and(|rest| rest.ends_with('.'))
        }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn of(manifest: &serde_json::Value) -> Result<Layer, ManifestProblem> {
        layer_of(manifest.to_string().as_bytes())
    }

    #[test]
    fn a_bundle_has_one_layer() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let layer =
            json!({"mediaType": "application/x.tar+gzip", "digest": digest, "size": 7, "annotations": {}});
        let good = json!({"schemaVersion": 2, "config": {}, "layers": [layer]});
        let expected = Layer { digest, size: 7, media_type: "application/x.tar+gzip".to_owned() };
        assert_eq!(of(&good), Ok(expected));
        let with = |name: &str, value: serde_json::Value| {
            let mut changed = good.clone();
            changed["layers"][0][name] = value;
            of(&changed)
        };
        assert_eq!(with("digest", json!("sha512:00")), Err(ManifestProblem::Digest));
        assert_eq!(
            with("digest", json!(format!("sha256:{}", "0A".repeat(32)))),
            Err(ManifestProblem::Digest)
        );
        assert_eq!(with("digest", json!("../../x")), Err(ManifestProblem::Digest));
        assert_eq!(with("size", json!(-1)), Err(ManifestProblem::Malformed));
        assert_eq!(with("urls", json!(["https://evil.example/x"])), Err(ManifestProblem::Foreign));
        let foreign = json!("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip");
        assert_eq!(with("mediaType", foreign), Err(ManifestProblem::Foreign));
        let two = json!({"schemaVersion": 2, "layers": [layer, layer]});
        assert_eq!(
            (of(&two), of(&json!({"schemaVersion": 2}))),
            (Err(ManifestProblem::Layers(2)), Err(ManifestProblem::Layers(0)))
        );
        assert_eq!(of(&json!({"schemaVersion": 2, "manifests": []})), Err(ManifestProblem::Index));
        for other in [json!({"schemaVersion": 1, "layers": [layer]}), json!([]), json!({"layers": [layer]})] {
            assert_eq!(of(&other), Err(ManifestProblem::Malformed));
        }
    }

    /// Source: OCI distribution specification 1.1, "Pushing manifests": at least 4 megabytes.
    #[test]
    fn manifests_of_four_megabytes_are_read() {
        assert_eq!(MAX_MANIFEST, 4_194_304);
    }

    #[test]
    fn challenges_are_read() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
        };
        let usual = r#"Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push""#;
        assert_eq!(read_challenge(usual), bearer("https://auth.example/token", Some("registry.example")));
        assert_eq!(
            read_challenge("bearer  Realm=https://a/t , service=\"x\""),
            bearer("https://a/t ", Some("x"))
        );
        assert_eq!(read_challenge("Basic realm=\"x\""), Some(Challenge::Basic));
        for other in ["", "Bearer", "Bearer realm=\"open", "Negotiate x", "Bearer service=\"x\""] {
            assert_eq!(read_challenge(other), None, "{other}");
        }
    }

    #[test]
    fn t65_credentials_go_to_a_token_service_beside_the_registry_only() {
        for (registry, realm) in [
            ("ghcr.example", "ghcr.example"),
            ("registry.forge.example", "forge.example"),
            ("registry.forge.example", "auth.forge.example"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert!(is_beside(registry, realm), "{registry} {realm}");
        }
        for (registry, realm) in [
            ("registry.forge.example", "evilforge.example"),
            ("registry.forge.example", "forge.example.evil"),
            ("forge.example", "other.example"),
            ("forge.example", "example"),
            ("127.0.0.1", "5.0.0.1"),
            ("localhost", "evil.example"),
        ] {
            assert!(!is_beside(registry, realm), "{registry} {realm}");
        }
    }

    proptest! {
        /// Any header is answered.
        #[test]
        fn reading_a_challenge_is_total(header in "(Bearer |Basic )?[a-z=\", :/]{0,60}") {
            let _ = read_challenge(&header);
        }
    }
}
