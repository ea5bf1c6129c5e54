//! Runs a server over a pair of byte streams until it ends.

use std::time::Duration;

use rmcp::service::serve_directly_with_ct;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::server::Server;
use crate::stdio::{Drain, LineTransport};

/// What running calls get beyond their own deadline once the input has ended, for their answers to be written.
const DRAIN_GRACE: Duration = Duration::from_secs(1);

/// Serves one client over a pair of byte streams, until the input ends and running calls are answered, the
/// client stops reading, or `stop` is cancelled.
///
/// `parent_alive` is asked while calls finish after the end of the input; when it says no, they are dropped.
pub async fn serve<R, W>(
    server: Server,
    reader: R,
    writer: W,
    parent_alive: fn() -> bool,
    stop: CancellationToken,
) where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let drain = Drain { limit: server.budgets().deadline + DRAIN_GRACE, parent_alive };
    let transport = LineTransport::new(reader, writer, drain, stop.clone());
    let running = serve_directly_with_ct(server, transport, None, stop);
    if let Err(error) = running.waiting().await {
        tracing::error!(%error, "the service loop broke off");
    }
}
