//! What the operator and the session add to a model call beside its content (interface §4): parameters
//! of the catalog, and what names the user.

use serde_json::value::RawValue;

use super::output_format::OutputFormat;
use crate::catalog::ModelParameters;
use crate::encoding::sha256_hex;

/// The parameters of one model call. They borrow the catalog's texts, so a call builds none.
#[derive(Clone, Debug, Default)]
pub struct CallParameters<'a> {
    pub(super) members: Vec<(&'a str, &'a RawValue)>,
    pub(super) include: &'a [String],
    /// The form that the turn's request asks of the answer, in place of the catalog's.
    pub(super) format: Option<&'a OutputFormat>,
    /// The model's text is JSON, so nothing may stand beside it.
    pub text_is_json: bool,
}

impl<'a> CallParameters<'a> {
    /// The members of all layers, of which a later one goes before an earlier one of the same name.
    pub fn merged(layers: impl IntoIterator<Item = &'a ModelParameters>) -> Self {
        let mut merged = Self::default();
        for layer in layers {
            for member in &layer.members {
                match merged.members.iter_mut().find(|(name, _)| *name == member.name) {
                    Some((_, json)) => *json = &member.json,
                    None => merged.members.push((&member.name, &member.json)),
                }
            }
            merged.include = layer.include.as_deref().unwrap_or(merged.include);
            merged.text_is_json = layer.text_is_json.unwrap_or(merged.text_is_json);
        }
        merged
    }

    /// The same with the form that the turn's request asks of the answer.
    pub fn with_format(self, format: Option<&'a OutputFormat>) -> Self {
        Self { format, text_is_json: self.text_is_json || format.is_some(), ..self }
    }

    /// A parameter by its name.
    pub fn member(&self, name: &str) -> Option<&'a RawValue> {
        self.members.iter().find(|(known, _)| *known == name).map(|(_, json)| *json)
    }

    /// The length of their texts.
    pub(super) fn bytes(&self) -> usize {
        let members: usize = self.members.iter().map(|(_, json)| json.get().len()).sum();
        self.include.iter().map(String::len).sum::<usize>() + members
    }
}

/// What names a user to the model service's watch for abuse: 64 hex digits, the same for all calls of the user. Neither
/// tenant nor user can be read from it.
pub fn safety_identifier(tenant: &str, user: &str) -> String {
    sha256_hex(format!("{tenant}\n{user}").as_bytes())
}
