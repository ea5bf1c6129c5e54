//! Generated documents are what the code says.

use std::path::Path;

use crate::support::{Script, client};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[tokio::test]
async fn the_page_of_tools_is_current() {
    let (client, _) = client(Script::Hang);
    let current = kaval_mcp::docs::tools_markdown(&kaval_mcp::server(client));
    assert!(page("tools.md") == current, "run: kaval-mcp tools --markdown > docs/tools.md");
}

#[test]
fn the_table_of_codes_is_current() {
    let table = kaval_mcp::docs::errors_markdown();
    assert!(page("errors.md").contains(&table), "docs/errors.md must hold this table:\n\n{table}");
}
