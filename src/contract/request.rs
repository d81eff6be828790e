//! What the members of a User Turn hold after their validation (AGN-034, interface §2).
//!
//! They are a canonical form: the two spellings of a client tool are one. It checks nothing itself and has no member of
//! the server's. Client tools are stored in the form that they serialise to.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::encoding::closed_list;

/// The JSON Schema of a turn's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSchema {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// The object, as the model reads it.
    pub schema: ToolParameters,
    /// The same value in the one form that all its spellings have.
    pub canonical: String,
}

/// What an artifact holds, as text or as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArtifactContent {
    /// `utf8`: the text itself, possibly empty.
    Text(String),
    /// `base64`: valid, standard alphabet, padded; possibly empty.
    Base64(String),
}

closed_list! {
    /// How the `Contents` of an artifact are written.
    pub enum ContentEncoding {
        /// The text itself. The default.
        Utf8 = "utf8",
        /// Base64 of the file's bytes.
        Base64 = "base64",
    }
}

closed_list! {
    /// Who supplied an artifact.
    pub enum ArtifactOrigin {
        Ide = "ide",
        User = "user",
    }
}

closed_list! {
    /// The kinds of image a client can paste, as media types.
    pub enum ImageMimeType {
        Png = "image/png",
        Jpeg = "image/jpeg",
        Webp = "image/webp",
        Gif = "image/gif",
    }
}

closed_list! {
    /// The comparison of a condition.
    pub enum RagOperator {
        /// One of the values is the whole text.
        Equal = "==",
        /// None of the values is the whole text.
        NotEqual = "!=",
        /// The text contains one of the values.
        Contains = "contains",
        /// The text contains none of the values.
        DoesNotContain = "does_not_contain",
    }
}

/// A function tool of the client, from either spelling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ClientTool {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// Its purpose, for the model.
    pub description: Option<String>,
    /// Its arguments, as a JSON Schema object.
    pub parameters: Option<ToolParameters>,
    /// Whether arguments must fit the schema exactly; `None` when the client does not say.
    pub strict: Option<bool>,
}

/// A JSON Schema object as compact JSON text, with its members in the client's order: the model
/// reads and fills them in that order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolParameters(Box<RawValue>);

impl ToolParameters {
    /// The object without its insignificant white space. The caller has checked that it is an
    /// object; text that is not JSON is refused nevertheless.
    pub fn compact(object: &str) -> serde_json::Result<Self> {
        let mut inside_string = false;
        let mut escaped = false;
        let compact: String = object
            .chars()
            .filter(|c| {
                if inside_string {
                    inside_string = escaped || *c != '"';
                    escaped = !escaped && *c == '\\';
                    true
                } else {
                    inside_string = *c == '"';
                    !matches!(c, ' ' | '\t' | '\r' | '\n')
                }
            })
            .collect();
        RawValue::from_string(compact).map(Self)
    }

    /// The object as JSON text, which other JSON can include unchanged.
    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }
}

impl PartialEq for ToolParameters {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_lose_only_the_white_space_between_tokens() {
        let object = "{ \"b\" : [ 1 ,\n\t\"a \\\" b\\\\\" ] , \"a\\\\\" : \" \" }";
        assert_eq!(
            ToolParameters::compact(object).unwrap().as_raw().get(),
            r#"{"b":[1,"a \" b\\"],"a\\":" "}"#
        );
    }
}
