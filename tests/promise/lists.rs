//! Closed lists that pages name one by one: operators of a scope, rights and operations, progress events.

use std::collections::BTreeSet;

use aptix_edge::contract::{Operation, RagOperator};
use aptix_edge::entry::openapi;
use aptix_edge::identity::Right;
use aptix_edge::ports::Deployment;
use serde_json::Value;

use super::{code_spans, interface, section, table};

const RETRIEVAL: &str = include_str!("../../docs/retrieval.md");

/// The first code of each row of the table with this header.
fn named<'a>(page: &'a str, header: &str) -> Vec<&'a str> {
    table(page, header).iter().map(|row| code_spans(row[0])[0]).collect()
}

#[test]
fn the_operators_of_a_scope_are_those_that_the_pages_name() {
    let operators: Vec<&str> = RagOperator::ALL.iter().map(|known| known.as_str()).collect();
    assert_eq!(named(&interface::section(7), "operator"), operators);
    let request = interface::section(2);
    for (page, before) in
        [(request.as_str(), "`Operator` is one of"), (RETRIEVAL, "the operators are")]
    {
        let sentence = page.split_once(before).unwrap().1.split(['.', ';']).next().unwrap();
        assert_eq!(code_spans(sentence), operators, "{before}");
    }
}

#[test]
fn the_promised_rights_and_operations_are_those_of_credentials() {
    let users = interface::section(13);
    let rights: Vec<&str> = Right::ALL.iter().map(|right| right.as_str()).collect();
    assert_eq!(named(&users, "right"), rights);
    let operations: Vec<(&str, bool)> = Operation::ALL
        .iter()
        .map(|operation| (operation.as_str(), Operation::DEFAULT.contains(operation)))
        .collect();
    let rows = table(section(&users, "Tickets"), "operation");
    let promised: Vec<(&str, bool)> =
        rows.iter().map(|row| (code_spans(row[0])[0], row[2] == "yes")).collect();
    assert_eq!(promised, operations);
}

/// The kind and the members of a progress event as the interface writes them, and which of them are always there.
fn members(form: &str) -> (String, BTreeSet<String>, BTreeSet<String>) {
    let parts: Vec<&str> = form.trim_matches(['{', '}']).split(',').collect();
    let quoted = |part: &str, place| part.split('"').nth(place).unwrap().to_owned();
    let names = |wanted: &dyn Fn(&str) -> bool| {
        parts.iter().filter(|part| wanted(part)).map(|part| quoted(part, 1)).collect()
    };
    (quoted(parts[0], 3), names(&|_| true), names(&|part| !part.ends_with('?')))
}

#[test]
fn the_promised_progress_events_are_the_published_ones() {
    let document: Value =
        serde_json::from_str(&openapi(&Deployment::default(), "1", true)).unwrap();
    let schemas = &document["components"]["schemas"];
    let published: BTreeSet<_> = schemas["Progress"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reference| {
            let name = reference["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
            let schema = &schemas[name];
            let kind = schema["properties"]["Kind"]["const"].as_str().unwrap().to_owned();
            let members = schema["properties"].as_object().unwrap().keys().cloned().collect();
            let required = schema["required"].as_array().unwrap().iter();
            (kind, members, required.map(|name| name.as_str().unwrap().to_owned()).collect())
        })
        .collect();
    let request = interface::section(2);
    let promised: BTreeSet<_> = named(&request, "data").into_iter().map(members).collect();
    assert_eq!(promised, published);
}
