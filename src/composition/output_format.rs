//! The form of an answer that a turn's request asks for: the `text.format` of its model calls (interface §2).

use serde_json::value::RawValue;

use crate::contract::{Fault, Result, json_text};
use crate::json::for_each_member;
use crate::responses_api::JsonSchemaFormat;

/// The name of the request's member that holds the format.
pub(super) const TEXT: &str = "text";

/// The member of `text` that is the format.
const FORMAT: &str = "format";

/// The form of a turn's answer.
#[derive(Debug)]
pub struct OutputFormat {
    pub name: String,
    /// The JSON text of `text.format`.
    pub(super) json: String,
}

impl OutputFormat {
    /// The format of answers that fit a JSON Schema, which is JSON text.
    pub fn of_schema(name: &str, schema: String) -> Result<Self> {
        let schema = RawValue::from_string(schema)
            .map_err(|_| Fault::internal("The schema of the turn's answer is unreadable."))?;
        let format = JsonSchemaFormat { name, schema: &schema, strict: true };
        let json = json_text("The schema of the answer", &format)?;
        Ok(Self { name: name.to_owned(), json })
    }

    /// The member `text` with this format, and with all else that the catalog writes there.
    pub(super) fn text_with(
        &self,
        catalog_s: Option<&RawValue>,
    ) -> serde_json::Result<Box<RawValue>> {
        let mut members = Vec::new();
        if let Some(text) = catalog_s.filter(|text| text.get().starts_with('{')) {
            for_each_member(text.get(), |name, json| {
                if name != FORMAT {
                    members.push((name, json));
                }
            })?;
        }
        members.push((FORMAT.into(), &self.json));
        let written = members
            .iter()
            .map(|(name, json)| Ok(format!("{}:{json}", serde_json::to_string(name)?)));
        let written: Vec<String> = written.collect::<serde_json::Result<_>>()?;
        RawValue::from_string(format!("{{{}}}", written.join(",")))
    }
}
