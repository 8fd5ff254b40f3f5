//! Looking up names, so that what is dialled is what was judged.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use gsdd_core::source::address::{AddressRefusal, judge_address};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// A lookup that a guard judges.
pub(super) trait Lookup: Send + Sync {
    /// The addresses of a name.
    fn lookup(&self, name: String)
    -> std::pin::Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;
}

/// The resolver of the operating system.
pub(super) struct System;

impl Lookup for System {
    fn lookup(
        &self,
        name: String,
    ) -> std::pin::Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A name that could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UnknownName(pub(super) io::Error);

/// A name that leads where it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address}: {refusal}")]
pub(super) struct RefusedAddress {
    pub(super) address: IpAddr,
    pub(super) refusal: AddressRefusal,
}

/// Whether the addresses of a name are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Guard {
    /// Every address has to be of the public internet.
    Public,
    /// The policy lists the host, or it is the person's own proxy.
    Listed,
}

/// Resolver of a client: the addresses that it returns are the ones that are dialled.
pub(super) struct GuardedResolver {
    pub(super) guard: Guard,
    pub(super) lookup: Arc<dyn Lookup>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, answer) = (self.guard, self.lookup.lookup(name.as_str().to_owned()));
        Box::pin(async move {
            let addresses = answer.await.map_err(UnknownName)?;
            // One bad address among good ones is somebody's attempt, not a reason to pick.
            if guard == Guard::Public {
                for &address in &addresses {
                    judge_address(address).map_err(|refusal| RefusedAddress { address, refusal })?;
                }
            }
            if addresses.is_empty() {
                return Err(UnknownName(io::Error::other("the name has no address")).into());
            }
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}
