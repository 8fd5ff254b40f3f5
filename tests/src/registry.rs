//! A real OCI registry on loopback: Debian's `docker-registry`, over TLS with an authority of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use sha2::Digest as _;

use crate::https::certificates_in_pem;
use crate::world::World;

/// The registry; it ends with its value.
#[derive(Debug)]
pub struct OciRegistry {
    server: Child,
    port: u16,
}

/// `sha256:<hex>` of some bytes.
#[must_use]
pub fn oci_digest(bytes: &[u8]) -> String {
    let hex: String = sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The manifest of an artifact with one layer.
#[must_use]
pub fn oci_manifest(layer: &[u8]) -> Value {
    let descriptor = |media_type: &str, bytes: &[u8]| json!({"mediaType": media_type, "digest": oci_digest(bytes), "size": bytes.len()});
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": "application/vnd.gsd.capability.v1",
        "config": descriptor("application/vnd.oci.empty.v1+json", b"{}"),
        "layers": [descriptor("application/vnd.gsd.capability.bundle.v1.tar+gzip", layer)],
    })
}

impl OciRegistry {
    /// A registry that has `layer` as `name` under `tag`. `None`, and a line that can't be overlooked, where the
    /// program is not installed.
    ///
    /// # Panics
    /// When it is installed and does not start, or does not take the artifact.
    #[must_use]
    pub fn with(world: &World, name: &str, tag: &str, layer: &[u8]) -> Option<Self> {
        let program = Path::new("/usr/bin/docker-registry");
        if !program.exists() {
            // Past the capture of test output.
            let _ = writeln!(
                std::io::stderr(),
                "\n*** SKIPPED: a test with a real OCI registry needs {} (apt-get install docker-registry)\n",
                program.display()
            );
            return None;
        }
        let storage = world.path("registry");
        // Pushing takes a plain connection, so that a test needs no TLS client.
        let mut filled = Self::start(program, &storage, None);
        filled.push(name, tag, layer);
        filled.end();
        let (chain, key, authority) = certificates_in_pem(&[]);
        let (chain_file, key_file) = (world.path("registry.crt"), world.path("registry.key"));
        crate::put(&chain_file, chain);
        crate::put(&key_file, key);
        crate::put(world.path("authority.pem"), authority);
        let registry = Self::start(program, &storage, Some((&chain_file, &key_file)));
        let policy = format!("[network]\nprivate_hosts = [\"localhost:{}\"]\n", registry.port);
        crate::put(world.path("home/.config/gsd/policy.toml"), policy);
        Some(registry)
    }

    fn start(program: &Path, storage: &Path, tls: Option<(&PathBuf, &PathBuf)>) -> Self {
        let tls = tls.map_or_else(String::new, |(chain, key)| {
            format!("  tls:\n    certificate: {}\n    key: {}\n", chain.display(), key.display())
        });
        let settings = format!(
            "version: 0.1\nlog:\n  level: info\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: 127.0.0.1:0\n{tls}",
            storage.display()
        );
        let file = storage.with_extension("yml");
        crate::put(&file, settings);
        let mut server = Command::new(program)
            .arg("serve")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the registry starts");
        let mut log = BufReader::new(server.stderr.take().expect("it was connected"));
        let mut line = String::new();
        let port = loop {
            line.clear();
            assert!(log.read_line(&mut line).expect("its log") > 0, "the registry ended");
            let after = line.split("listening on 127.0.0.1:").nth(1).unwrap_or_default();
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            if let Ok(port) = digits.parse() {
                break port;
            }
        };
        // It must not wait for a reader of its log.
        std::thread::spawn(move || drop(std::io::copy(&mut log, &mut std::io::sink())));
        Self { server, port }
    }

    /// Host and port.
    #[must_use]
    pub fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }

    fn push(&self, name: &str, tag: &str, layer: &[u8]) {
        for blob in [layer, b"{}"] {
            let (status, location) = self.ask("POST", &format!("/v2/{name}/blobs/uploads/"), "", b"");
            assert_eq!(status, 202, "an upload begins");
            let target = location.split("://").last().expect("a place to upload to");
            let target = target.find('/').map_or(target, |slash| &target[slash..]);
            let joint = if target.contains('?') { '&' } else { '?' };
            let target = format!("{target}{joint}digest={}", oci_digest(blob));
            assert_eq!(self.ask("PUT", &target, "application/octet-stream", blob).0, 201, "a blob is taken");
        }
        let manifest = oci_manifest(layer).to_string();
        let target = format!("/v2/{name}/manifests/{tag}");
        let kind = "application/vnd.oci.image.manifest.v1+json";
        assert_eq!(self.ask("PUT", &target, kind, manifest.as_bytes()).0, 201, "a manifest is taken");
    }

    /// Status and location of an answer, without TLS.
    fn ask(&self, method: &str, target: &str, kind: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the registry listens");
        let head = format!(
            "{method} {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            self.host(),
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let location = answer.lines().find_map(|line| line.strip_prefix("Location: "));
        (status, location.unwrap_or_default().to_owned())
    }

    fn end(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Drop for OciRegistry {
    fn drop(&mut self) {
        self.end();
    }
}
