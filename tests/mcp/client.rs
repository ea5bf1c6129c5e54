//! The server driven by the protocol library's own client.

use std::process::Stdio;
use std::time::Duration;

use kaval_fake_api::{Api, Fault, Reply, default_reply};
use rmcp::model::CallToolRequestParams;
use rmcp::serve_client;
use rmcp::service::{RoleClient, RunningService};
use tokio::process::{Child, Command};

use crate::harness::{Launch, PATIENCE, good_calls};

async fn connect(api: &Api) -> (RunningService<RoleClient, ()>, Child) {
    let mut command = Command::from(Launch::on(api).into_command());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let streams = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (serve_client((), streams).await.unwrap(), child)
}

fn params(tool: &'static str, arguments: &serde_json::Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn every_tool_answers_the_protocol_librarys_client() {
    block_on(async {
        let api = Api::start_default();
        let (client, mut child) = connect(&api).await;
        assert_eq!(client.peer_info().unwrap().server_info.as_ref().unwrap().name, "kaval");
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(tools.len(), 7);
        for (tool, arguments) in good_calls() {
            let result = client.call_tool(params(tool, &arguments)).await.unwrap();
            assert_ne!(result.is_error, Some(true), "{tool}");
            assert!(result.structured_content.is_some(), "{tool}");
        }
        assert_eq!(api.count(), 7);
        client.cancel().await.unwrap();
        let status = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(0));
    });
}

#[test]
fn a_failure_is_a_result_for_the_client() {
    block_on(async {
        let api = Api::start(|_| Reply::error(402, "insufficient_balance", "top up"));
        let (client, _child) = connect(&api).await;
        for (tool, arguments) in good_calls() {
            let result = client.call_tool(params(tool, &arguments)).await.unwrap();
            assert_eq!(result.is_error, Some(true), "{tool}");
            assert!(result.structured_content.is_none(), "{tool}");
            let text = &result.content[0].as_text().unwrap().text;
            assert!(text.contains("insufficient_balance"), "{tool}: {text}");
        }
    });
}

#[test]
fn a_call_the_client_drops_is_closed_upstream() {
    block_on(async {
        let api = Api::start(|request| {
            if request.path() == "/v1/check" { Reply::fault(Fault::Hang) } else { default_reply(request) }
        });
        let (client, _child) = connect(&api).await;
        let arguments = serde_json::json!({"action": "a"});
        let call = client.call_tool(params("check", &arguments));
        assert!(tokio::time::timeout(Duration::from_millis(500), call).await.is_err());
        let aborted = tokio::task::spawn_blocking(move || {
            let ok = api.wait_for_aborts(1, PATIENCE);
            (ok, api)
        });
        let (ok, _api) = aborted.await.unwrap();
        assert!(ok, "upstream stays open");
        let result = client.call_tool(params("list_sources", &serde_json::json!({}))).await.unwrap();
        assert_ne!(result.is_error, Some(true));
    });
}
