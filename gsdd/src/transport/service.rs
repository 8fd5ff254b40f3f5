//! What all connections share: the method table, the limits, and the counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonrpsee_core::server::{ConnectionId, Methods};
use jsonrpsee_core::traits::IdProvider;
use jsonrpsee_types::SubscriptionId;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::Limits;
use crate::app::App;

/// The method table and everything a connection needs to serve it.
#[derive(Debug)]
pub struct Service {
    pub(super) methods: Methods,
    pub(super) app: Arc<App>,
    pub(super) limits: Limits,
    pub(super) connections: Arc<Semaphore>,
    pub(super) ids: SubscriptionIds,
    next_connection: AtomicUsize,
}

impl Service {
    /// Serves `methods` within `limits`.
    #[must_use]
    pub fn new(methods: Methods, app: Arc<App>, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            methods,
            app,
            limits,
            connections: Arc::new(Semaphore::new(limits.connections)),
            ids: SubscriptionIds::default(),
            next_connection: AtomicUsize::new(1),
        })
    }

    /// The state behind the methods.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Cancelled when the daemon ends.
    #[must_use]
    pub fn app_token(&self) -> CancellationToken {
        self.app.shutdown.token().clone()
    }

    pub(super) fn next_connection(&self) -> ConnectionId {
        ConnectionId(self.next_connection.fetch_add(1, Ordering::Relaxed))
    }
}

/// Subscription ids count up; they are only looked up together with the connection, so they need not be secret.
#[derive(Debug, Default)]
pub(super) struct SubscriptionIds(AtomicUsize);

impl IdProvider for SubscriptionIds {
    fn next_id(&self) -> SubscriptionId<'static> {
        SubscriptionId::Num(self.0.fetch_add(1, Ordering::Relaxed) as u64 + 1)
    }
}
