//! The fingerprint of a request: what decides between a repetition and `turn_conflict`
//! (interface §2, Turns).
//!
//! It hashes the typed request, so the order of members, white space, escapes, an explicit default
//! and an explicit `null` do not count. Nor does `Streaming`, which affects delivery only, not
//! request semantics (AGN-034 §4.7): a client may come back for the same turn by the other
//! delivery. Each field is fed to the hash with its length or count in front, so no two requests
//! share an input, no copy of the body is made, and nothing here can fail.
//!
//! Inside a tool's `parameters` the order of members does count: the model reads it.
//!
//! Stored fingerprints outlive a deploy: a change to what is fed here changes `DOMAIN`.

use sha2::{Digest, Sha256};

use super::request::{
    ArtifactContent, ClientTool, ClipboardImage, ExecuteRequest, InputArtifact, RagCondition,
    RagScope, ToolContinuation, ToolParameters, UserTurn,
};
use super::tool_result::{ToolOutcome, ToolResult};
use crate::encoding::hex;

/// Tells these hashes from any others, and this way of feeding from a later one.
const DOMAIN: &str = "execute-request-1";

/// The SHA-256 of a request's content, as 64 lower-case hexadecimal digits: equal for a repetition
/// of the same request, different for other content.
pub fn fingerprint(request: &ExecuteRequest) -> String {
    let mut content = Content(Sha256::new());
    content.text(DOMAIN);
    match request {
        ExecuteRequest::UserTurn(turn) => {
            content.text("user_turn");
            content.user_turn(turn);
        }
        ExecuteRequest::ToolContinuation(continuation) => {
            content.text("tool_continuation");
            content.tool_continuation(continuation);
        }
    }
    hex(&content.0.finalize())
}

/// The hash so far. Every shape is taken apart by name, so a new field does not compile until it
/// is decided whether it counts.
struct Content(Sha256);

impl Content {
    fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    fn optional_text(&mut self, text: Option<&str>) {
        self.number(u64::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn list<T>(&mut self, list: &[T], element: fn(&mut Self, &T)) {
        self.number(list.len() as u64);
        for item in list {
            element(self, item);
        }
    }

    fn user_turn(&mut self, turn: &UserTurn) {
        let UserTurn {
            session_id,
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
        } = turn;
        self.text(session_id.as_str());
        self.text(turn_id.as_str());
        self.optional_text(instruction.as_deref());
        self.list(input_artifacts, Self::input_artifact);
        self.list(clipboard_images, Self::clipboard_image);
        self.number(u64::from(rag_scope.is_some()));
        if let Some(RagScope { conditions }) = rag_scope {
            self.list(conditions, Self::rag_condition);
        }
        self.optional_text(solution_context_text.as_deref());
        self.optional_text(workspace_id.as_deref());
        self.optional_text(repo.as_deref());
        self.optional_text(language.as_deref());
        self.optional_text(agent_context_id.as_deref());
        self.optional_text(conversation_context_id.as_deref());
        self.number(u64::from(tools.is_some()));
        if let Some(tools) = tools {
            self.list(tools, Self::client_tool);
        }
        self.optional_text(tool_choice_name.as_deref());
    }

    fn tool_continuation(&mut self, continuation: &ToolContinuation) {
        let ToolContinuation { session_id, turn_id, tool_results } = continuation;
        self.text(session_id.as_str());
        self.text(turn_id.as_str());
        self.list(tool_results, Self::tool_result);
    }

    fn input_artifact(&mut self, artifact: &InputArtifact) {
        let InputArtifact { relative_path, file_name, content, origin, mime_type, language } =
            artifact;
        self.text(relative_path);
        self.text(file_name);
        match content {
            ArtifactContent::Text(text) => {
                self.text("utf8");
                self.text(text);
            }
            ArtifactContent::Base64(data) => {
                self.text("base64");
                self.text(data);
            }
        }
        self.text(origin.as_str());
        self.optional_text(mime_type.as_deref());
        self.optional_text(language.as_deref());
    }

    fn clipboard_image(&mut self, image: &ClipboardImage) {
        let ClipboardImage { id, mime_type, data_base64 } = image;
        self.text(id);
        self.text(mime_type.as_str());
        self.text(data_base64);
    }

    fn rag_condition(&mut self, condition: &RagCondition) {
        let RagCondition { key, operator, values } = condition;
        self.text(key);
        self.text(operator.as_str());
        self.list(values, |content, value| content.text(value));
    }

    fn client_tool(&mut self, tool: &ClientTool) {
        let ClientTool { name, description, parameters, strict } = tool;
        self.text(name);
        self.optional_text(description.as_deref());
        self.optional_text(parameters.as_ref().map(ToolParameters::as_json));
        self.optional_text(strict.map(|strict| if strict { "true" } else { "false" }));
    }

    fn tool_result(&mut self, result: &ToolResult) {
        let ToolResult { tool_call_id, execution_ms, outcome } = result;
        self.text(tool_call_id);
        self.number(*execution_ms);
        match outcome {
            ToolOutcome::Result(json) => {
                self.text("result");
                self.text(json);
            }
            ToolOutcome::Error(message) => {
                self.text("error");
                self.text(message);
            }
        }
    }
}
