//! A server of somebody else, on loopback, for as long as its value lives.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::write;
use crate::failure::{Doing as _, Failure, Outcome};

/// Longest wait for a server to accept connections.
const SOON: Duration = Duration::from_secs(60);

/// A running server.
pub(crate) struct Server {
    process: Child,
}

impl Server {
    /// Starts `command` and waits until it listens at `port`.
    pub(crate) fn start(mut command: Command, port: u16, log: &Path) -> Outcome<Self> {
        let output = std::fs::File::create(log).doing(format!("making {}", log.display()))?;
        let errors = output.try_clone().doing("sharing the log")?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let name = command.get_program().to_string_lossy().into_owned();
        let mut process = command.spawn().doing(format!("starting {name}"))?;
        let deadline = Instant::now() + SOON;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            let ended = process.try_wait().doing(format!("waiting for {name}"))?;
            if ended.is_some() || Instant::now() > deadline {
                let _ = process.kill();
                let told = std::fs::read_to_string(log).unwrap_or_default();
                return Err(Failure::new(format!("{name} does not listen: {told}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(Self { process })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that nobody listens at.
pub(crate) fn free_port() -> Outcome<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).doing("looking for a free port")?;
    Ok(listener.local_addr().doing("looking for a free port")?.port())
}

/// Whether a program is there.
pub(super) fn has(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Writes `ca.pem`, and `leaf.pem` and `leaf.key` for `localhost`.
pub(super) fn certificates(folder: &Path) -> Outcome {
    let doing = "making certificates";
    let authority_key = KeyPair::generate().doing(doing)?;
    // Two names: with one, OpenSSL takes the leaf for its own issuer.
    let mut authority = CertificateParams::new(Vec::new()).doing(doing)?;
    authority.distinguished_name.push(DnType::CommonName, "authority of a walk");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).doing(doing)?.pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().doing(doing)?;
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut leaf = CertificateParams::new(names).doing(doing)?;
    leaf.distinguished_name.push(DnType::CommonName, "localhost");
    let leaf = leaf.signed_by(&key, &issuer).doing(doing)?;
    write(&folder.join("ca.pem"), authority_pem)?;
    write(&folder.join("leaf.pem"), leaf.pem())?;
    write(&folder.join("leaf.key"), key.serialize_pem())
}
