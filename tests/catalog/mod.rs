//! The catalog's promises: the documents that it accepts, all faults of a document in one report, and
//! agreement between the published schema and the checker.

mod declared;
mod documents;
mod faults;
mod right_documents;
mod rollout;
mod schema;
mod spoiled_documents;
mod tool_schemas;
mod webhooks;
mod wrong_documents;

use std::sync::LazyLock;

use aptix_edge::catalog::{Catalog, CatalogFault};
use serde_json::{Map, Value};

const SCHEMA: &str = include_str!("../../src/catalog/catalog.schema.json");

static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).expect("the schema is JSON"))
        .expect("the schema is a schema")
});

fn parse(document: &Value) -> Result<Catalog, Vec<CatalogFault>> {
    Catalog::parse(&document.to_string())
}

fn parsed(document: &Value) -> Catalog {
    parse(document).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

fn map(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}
