//! Reading a User Turn (AGN-034 §2.1, interface §2).
//!
//! It owns the rules of its members, and the rule that a turn has input.

use super::artifact_path::{file_name_problem, relative_path_problem};
use super::client_tools::client_tools;
use super::rag_scope::rag_scope;
use super::values::{full_text, identifier, list, one_of, optional_text, text};
use super::violations::Violations;
use crate::contract::error_code::ErrorCode;
use crate::contract::fault::Fault;
use crate::contract::identifiers::{SessionId, TurnId};
use crate::contract::limits;
use crate::contract::request::{
    ArtifactContent, ClipboardImage, ContentEncoding, InputArtifact, UserTurn,
};
use crate::encoding::{canonical_base64, is_media_type};
use crate::json::{ForbiddenMembers, Node, ObjectShape};

const USER_TURN: ObjectShape = ObjectShape::new(
    &[
        "SessionId",
        "TurnId",
        "Instruction",
        "InputArtifacts",
        "ClipboardImages",
        "RagScope",
        "SolutionContextText",
        "WorkspaceId",
        "Repo",
        "Language",
        "Streaming",
        "AgentContextId",
        "ConversationContextId",
        "ToolsJson",
        "ToolChoiceName",
        // Never more than `null` here: anything else makes the request a Tool Continuation. It is
        // known all the same, so that a misspelt one is recognised.
        "ToolResults",
    ],
    &["SessionId", "TurnId"],
)
.forbidding(&[SERVER_OWNED]);

/// Members that are the server's own and never a client's, in either scenario.
pub(super) const SERVER_OWNED: ForbiddenMembers = ForbiddenMembers {
    names: &[
        "Mode",
        "ModeDisplayName",
        "ConversationId",
        "ResponseContinuationId",
        "PreviousResponseId",
        "previous_response_id",
        "CorrelationId",
        "Model",
        "Kind",
    ],
    problem: "belongs to the server; remove it",
    null_is_absent: false,
};

const INPUT_ARTIFACT: ObjectShape = ObjectShape::new(
    &["RelativePath", "FileName", "Contents", "Origin", "MimeType", "Language", "Encoding"],
    &["RelativePath", "FileName", "Contents", "Origin"],
);

const CLIPBOARD_IMAGE: ObjectShape =
    ObjectShape::new(&["Id", "MimeType", "DataBase64"], &["Id", "MimeType", "DataBase64"]);

const BASE64_PROBLEM: &str = "must be base64 in the standard alphabet (A-Z a-z 0-9 + /), without \
                              white space, line breaks or a data: prefix";

/// Reads the body as a User Turn.
pub(super) fn user_turn(body: &str, found: &mut Violations) -> Option<UserTurn> {
    let (mut session_id, mut turn_id) = (None, None);
    let (mut instruction, mut input_artifacts, mut clipboard_images) = (None, None, None);
    let (mut rag, mut solution_context_text, mut streaming) = (None, None, None);
    let (mut workspace_id, mut repo, mut language) = (None, None, None);
    let (mut agent_context_id, mut conversation_context_id) = (None, None);
    let (mut tools, mut tool_choice_name) = (None, None);
    // Input that is there and wrong is reported as wrong, not as missing too.
    let mut has_input = false;
    USER_TURN.read(Node::root(body), found, |name, node, found| match name {
        "SessionId" => session_id = identifier(SessionId::parse, node, found),
        "TurnId" => turn_id = identifier(TurnId::parse, node, found),
        "Instruction" => {
            let text = text(limits::INSTRUCTION, node, found);
            let is_blank = text.as_ref().is_some_and(|text| text.trim().is_empty());
            has_input |= !is_blank;
            instruction = text.filter(|_| !is_blank);
        }
        "InputArtifacts" => {
            has_input |= !is_empty_array(node);
            input_artifacts = list(limits::INPUT_ARTIFACTS, node, found, input_artifact);
        }
        "ClipboardImages" => {
            has_input |= !is_empty_array(node);
            clipboard_images = list(limits::CLIPBOARD_IMAGES, node, found, clipboard_image);
        }
        "RagScope" => rag = rag_scope(node, found),
        "SolutionContextText" => {
            solution_context_text = text(limits::SOLUTION_CONTEXT, node, found);
        }
        "WorkspaceId" => workspace_id = optional_text(limits::WORKSPACE_ID, node, found),
        "Repo" => repo = optional_text(limits::HINT, node, found),
        "Language" => language = optional_text(limits::HINT, node, found),
        "Streaming" => streaming = node.flag(found),
        "AgentContextId" => agent_context_id = full_text(limits::IDENTIFIER, node, found),
        "ConversationContextId" => {
            conversation_context_id = full_text(limits::IDENTIFIER, node, found);
        }
        "ToolsJson" => {
            tools = text(limits::TOOLS_JSON, node, found)
                .and_then(|text| client_tools(&text, node, found));
        }
        // An empty one is none (AGN-003 §5).
        "ToolChoiceName" => tool_choice_name = optional_text(limits::TOOL_NAME, node, found),
        _ => {}
    });
    if !has_input {
        found.record(ErrorCode::EmptyTurn, || {
            Fault::new(
                ErrorCode::EmptyTurn,
                "The turn has no input; send a non-empty Instruction, InputArtifacts or \
                 ClipboardImages.",
            )
        });
    }
    Some(UserTurn {
        session_id: session_id?,
        turn_id: turn_id?,
        instruction,
        input_artifacts: input_artifacts.unwrap_or_default(),
        clipboard_images: clipboard_images.unwrap_or_default(),
        rag_scope: rag,
        solution_context_text,
        workspace_id,
        repo,
        language,
        streaming: streaming.unwrap_or_default(),
        agent_context_id,
        conversation_context_id,
        tools,
        tool_choice_name,
    })
}

fn input_artifact(node: Node<'_, '_>, found: &mut Violations) -> Option<InputArtifact> {
    let (mut relative_path, mut file_name, mut contents) = (None, None, None);
    let (mut origin, mut mime_type, mut language) = (None, None, None);
    let is_base64 = declares_base64(node);
    INPUT_ARTIFACT.read(node, found, |name, node, found| match name {
        "RelativePath" => relative_path = path(relative_path_problem, node, found),
        "FileName" => file_name = path(file_name_problem, node, found),
        "Contents" if is_base64 => {
            contents = base64(limits::CONTENTS, node, found).map(ArtifactContent::Base64);
        }
        "Contents" => contents = text(limits::CONTENTS, node, found).map(ArtifactContent::Text),
        "Origin" => origin = one_of(node, found),
        "MimeType" => mime_type = media_type(node, found),
        "Language" => language = optional_text(limits::HINT, node, found),
        _ => {
            // `declares_base64` has read it already; here a wrong name is reported.
            let _: Option<ContentEncoding> = one_of(node, found);
        }
    });
    Some(InputArtifact {
        relative_path: relative_path?,
        file_name: file_name?,
        content: contents?,
        origin: origin?,
        mime_type,
        language,
    })
}

fn clipboard_image(node: Node<'_, '_>, found: &mut Violations) -> Option<ClipboardImage> {
    let (mut id, mut mime_type, mut data_base64) = (None, None, None);
    CLIPBOARD_IMAGE.read(node, found, |name, node, found| match name {
        "Id" => id = full_text(limits::IMAGE_ID, node, found),
        "MimeType" => mime_type = one_of(node, found),
        _ => {
            data_base64 = base64(limits::IMAGE_DATA, node, found);
            if data_base64.as_deref() == Some("") {
                found.invalid(node, "must not be empty");
            }
        }
    });
    Some(ClipboardImage { id: id?, mime_type: mime_type?, data_base64: data_base64? })
}

fn path(
    problem: fn(&str) -> Option<&'static str>,
    node: Node<'_, '_>,
    found: &mut Violations,
) -> Option<String> {
    let path = text(limits::PATH, node, found)?;
    if let Some(problem) = problem(&path) {
        found.invalid(node, problem);
        return None;
    }
    Some(path)
}

fn base64(longest: usize, node: Node<'_, '_>, found: &mut Violations) -> Option<String> {
    let canonical = canonical_base64(text(longest, node, found)?);
    if canonical.is_none() {
        found.invalid(node, BASE64_PROBLEM);
    }
    canonical
}

/// How the contents are read depends on `Encoding`, which may stand behind them.
fn declares_base64(artifact: Node<'_, '_>) -> bool {
    let encoding = artifact.find("Encoding").and_then(|node| serde_json::from_str(node.json).ok());
    encoding == Some(ContentEncoding::Base64)
}

fn media_type(node: Node<'_, '_>, found: &mut Violations) -> Option<String> {
    let given = text(limits::MIME_TYPE, node, found)?;
    if !is_media_type(&given) {
        found.invalid(node, "must be a media type such as text/plain; leave it out when unknown");
        return None;
    }
    Some(given)
}

fn is_empty_array(node: Node<'_, '_>) -> bool {
    node.json.strip_prefix('[').is_some_and(|rest| rest.trim_ascii_start().starts_with(']'))
}
