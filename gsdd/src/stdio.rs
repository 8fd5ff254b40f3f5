//! `gsdd --stdio`: the same protocol for one client over standard input and output. It ends with its client.
//!
//! Used where no socket can be: sandboxes, containers, `--no-daemon`, or a daemon that does not answer.

use std::sync::Arc;

use crate::transport::{Peer, Service, serve_conn};

/// Serves until the client closes its end.
pub async fn serve(service: Arc<Service>) {
    let stop = service.app_token();
    let stream = tokio::io::join(tokio::io::stdin(), tokio::io::stdout());
    serve_conn(stream, service, Peer::default(), stop, std::future::pending::<()>).await;
}
