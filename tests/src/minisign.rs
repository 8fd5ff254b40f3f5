//! Signatures as minisign makes them, for publishers in tests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

/// A publisher's key pair.
pub struct MinisignKey {
    pair: Ed25519KeyPair,
    id: [u8; 8],
}

impl std::fmt::Debug for MinisignKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MinisignKey").field(&self.public()).finish()
    }
}

impl MinisignKey {
    /// A new pair; its id comes from its public key, as good as a random one.
    ///
    /// # Panics
    /// When the machine has no randomness.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each one is another")]
    pub fn new() -> Self {
        let secret = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("randomness");
        let pair = Ed25519KeyPair::from_pkcs8(secret.as_ref()).expect("a key");
        let id = *pair.public_key().as_ref().first_chunk().expect("32 bytes");
        Self { pair, id }
    }

    /// Another pair that claims the key id of this one.
    #[must_use]
    pub fn impostor(&self) -> Self {
        Self { id: self.id, ..Self::new() }
    }

    /// The public key on one line, as it is configured.
    #[must_use]
    pub fn public(&self) -> String {
        STANDARD.encode([b"Ed", self.id.as_slice(), self.pair.public_key().as_ref()].concat())
    }

    /// The file `minisign.pub`.
    #[must_use]
    pub fn public_file(&self) -> String {
        format!("untrusted comment: minisign public key {}\n{}\n", self.key_id(), self.public())
    }

    /// The key id as minisign prints it.
    #[must_use]
    pub fn key_id(&self) -> String {
        format!("{:016X}", u64::from_le_bytes(self.id))
    }

    /// A signature file over `bytes`, in the form that signs the bytes themselves.
    #[must_use]
    pub fn sign(&self, bytes: &[u8], comment: &str) -> String {
        let signature = self.pair.sign(bytes);
        let global = self.pair.sign(&[signature.as_ref(), comment.as_bytes()].concat());
        format!(
            "untrusted comment: signature from minisign secret key\n{}\ntrusted comment: {comment}\n{}\n",
            STANDARD.encode([b"Ed", self.id.as_slice(), signature.as_ref()].concat()),
            STANDARD.encode(global.as_ref())
        )
    }
}
