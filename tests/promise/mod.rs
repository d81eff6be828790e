//! The promise, `src/contract/interface/`, agrees with the code: endpoints, members of a request,
//! error codes and variables. So do the tables of the pages for readers, `docs/`.
//!
//! OpenAPI has the details of each shape, and `tests/entry/openapi.rs` compares them with the code.

// A test fails by panicking, in its helper functions too.
mod documented;
mod interface;
mod lists;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use aptix_edge::contract::{ErrorCode, dictionary, parse};
use aptix_edge::encoding::sha256_hex;
use aptix_edge::entry::{ENDPOINTS, Route, openapi};
use aptix_edge::files::{FileId, FileLink};
use aptix_edge::ports::Deployment;
use serde_json::{Value, json};

const API: &str = include_str!("../../docs/api.md");
const CONFIGURATION: &str = include_str!("../../docs/configuration.md");

/// The part of a page under a heading, up to the next heading of its level.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, below) = page.split_once(&format!("\n## {heading}")).unwrap();
    below.split("\n## ").next().unwrap()
}

/// The cells of each row of the first table whose header begins with this cell.
fn table<'a>(text: &'a str, header: &str) -> Vec<Vec<&'a str>> {
    let (_, below) = text.split_once(&format!("\n| {header} |")).unwrap();
    let rows = below.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// The texts between backticks.
fn code_spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Every file of the product's sources, Rust without its unit tests.
fn sources() -> Vec<String> {
    fn under(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { under(&path, files) } else { files.push(path) }
        }
    }
    let mut files = Vec::new();
    under(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../src"), &mut files);
    let code = |path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.split("#[cfg(test)]\nmod tests").next().unwrap().to_owned()
    };
    files.into_iter().map(code).collect()
}

/// The endpoints of a table, each as method and path without a query. `DELETE …` takes the path of
/// the endpoint before it.
fn listed_endpoints(rows: &[Vec<&str>]) -> Vec<String> {
    let mut last_path = "";
    let spans = rows.iter().flat_map(|row| code_spans(row[0]));
    spans
        .map(|span| {
            let (method, path) = span.split_once(' ').unwrap();
            let path = if path == "…" { last_path } else { path.split('?').next().unwrap() };
            last_path = path;
            format!("{method} {path}")
        })
        .collect()
}

/// A target of the endpoint with this path.
fn target(path: &str) -> String {
    let link = FileLink {
        id: FileId::of("0a".repeat(32), sha256_hex(b"x")),
        bucket: None,
        name: "a".to_owned(),
        mime_type: "text/plain".to_owned(),
        expires_at: 1,
    };
    let path =
        path.replace("{SessionId}", "s").replace("{TurnId}", "t").replace("{WorkspaceId}", "w");
    let path = path.replace("{User}", "u");
    match path.as_str() {
        "/files/{FileId}" => link.target("k"),
        path if path.ends_with("/documents") => format!("{path}?Path=a"),
        path => path.to_owned(),
    }
}

#[test]
fn the_promised_endpoints_are_those_of_the_router() {
    let promised = listed_endpoints(&table(&interface::section(1), "method and path"));
    for endpoint in &promised {
        let (_, path) = endpoint.split_once(' ').unwrap();
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            let known = promised.contains(&format!("{method} {path}"));
            assert_eq!(Route::find(method, &target(path)).is_ok(), known, "{method} {path}");
        }
    }
    // The page's files are no endpoint of their own.
    let labels = ENDPOINTS.iter().map(|endpoint| endpoint.label);
    let ours: BTreeSet<&str> = labels.filter(|label| *label != "GET /playground/{File}").collect();
    assert_eq!(promised.iter().map(String::as_str).collect::<BTreeSet<_>>(), ours);
    let documented = listed_endpoints(&table(API, "endpoint"));
    assert_eq!(documented, promised, "docs/api.md");
}

#[test]
fn the_promised_members_are_those_of_the_two_requests() {
    let document = openapi(&Deployment::default(), "1", true);
    let document: Value = serde_json::from_str(&document).unwrap();
    let schemas = &document["components"]["schemas"];
    let names = |shape: &str, list: &str| -> BTreeSet<String> {
        match &schemas[shape][list] {
            Value::Object(members) => members.keys().cloned().collect(),
            Value::Array(names) => {
                names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
            }
            other => panic!("{shape}.{list} is {other}"),
        }
    };
    let mut promised: [BTreeSet<String>; 4] = Default::default();
    for row in table(&interface::section(2), "member") {
        let [members, in_turn, in_continuation] = row[..] else { panic!("{row:?}") };
        for span in code_spans(members) {
            let name = span.split([' ', '[', '{']).next().unwrap().to_owned();
            for (place, means) in [(0, in_turn), (2, in_continuation)] {
                if !means.starts_with("forbidden") {
                    promised[place].insert(name.clone());
                }
                if means.starts_with("required") {
                    promised[place + 1].insert(name.clone());
                }
            }
            if in_continuation.starts_with("forbidden") {
                let result = json!({ "ToolCallId": "c", "ExecutionMs": 1, "ResultJson": "1" });
                let mut request =
                    json!({ "SessionId": "s", "TurnId": "t", "ToolResults": [result] });
                request[&name] = json!("x");
                let faults = parse(request.to_string().as_bytes()).unwrap_err();
                assert_eq!(faults[0].code, ErrorCode::ForbiddenField, "{name}");
            }
        }
    }
    assert_eq!(
        promised,
        [
            names("UserTurn", "properties"),
            names("UserTurn", "required"),
            names("ToolContinuation", "properties"),
            names("ToolContinuation", "required"),
        ]
    );
}

#[test]
fn the_promised_error_codes_are_those_of_the_dictionary() {
    let mut promised = Vec::new();
    let errors = interface::section(3);
    for row in table(&errors, "HTTP") {
        let status: u16 = row[0].parse().unwrap();
        promised.extend(code_spans(row[1]).into_iter().map(|code| (code, status)));
    }
    let ours: Vec<(&str, u16)> =
        ErrorCode::ALL.iter().map(|code| (code.as_str(), code.http_status())).collect();
    assert_eq!(promised, ours);
}

#[test]
fn the_dictionary_is_pinned_byte_for_byte() {
    let pinned = include_str!("../goldens/errors.json").replace('\n', "");
    assert_eq!(serde_json::to_string(&dictionary()).unwrap(), pinned);
}

/// The names of the variables and secrets that the code reads.
fn variables_read(sources: &[String]) -> BTreeSet<&str> {
    let calls = sources.iter().flat_map(|code| {
        let after = |call| code.split(call).skip(1);
        after("variable(").chain(after("secret("))
    });
    let first_text = calls.filter_map(|rest| rest.split(')').next()?.split('"').nth(1));
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    first_text.filter(|name| !name.is_empty() && name.chars().all(is_name)).collect()
}

#[test]
fn the_promised_variables_are_those_that_the_code_reads() {
    let sources = sources();
    let mut read = variables_read(&sources);
    assert!(read.contains("AUTH") && read.contains("FILE_LINK_KEY"), "{read:?}");
    read.extend(Deployment::VARIABLES.iter().map(|(name, _)| *name));
    // The built-in catalog names it.
    read.insert("OPENAI_API_KEY");
    let configuration = interface::section(6);
    let page = table(&configuration, "name");
    let documented = table(section(CONFIGURATION, "Variables and secrets"), "name");
    for rows in [&page, &documented] {
        let names: BTreeSet<&str> = rows.iter().map(|row| code_spans(row[0])[0]).collect();
        assert_eq!(names, read);
        for (name, default) in Deployment::VARIABLES {
            let row = rows.iter().find(|row| code_spans(row[0]) == [*name]).unwrap();
            let default = default.replace('_', "");
            assert_eq!(row[1].trim_matches('`'), default, "{name}");
            let shown = format!("# {name} = \"{default}\"");
            assert!(include_str!("../../wrangler.toml").contains(&shown), "wrangler.toml: {shown}");
        }
    }
    for name in code_spans(section(&configuration, "Bindings")) {
        if name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
            let literal = format!("\"{name}\"");
            assert!(sources.iter().any(|code| code.contains(&literal)), "{name} is bound nowhere");
        }
    }
}

#[test]
fn every_cited_section_exists() {
    let numbers = interface::numbers();
    assert_eq!(numbers, (1..=17).collect::<Vec<_>>());
    for code in sources() {
        for cited in code.split("interface §").skip(1) {
            let digits = cited.split(|c: char| !c.is_ascii_digit()).next().unwrap();
            assert!(numbers.contains(&digits.parse().unwrap()), "interface §{digits}");
        }
    }
}
