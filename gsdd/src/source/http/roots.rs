//! Whom to believe: the authorities of the machine, those in the file that the caller's `SSL_CERT_FILE` names, and for an
//! npm registry those in the `cafile` of their own `.npmrc`.
//!
//! Variables of the daemon's own environment, and variables that switch checks off, are not looked at (T69).

use std::path::Path;
use std::sync::Arc;

use gsd_proto::{Code, Context, WireError};
use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use crate::fs::bounded_read::{self, MAX_FILE};

/// The TLS settings of a caller.
///
/// # Errors
/// When a file that the caller names holds no certificates.
pub(super) fn settings(ctx: &Context, further: Option<&Path>) -> Result<ClientConfig, WireError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let setup = |error: &dyn std::fmt::Display| {
        WireError::new(Code::Internal, format!("TLS can't be set up: {error}"))
    };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| setup(&error))?;
    let mut certificates = match ctx.env.get("SSL_CERT_FILE").filter(|file| !file.is_empty()) {
        Some(file) => named_by_caller("SSL_CERT_FILE", &ctx.cwd.join(file))?,
        None => Vec::new(),
    };
    if let Some(file) = further {
        certificates.extend(named_by_caller("cafile of your .npmrc", file)?);
    }
    believing(builder, certificates, &provider).map_err(|error| setup(&error))
}

fn named_by_caller(setting: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, WireError> {
    let refused = |why: String| {
        WireError::new(Code::UsageInvalid, format!("the file that {setting} names can't be used"))
            .caused_by(why)
            .at_file(file)
            .with_fix(format!("name a file of certificates in PEM form, or take {setting} away"), &[])
    };
    let bytes = bounded_read::read(file, MAX_FILE).map_err(|failure| refused(failure.to_string()))?;
    let certificates = read_pem(&bytes);
    if certificates.is_empty() {
        return Err(refused("it holds no certificate in PEM form".to_owned()));
    }
    Ok(certificates)
}

fn read_pem(bytes: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(bytes).filter_map(Result::ok).collect()
}

type Builder = rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>;

/// Where distributions keep the authorities in one file.
#[cfg(not(any(windows, target_vendor = "apple")))]
const AUTHORITIES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

#[cfg(not(any(windows, target_vendor = "apple")))]
fn believing(
    builder: Builder,
    further: Vec<CertificateDer<'static>>,
    _: &Arc<CryptoProvider>,
) -> Result<ClientConfig, rustls::Error> {
    let mut roots = rustls::RootCertStore::empty();
    let of_machine = AUTHORITIES.iter().find_map(|file| bounded_read::read(Path::new(file), MAX_FILE).ok());
    roots.add_parsable_certificates(of_machine.as_deref().map(read_pem).unwrap_or_default());
    roots.add_parsable_certificates(further);
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(any(windows, target_vendor = "apple"))]
fn believing(
    builder: Builder,
    further: Vec<CertificateDer<'static>>,
    provider: &Arc<CryptoProvider>,
) -> Result<ClientConfig, rustls::Error> {
    use rustls_platform_verifier::Verifier;
    let verifier = Verifier::new_with_extra_roots(further, Arc::clone(provider))?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}
