//! The fingerprint of a request: it separates a repetition from a `turn_conflict` (interface §2,
//! Turns).
//!
//! It hashes the typed request, so the order of members, white space, escapes, an explicit default
//! and an explicit `null` do not count. Nor does `Streaming`, which affects delivery only, not
//! request semantics (AGN-034 §4.7): a client may repeat the request with the other delivery.
//! Each field is hashed with its length or count in front, so no two requests share an input, no
//! copy of the body is made, and nothing here can fail.
//!
//! Inside a tool's `parameters` the order of members does count: the model reads it. Inside an `OutputSchema` it does not
//! (interface §2).
//!
//! Stored fingerprints outlive a deploy. A new member that may be absent is hashed only where it is present; any other
//! change to the hashed input changes `DOMAIN`.

use sha2::{Digest, Sha256};

use super::identifiers::SessionId;
use super::request::{ArtifactContent, ClientTool, OutputSchema};
use super::steer::SteerContent;
use super::tool_result::{ToolOutcome, ToolResult};
use super::validation::{
    ClipboardImage, ExecuteRequest, InputArtifact, RagCondition, RagScope, SteerRequest,
    ToolContinuation, UserTurn,
};
use crate::encoding::hex;

/// Separates these hashes from all others, and this hashed input from a later one.
const DOMAIN: &str = "execute-request-1";

/// The SHA-256 of a request's content, as 64 lower-case hexadecimal digits: equal for a repetition
/// of the same request, different for other content.
pub fn fingerprint(request: &ExecuteRequest) -> String {
    fingerprint_in(request, request.session_id())
}

/// The fingerprint that the same request would have in another session: a fork knows the requests of its copied turns by
/// those that its parent got.
pub fn fingerprint_in(request: &ExecuteRequest, session: &SessionId) -> String {
    let mut content = Content(Sha256::new());
    match request {
        ExecuteRequest::UserTurn(turn) => content.user_turn(turn, session),
        ExecuteRequest::ToolContinuation(continuation) => {
            content.tool_continuation(continuation, session);
        }
    }
    hex(&content.0.finalize())
}

/// The same of a steer's content. `Interrupt` is delivery, and does not count.
pub fn steer_fingerprint(request: &SteerRequest) -> String {
    let SteerRequest { steer_id, content: steer, interrupt: _ } = request;
    let SteerContent { instruction, input_artifacts, clipboard_images } = steer;
    let mut content = Content(Sha256::new());
    content.texts([DOMAIN, "steer", steer_id.as_str()]);
    content.optional_texts([instruction.as_deref()]);
    content.list(input_artifacts, Content::input_artifact);
    content.list(clipboard_images, Content::clipboard_image);
    hex(&content.0.finalize())
}

/// The hash so far. Every shape is destructured by name, so a new field does not compile until it
/// is decided whether it counts.
struct Content(Sha256);

impl Content {
    fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    fn texts<const N: usize>(&mut self, texts: [&str; N]) {
        for text in texts {
            self.number(text.len() as u64);
            self.0.update(text.as_bytes());
        }
    }

    fn optional<T>(&mut self, value: Option<T>, feed: impl FnOnce(&mut Self, T)) {
        self.number(u64::from(value.is_some()));
        if let Some(value) = value {
            feed(self, value);
        }
    }

    fn optional_texts<const N: usize>(&mut self, texts: [Option<&str>; N]) {
        for text in texts {
            self.optional(text, |content, text| content.texts([text]));
        }
    }

    fn list<T>(&mut self, list: &[T], element: fn(&mut Self, &T)) {
        self.number(list.len() as u64);
        for item in list {
            element(self, item);
        }
    }

    fn user_turn(&mut self, turn: &UserTurn, session: &SessionId) {
        let UserTurn {
            session_id: _,
            turn_id,
            instruction,
            input_artifacts,
            clipboard_images,
            rag_scope,
            solution_context_text,
            workspace_id,
            repo,
            language,
            streaming: _,
            agent_context_id,
            conversation_context_id,
            tools,
            tool_choice_name,
            output_schema,
        } = turn;
        self.texts([DOMAIN, "user_turn", session.as_str(), turn_id.as_str()]);
        self.optional_texts([instruction.as_deref()]);
        self.list(input_artifacts, Self::input_artifact);
        self.list(clipboard_images, Self::clipboard_image);
        self.optional(rag_scope.as_ref(), |content, RagScope { conditions }| {
            content.list(conditions, Self::rag_condition);
        });
        self.optional_texts([
            solution_context_text.as_deref(),
            workspace_id.as_deref(),
            repo.as_deref(),
            language.as_deref(),
            agent_context_id.as_deref(),
            conversation_context_id.as_deref(),
        ]);
        self.optional(tools.as_ref(), |content, tools| content.list(tools, Self::client_tool));
        self.optional_texts([tool_choice_name.as_deref()]);
        // A request without a schema keeps the fingerprint that it had before there were any.
        if let Some(OutputSchema { name, schema: _, canonical }) = output_schema {
            self.texts([name, canonical]);
        }
    }

    fn tool_continuation(&mut self, continuation: &ToolContinuation, session: &SessionId) {
        let ToolContinuation { session_id: _, turn_id, tool_results } = continuation;
        self.texts([DOMAIN, "tool_continuation", session.as_str(), turn_id.as_str()]);
        self.list(tool_results, Self::tool_result);
    }

    fn input_artifact(&mut self, artifact: &InputArtifact) {
        let InputArtifact { relative_path, file_name, content, origin, mime_type, language } =
            artifact;
        let (encoding, contents) = match content {
            ArtifactContent::Text(text) => ("utf8", text),
            ArtifactContent::Base64(data) => ("base64", data),
        };
        self.texts([relative_path, file_name, encoding, contents, origin.as_str()]);
        self.optional_texts([mime_type.as_deref(), language.as_deref()]);
    }

    fn clipboard_image(&mut self, image: &ClipboardImage) {
        let ClipboardImage { id, mime_type, data_base64 } = image;
        self.texts([id, mime_type.as_str(), data_base64]);
    }

    fn rag_condition(&mut self, condition: &RagCondition) {
        let RagCondition { key, operator, values } = condition;
        self.texts([key, operator.as_str()]);
        self.list(values, |content, value| content.texts([value]));
    }

    fn client_tool(&mut self, tool: &ClientTool) {
        let ClientTool { name, description, parameters, strict } = tool;
        self.texts([name]);
        self.optional_texts([
            description.as_deref(),
            parameters.as_ref().map(|object| object.as_raw().get()),
            strict.map(|strict| if strict { "true" } else { "false" }),
        ]);
    }

    fn tool_result(&mut self, result: &ToolResult) {
        let ToolResult { tool_call_id, execution_ms, outcome } = result;
        self.texts([tool_call_id]);
        self.number(*execution_ms);
        self.texts(match outcome {
            ToolOutcome::Result(json) => ["result", json],
            ToolOutcome::Error(message) => ["error", message],
        });
    }
}
