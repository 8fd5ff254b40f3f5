//! The end of the daemon: who may ask for it, who waits for it, and the count of clients that decides when it is
//! idle.

use std::sync::Arc;
use std::time::Duration;

use gsd_proto::api::daemon::When;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Shared handle; clones mean the same end.
#[derive(Clone, Debug)]
pub struct Shutdown {
    now: CancellationToken,
    when_idle: Arc<watch::Sender<bool>>,
    clients: Arc<watch::Sender<u64>>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self {
            now: CancellationToken::new(),
            when_idle: Arc::new(watch::Sender::new(false)),
            clients: Arc::new(watch::Sender::new(0)),
        }
    }
}

impl Shutdown {
    /// Asks for the end.
    pub fn request(&self, when: When) {
        match when {
            When::Now => self.now.cancel(),
            When::Idle => {
                self.when_idle.send_replace(true);
            }
        }
    }

    /// Cancelled when the end has begun.
    #[must_use]
    pub fn token(&self) -> &CancellationToken {
        &self.now
    }

    /// Counts one client for as long as the guard lives.
    #[must_use]
    pub fn client(&self) -> ClientGuard {
        self.clients.send_modify(|count| *count += 1);
        ClientGuard { clients: Arc::clone(&self.clients) }
    }

    /// Number of connected clients.
    #[must_use]
    pub fn clients(&self) -> u64 {
        *self.clients.borrow()
    }

    /// Begins the end once nobody has been connected for `idle` (`None`: never), or as soon as nobody is connected
    /// after the end was asked for with [`When::Idle`].
    pub async fn watch_idleness(self, idle: Option<Duration>) {
        let mut clients = self.clients.subscribe();
        let mut asked = self.when_idle.subscribe();
        let patience = async |idle: Option<Duration>| match idle {
            Some(idle) => tokio::time::sleep(idle).await,
            None => std::future::pending().await,
        };
        // The senders live in `self`, so waiting cannot fail.
        while clients.wait_for(|count| *count == 0).await.is_ok() {
            tokio::select! {
                // A client that came at the same moment counts.
                biased;
                _ = clients.wait_for(|count| *count > 0) => continue,
                () = patience(idle) => {}
                _ = asked.wait_for(|asked| *asked) => {}
                () = self.now.cancelled() => {}
            }
            self.now.cancel();
            return;
        }
    }
}

/// See [`Shutdown::client`].
#[derive(Debug)]
pub struct ClientGuard {
    clients: Arc<watch::Sender<u64>>,
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        self.clients.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn idle_time_counts_from_the_last_client() {
        let shutdown = Shutdown::default();
        let guard = shutdown.client();
        let watcher = tokio::spawn(shutdown.clone().watch_idleness(Some(Duration::from_secs(60))));
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert!(!shutdown.token().is_cancelled());
        drop(guard);
        tokio::time::sleep(Duration::from_secs(59)).await;
        assert!(!shutdown.token().is_cancelled());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(shutdown.token().is_cancelled());
        watcher.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn never_means_never_until_asked() {
        let shutdown = Shutdown::default();
        let watcher = tokio::spawn(shutdown.clone().watch_idleness(None));
        tokio::time::sleep(Duration::from_secs(1_000_000)).await;
        assert!(!shutdown.token().is_cancelled());
        let guard = shutdown.client();
        shutdown.request(When::Idle);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert!(!shutdown.token().is_cancelled());
        drop(guard);
        watcher.await.unwrap();
        assert!(shutdown.token().is_cancelled());
    }
}
