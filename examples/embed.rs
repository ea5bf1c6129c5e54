//! Runs the server inside another program, over an in-memory stream, and asks it for its tools.
//!
//! ```console
//! $ cargo run --example embed
//! ```

use std::error::Error;
use std::io::Write as _;

use kaval_mcp::{Client, server};
use rmcp::ServiceExt as _;

/// Enough for the tool list in one piece.
const STREAM_BYTES: usize = 64 * 1024;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // The host decides what the library gets to see of the environment.
    let (client, _warnings) = Client::from_env(&|name| std::env::var_os(name))?;
    let (ours, theirs) = tokio::io::duplex(STREAM_BYTES);

    let serving = tokio::spawn(async move { server(client).serve(theirs).await });
    let host = ().serve(ours).await?;
    let tools = host.list_all_tools().await?;

    let mut out = std::io::stdout();
    for tool in &tools {
        writeln!(out, "{}: {}", tool.name, tool.title.as_deref().unwrap_or_default())?;
    }
    host.cancel().await?;
    serving.await??.waiting().await?;
    Ok(())
}
