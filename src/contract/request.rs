//! A User Turn and a Tool Continuation after their validation (AGN-034, interface §2).
//!
//! It owns the typed shapes. They are a canonical form: defaults are filled in, absent and `null`
//! are the same, the two spellings of a client tool are one. It checks nothing itself and has no
//! member of the server's. Client tools are stored in the form that they serialise to.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::identifiers::{SessionId, TurnId};
use super::tool_result::ToolResult;
use crate::encoding::closed_list;

/// The body of `POST /execute`.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecuteRequest {
    /// Starts a turn.
    UserTurn(Box<UserTurn>),
    /// Gives a waiting turn its tool results.
    ToolContinuation(ToolContinuation),
}

/// A turn's input; at least one of instruction, artifacts and images is present.
#[derive(Clone, Debug, PartialEq)]
pub struct UserTurn {
    pub session_id: SessionId,
    /// The turn; also the request's idempotency key.
    pub turn_id: TurnId,
    /// Markdown; never blank.
    pub instruction: Option<String>,
    /// Files, in the client's order.
    pub input_artifacts: Vec<InputArtifact>,
    /// Pasted images, in the client's order.
    pub clipboard_images: Vec<ClipboardImage>,
    pub rag_scope: Option<RagScope>,
    /// Latched by the session: `None` keeps its text, `""` clears it, other text replaces it.
    pub solution_context_text: Option<String>,
    /// The workspace whose index may be searched; never empty.
    pub workspace_id: Option<String>,
    /// Advisory; never empty.
    pub repo: Option<String>,
    /// Advisory; never empty.
    pub language: Option<String>,
    /// Whether the result is delivered as a stream.
    pub streaming: bool,
    /// Bound by the session's first turn; never empty.
    pub agent_context_id: Option<String>,
    /// Bound by the session's first turn; never empty.
    pub conversation_context_id: Option<String>,
    /// Latched by the session: `None` keeps its tools, any list (the empty one too) replaces them.
    pub tools: Option<Vec<ClientTool>>,
    /// The tool that the first model call must use; composition checks that it is offered.
    pub tool_choice_name: Option<String>,
    /// The form of the turn's answer; `None` leaves it to the catalog.
    pub output_schema: Option<OutputSchema>,
}

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

/// Tool results for a waiting turn.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolContinuation {
    pub session_id: SessionId,
    pub turn_id: TurnId,
    /// One or more, in the client's order.
    pub tool_results: Vec<ToolResult>,
}

/// A file supplied by the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct InputArtifact {
    /// The path of the file or its folder, relative to the client's root; `""` is the root.
    pub relative_path: String,
    /// The file's name, without separators.
    pub file_name: String,
    /// `Contents`, with its `Encoding`.
    pub content: ArtifactContent,
    pub origin: ArtifactOrigin,
    /// `type/subtype`, when the client knows it.
    pub mime_type: Option<String>,
    /// A language hint; never empty.
    pub language: Option<String>,
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

/// An image pasted from the clipboard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ClipboardImage {
    /// The client's name for it.
    pub id: String,
    /// What kind of image it is.
    pub mime_type: ImageMimeType,
    /// Valid base64, standard alphabet, padded, not empty.
    pub data_base64: String,
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

/// The bounds of retrieval. All conditions must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct RagScope {
    /// The conditions; none permits everything.
    pub conditions: Vec<RagCondition>,
}

/// One condition on a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct RagCondition {
    /// The property that is compared; never empty.
    pub key: String,
    pub operator: RagOperator,
    /// One or more alternatives.
    pub values: Vec<String>,
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

impl ExecuteRequest {
    /// The session the request belongs to.
    pub fn session_id(&self) -> &SessionId {
        match self {
            Self::UserTurn(turn) => &turn.session_id,
            Self::ToolContinuation(continuation) => &continuation.session_id,
        }
    }

    /// The turn the request belongs to.
    pub fn turn_id(&self) -> &TurnId {
        match self {
            Self::UserTurn(turn) => &turn.turn_id,
            Self::ToolContinuation(continuation) => &continuation.turn_id,
        }
    }
}

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
