//! The tables of `docs/` that no other test reads agree with the code: members of the catalog, bindings, events of the
//! log, warnings.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{CONFIGURATION, code_spans, section, sources, table};

const CATALOG: &str = include_str!("../../docs/catalog.md");
const RETRIEVAL: &str = include_str!("../../docs/retrieval.md");
const OPERATIONS: &str = include_str!("../../docs/operations.md");

/// The code in the first cell of each row.
fn first_cells<'a>(rows: &[Vec<&'a str>]) -> Vec<&'a str> {
    rows.iter().map(|row| code_spans(row[0])[0]).collect()
}

#[test]
fn the_documented_members_of_a_catalog_are_those_of_its_schema() {
    let schema: Value =
        serde_json::from_str(include_str!("../../src/catalog/catalog.schema.json")).unwrap();
    let shapes = &schema["$defs"];
    let members = |shape: &Value| -> Vec<String> {
        shape["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let below = |page, heading| table(section(page, heading), "member");
    for (rows, shape) in [
        (below(CATALOG, "Agent contexts"), &shapes["AgentContext"]),
        (
            table(
                section(CATALOG, "Agent contexts").split_once("### Compaction").unwrap().1,
                "member",
            ),
            &shapes["AgentContext"]["properties"]["Compaction"],
        ),
        (below(CATALOG, "Conversation contexts"), &shapes["ConversationContext"]),
        (below(CATALOG, "Modes"), &shapes["Mode"]),
        (below(CATALOG, "Server tools"), &shapes["ServerTool"]),
        (below(CATALOG, "MCP servers"), &shapes["McpServer"]),
        (table(section(RETRIEVAL, "By meaning"), "member of `Embeddings`"), &shapes["Embeddings"]),
    ] {
        let documented: BTreeSet<&str> = first_cells(&rows).into_iter().collect();
        let members = members(shape);
        assert_eq!(documented, members.iter().map(String::as_str).collect());
        for row in &rows {
            let member = &shape["properties"][code_spans(row[0])[0]];
            if let Some(default) = member.get("default").filter(|default| !default.is_object()) {
                let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
                let says_none = row[1] == "none" && ["[]", ""].contains(&default.as_str());
                assert!(says_none || row[1].trim_matches('`') == default, "{row:?}: {default}");
            }
        }
    }
}

#[test]
fn the_documented_bindings_are_those_of_the_configuration() {
    let wrangler = include_str!("../../wrangler.toml");
    let documented = table(section(CONFIGURATION, "Bindings"), "binding");
    let documented: BTreeSet<&str> = first_cells(&documented).into_iter().collect();
    // Bindings are in capitals, also those that stand there as comments.
    let named = |start: &'static str| wrangler.split(start).skip(1);
    let quoted =
        named("name = \"").chain(named("binding = \"")).map(|rest| rest.split('"').next().unwrap());
    let is_binding = |name: &&str| name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    assert_eq!(quoted.filter(is_binding).collect::<BTreeSet<_>>(), documented);
}

#[test]
fn the_documented_events_are_those_that_the_code_writes() {
    let sources = sources();
    let events = sources.iter().flat_map(|code| {
        let after = |call| code.split(call).skip(1);
        after("\"event\": \"").chain(after("failure_line(\""))
    });
    let written: BTreeSet<&str> = events.map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(written.contains("submission") && written.contains("storage_failed"), "{written:?}");
    let documented = table(section(OPERATIONS, "The log"), "event");
    assert_eq!(first_cells(&documented).into_iter().collect::<BTreeSet<_>>(), written);
}

#[test]
fn the_documented_warnings_are_in_the_code() {
    // A text that is broken over lines in the code stands on one here.
    let joined = |code: &String| {
        let mut lines = code.split("\\\n");
        let first = lines.next().unwrap_or_default().to_owned();
        lines.fold(first, |text, line| text + line.trim_start())
    };
    let sources: Vec<String> = sources().iter().map(joined).collect();
    let is_there = |text: &str| sources.iter().any(|code| code.contains(text));
    let warnings = section(OPERATIONS, "Warnings");
    let sentences = table(warnings, "`UserWarnings`");
    assert!(sentences.len() > 10);
    for sentence in first_cells(&sentences) {
        for part in sentence.split('…').map(str::trim).filter(|part| part.len() > 1) {
            // The code has the number of a limit by its name.
            let part = part.split("128 ").next().unwrap_or_default().trim_end();
            assert!(is_there(part), "{sentence}: nothing says {part}");
        }
    }
    // The other way round: each sentence in the code, without what is filled in, stands in the table.
    let declared = include_str!("../../src/contract/user_warning.rs").split("#[error(").skip(1);
    let mut said = declared.filter_map(|rest| rest.split('"').nth(1)).peekable();
    assert!(said.peek().is_some());
    let parts = said.flat_map(|sentence| sentence.split(['{', '}']).step_by(2)).map(str::trim);
    for part in parts.filter(|part| part.len() > 1) {
        assert!(warnings.contains(part), "docs/operations.md does not list: {part}");
    }
    let codes = first_cells(&table(warnings, "code in `Warnings`"));
    for code in &codes {
        assert!(is_there(&format!("\"{code}\"")), "{code}");
    }
    let made = sources.iter().flat_map(|code| {
        let after = |call| code.split(call).skip(1);
        after("Warning::new(").chain(after(".warn("))
    });
    let literal = made.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    for code in literal {
        assert!(codes.contains(&code), "docs/operations.md does not list the warning {code}");
    }
}
