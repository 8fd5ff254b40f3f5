//! An HTTPS server on loopback with an authority of its own, for sources that a test serves.

use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::{Run, World};

/// A request as the server saw it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// `GET`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Seen {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

type Writer = Box<dyn FnOnce(&mut dyn Write) -> std::io::Result<()> + Send>;

/// An answer.
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Body,
}

enum Body {
    Bytes(Vec<u8>),
    /// Writes what it wants behind the headers.
    Raw(Writer),
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Reply {
    /// Status 200 with a body.
    #[must_use]
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, headers: Vec::new(), body: Body::Bytes(body.into()) }
    }

    /// A status without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Body::Bytes(Vec::new()) }
    }

    /// A redirect.
    #[must_use]
    pub fn redirect(to: &str) -> Self {
        Self::status(302).with("location", to)
    }

    /// Status 200, and then whatever `write` writes, without a length.
    #[must_use]
    pub fn raw(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()> + Send + 'static) -> Self {
        Self { status: 200, headers: Vec::new(), body: Body::Raw(Box::new(write)) }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// The server; it ends with its value.
pub struct HttpsServer {
    address: SocketAddr,
    authority: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: Arc<AtomicBool>,
}

impl std::fmt::Debug for HttpsServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpsServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl HttpsServer {
    /// Serves what `answer` says, for `localhost`, `127.0.0.1` and the names given.
    ///
    /// # Panics
    /// When there is no port or no certificate to be had.
    pub fn start(names: &[&str], answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let (config, authority) = certificates(names);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let address = listener.local_addr().expect("its address");
        let (seen, stop) = (Arc::<Mutex<Vec<Seen>>>::default(), Arc::<AtomicBool>::default());
        let (config, answer) = (Arc::new(config), Arc::new(answer));
        let (noted, stopped) = (Arc::clone(&seen), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), config) = (stream, Arc::clone(&config)) else { continue };
                let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                // A client that breaks off, or does not trust us, is part of the tests.
                std::thread::spawn(move || drop(serve(stream, config, &*answer, &noted)));
            }
        });
        Self { address, authority, seen, stop }
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The URL of a path, at `localhost`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port())
    }

    /// Writes the certificate of the authority, in PEM form.
    ///
    /// # Panics
    /// When it can't be written.
    pub fn write_authority(&self, file: &Path) {
        crate::put(file, &self.authority);
    }

    /// Tells a world about the server: its authority and its port are known to the person. Runs of the client need
    /// [`HttpsServer::trusted_by`] too.
    pub fn listed_in(&self, world: &World) {
        let port = self.port();
        let policy = format!("[network]\nprivate_hosts = [\"localhost:{port}\", \"127.0.0.1:{port}\"]\n");
        crate::put(world.path("home/.config/gsd/policy.toml"), policy);
        self.write_authority(&world.path("authority.pem"));
    }

    /// A run that trusts the server.
    #[must_use]
    pub fn trusted_by(&self, world: &World, run: Run) -> Run {
        run.env("SSL_CERT_FILE", world.path("authority.pem"))
    }

    /// The requests so far.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for HttpsServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for the next connection.
        drop(TcpStream::connect(self.address));
    }
}

fn certificates(names: &[&str]) -> (ServerConfig, String) {
    let (chain, key, authority) = certificates_in_pem(names);
    let chain = CertificateDer::from_pem_slice(chain.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("protocol versions")
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .expect("settings");
    (config, authority)
}

/// Certificate, key, and the certificate of the authority, for `localhost`, `127.0.0.1` and the names given.
pub(crate) fn certificates_in_pem(names: &[&str]) -> (String, String, String) {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
    let authority_key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
    // With one name for both, OpenSSL takes the leaf for its own issuer.
    authority.distinguished_name.push(DnType::CommonName, "authority of the tests");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&authority_key).expect("a certificate");
    let issuer = Issuer::new(authority, authority_key);
    let names: Vec<String> =
        ["localhost", "127.0.0.1"].iter().chain(names).map(|name| (*name).to_owned()).collect();
    let key = KeyPair::generate().expect("a key");
    let certificate =
        CertificateParams::new(names).and_then(|leaf| leaf.signed_by(&key, &issuer)).expect("a certificate");
    (certificate.pem(), key.serialize_pem(), authority_certificate.pem())
}

fn serve(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    answer: &dyn Fn(&Seen) -> Reply,
    noted: &Mutex<Vec<Seen>>,
) -> std::io::Result<()> {
    // An answer is written in pieces; held back until the one before is acknowledged, each would take 40 ms.
    stream.set_nodelay(true)?;
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut reader = BufReader::new(StreamOwned::new(connection, stream));
    loop {
        let Some(seen) = read_request(&mut reader)? else { return Ok(()) };
        noted.lock().unwrap_or_else(PoisonError::into_inner).push(seen.clone());
        let reply = answer(&seen);
        let out = reader.get_mut();
        write!(out, "HTTP/1.1 {} X\r\n", reply.status)?;
        for (name, value) in &reply.headers {
            write!(out, "{name}: {value}\r\n")?;
        }
        match reply.body {
            Body::Bytes(bytes) => {
                write!(out, "content-length: {}\r\n\r\n", bytes.len())?;
                out.write_all(&bytes)?;
                out.flush()?;
            }
            Body::Raw(write) => {
                out.write_all(b"\r\n")?;
                out.flush()?;
                write(out)?;
                out.conn.send_close_notify();
                return out.flush();
            }
        }
    }
}

fn read_request(reader: &mut impl std::io::BufRead) -> std::io::Result<Option<Seen>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut seen = Seen {
        method: words.next().unwrap_or_default(),
        target: words.next().unwrap_or_default(),
        headers: Vec::new(),
    };
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            return Ok(Some(seen));
        }
        if let Some((name, value)) = line.trim().split_once(':') {
            seen.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
}
