//! The server as a service inside another program, over rmcp's own stream transport.

use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::json;

use crate::support::{Script, client};

#[tokio::test]
async fn a_host_lists_and_calls_over_an_in_memory_stream() {
    let (client, _) = client(Script::Body(r#"{"decision":"BLOCK","reason_codes":["FACT_CHANGED"]}"#));
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let serving = tokio::spawn(async move { kaval_mcp::server(client).serve(theirs).await });
    let host = ().serve(ours).await.unwrap();

    let info = host.peer_info().unwrap();
    assert!(info.instructions.as_deref().unwrap().contains("REVIEW"));
    let tools = host.list_all_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(
        names,
        ["check", "get_receipt", "add_source", "list_sources", "remove_source", "report_outcome", "verify"]
    );
    assert!(tools.iter().all(|tool| tool.output_schema.is_some() && tool.annotations.is_some()));

    let arguments = json!({ "action": "pay the claim" }).as_object().cloned().unwrap();
    let mut request = CallToolRequestParams::new("check");
    request.arguments = Some(arguments);
    let result = host.call_tool(request).await.unwrap();
    assert_eq!(result.structured_content.unwrap()["decision"], "BLOCK");
    assert_ne!(result.is_error, Some(true));

    let mut request = CallToolRequestParams::new("get_receipt");
    request.arguments = Some(serde_json::Map::new());
    let result = host.call_tool(request).await.unwrap();
    assert_eq!(result.is_error, Some(true));
    assert!(result.structured_content.is_none());

    host.cancel().await.unwrap();
    serving.await.unwrap().unwrap().waiting().await.unwrap();
    // The response type is part of what embedders see.
    let _: fn(CallToolResponse) = |_| {};
}
