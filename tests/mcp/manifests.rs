//! The manifests of the registries agree with the package and with the server.

use std::fs;
use std::path::Path;

use serde_json::Value;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn json(name: &str) -> Value {
    serde_json::from_str(&read(name)).unwrap()
}

#[test]
fn server_json_names_this_version_and_fits_the_registry() {
    let manifest = json("server.json");
    assert_eq!(
        manifest["$schema"],
        "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    );
    assert_eq!(manifest["name"], "io.github.kaval-mcp/kaval-mcp");
    assert_eq!(manifest["version"], VERSION);
    let description = manifest["description"].as_str().unwrap();
    assert!((1..=100).contains(&description.chars().count()), "{description}");
    assert!((1..=100).contains(&manifest["title"].as_str().unwrap().chars().count()));
    let packages = manifest["packages"].as_array().unwrap();
    assert!(!packages.is_empty());
    for package in packages {
        assert_eq!(package["transport"]["type"], "stdio");
        assert_eq!(package["identifier"], env!("CARGO_PKG_NAME"));
        assert_eq!(package["version"], VERSION);
        let variables = package["environmentVariables"].as_array().unwrap();
        let key = variables.iter().find(|variable| variable["name"] == "KAVAL_API_KEY").unwrap();
        assert_eq!(key["isSecret"], true);
    }
}

#[test]
fn every_variable_of_the_manifests_is_one_the_server_reads() {
    let help = crate::harness::Launch::bare().arg("--help").run().stdout;
    let manifest = json("server.json");
    let mut names: Vec<String> = Vec::new();
    for package in manifest["packages"].as_array().unwrap() {
        for variable in package["environmentVariables"].as_array().unwrap() {
            assert!(variable["description"].as_str().is_some_and(|text| !text.is_empty()));
            names.push(variable["name"].as_str().unwrap().to_owned());
        }
    }
    for text in [read("smithery.yaml"), read("mcp.json")] {
        for word in text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
            if word.starts_with("KAVAL_") {
                names.push(word.to_owned());
            }
        }
    }
    assert!(names.len() > 3);
    for name in names {
        assert!(help.contains(&name), "{name} is in a manifest and not in --help");
    }
}

#[test]
fn the_sample_configuration_starts_the_binary_with_a_key() {
    let sample = json("mcp.json");
    let entry = &sample["mcpServers"]["kaval"];
    assert_eq!(entry["command"], env!("CARGO_PKG_NAME"));
    assert!(entry["env"]["KAVAL_API_KEY"].is_string());
}

#[test]
fn smithery_starts_over_stdio_and_keeps_the_key_optional_for_listing() {
    let text = read("smithery.yaml");
    for part in ["type: stdio", "configSchema:", "commandFunction:", "exampleConfig:", "command: 'kaval-mcp'"]
    {
        assert!(text.contains(part), "{part} is missing");
    }
}

#[test]
fn the_guide_names_every_tool_and_every_variable() {
    let guide = read("docs/mcp-server.md");
    for tool in
        ["check", "get_receipt", "add_source", "list_sources", "remove_source", "report_outcome", "verify"]
    {
        assert!(guide.contains(&format!("`{tool}`")), "{tool}");
    }
    let help = crate::harness::Launch::bare().arg("--help").run().stdout;
    let mut found = 0;
    for word in help.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
        if word.starts_with("KAVAL_") {
            found += 1;
            assert!(guide.contains(word), "{word} is in --help and not in the guide");
        }
    }
    assert!(found > 5);
}

#[test]
fn the_guides_client_entry_is_the_sample() {
    let guide = read("docs/mcp-server.md");
    let block = guide.split("```json").nth(1).unwrap().split("```").next().unwrap();
    let shown: Value = serde_json::from_str(block).unwrap();
    assert_eq!(shown, json("mcp.json"));
}
