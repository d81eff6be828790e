//! Reading the schema of a turn's answer, the text of `OutputSchema` (interface §2).
//!
//! It owns the rules of the text: JSON, one object, no longer than a call can carry with each of its turn. What a schema
//! may say is for the model service to judge.

use serde_json::Value;

use super::reader::Reader;
use crate::contract::{ToolParameters, limits};
use crate::json::{Node, canonical_json, repeats_a_member};

/// The name that a schema without one is sent under.
pub(super) const DEFAULT_NAME: &str = "answer";

impl Reader {
    /// Reads the schema, as it is sent and in its canonical form.
    pub(super) fn output_schema(&mut self, node: Node<'_, '_>) -> Option<(ToolParameters, String)> {
        const OBJECT: &str = "a JSON Schema, which is an object";
        const UNREADABLE: &str = "holds a number beyond the range of a double, half a character in an escape, or more than 127 levels; write it without";
        let text = node.text(self)?;
        let longest = limits::OUTPUT_SCHEMA;
        if text.len() > longest {
            let length = text.len();
            let problem = format!("must be at most {longest} bytes long, not {length}");
            return self.refuse(node, &problem);
        }
        if !self.holds_json(&text, OBJECT, node) {
            return None;
        }
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            return self.refuse(node, UNREADABLE);
        };
        let compact = ToolParameters::compact(text.trim_ascii()).ok();
        let Some(schema) = compact.filter(|_| value.is_object()) else {
            return self.refuse(node, &format!("must hold {OBJECT}"));
        };
        if repeats_a_member(&text) {
            return self.refuse(node, "names a member of one object twice; name it once");
        }
        Some((schema, canonical_json(value)))
    }
}
