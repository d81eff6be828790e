//! Reading a User Turn (AGN-034 section 2.1, interface section 2).
//!
//! It owns the rules of its members, and the rule that a turn has input.

use serde_json::value::RawValue;

use super::artifact_path::{file_name_problem, relative_path_problem};
use super::client_tools::client_tools;
use super::json_object::ObjectShape;
use super::json_value::{flag, full_text, hint, invalid, list, one_of, text};
use super::place::Place;
use super::rag_scope::rag_scope;
use super::violations::Violations;
use super::{SERVER_OWNED, identifier};
use crate::contract::error_code::ErrorCode;
use crate::contract::fault::Fault;
use crate::contract::identifiers::{SessionId, TurnId};
use crate::contract::limits;
use crate::contract::request::{ArtifactContent, ClipboardImage, InputArtifact, UserTurn};
use crate::encoding::{canonical_base64, is_media_type};

const USER_TURN: ObjectShape = ObjectShape {
    required: &["SessionId", "TurnId"],
    optional: &[
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
    forbidden: &[SERVER_OWNED],
};

const INPUT_ARTIFACT: ObjectShape = ObjectShape {
    required: &["RelativePath", "FileName", "Contents", "Origin"],
    optional: &["MimeType", "Language", "Encoding"],
    forbidden: &[],
};

const CLIPBOARD_IMAGE: ObjectShape =
    ObjectShape { required: &["Id", "MimeType", "DataBase64"], optional: &[], forbidden: &[] };

const BASE64_PROBLEM: &str = "must be base64 in the standard alphabet (A-Z a-z 0-9 + /), without \
                              white space, line breaks or a data: prefix";

/// Reads the body as a User Turn.
pub(super) fn user_turn(body: &str, violations: &mut Violations) -> Option<UserTurn> {
    let (mut session_id, mut turn_id) = (None, None);
    let (mut instruction, mut input_artifacts, mut clipboard_images) = (None, None, None);
    let (mut rag, mut solution_context_text, mut streaming) = (None, None, None);
    let (mut workspace_id, mut repo, mut language) = (None, None, None);
    let (mut agent_context_id, mut conversation_context_id) = (None, None);
    let (mut tools, mut tool_choice_name) = (None, None);
    // Input that is there and wrong is reported as wrong, not as missing too.
    let mut has_input = false;
    USER_TURN.read(body, &Place::Body, violations, |name, value, at, found| match name {
        "SessionId" => session_id = identifier(SessionId::parse, value, at, found),
        "TurnId" => turn_id = identifier(TurnId::parse, value, at, found),
        "Instruction" => {
            let text = text(limits::INSTRUCTION, value, at, found);
            let is_blank = text.as_ref().is_some_and(|text| text.trim().is_empty());
            has_input |= !is_blank;
            instruction = text.filter(|_| !is_blank);
        }
        "InputArtifacts" => {
            has_input |= !is_empty_array(value);
            input_artifacts = list(limits::INPUT_ARTIFACTS, value, at, found, input_artifact);
        }
        "ClipboardImages" => {
            has_input |= !is_empty_array(value);
            clipboard_images = list(limits::CLIPBOARD_IMAGES, value, at, found, clipboard_image);
        }
        "RagScope" => rag = rag_scope(value, at, found),
        "SolutionContextText" => {
            solution_context_text = text(limits::SOLUTION_CONTEXT, value, at, found);
        }
        "WorkspaceId" => {
            let given = text(limits::WORKSPACE_ID, value, at, found);
            workspace_id = given.filter(|id| !id.is_empty());
        }
        "Repo" => repo = hint(value, at, found),
        "Language" => language = hint(value, at, found),
        "Streaming" => streaming = flag(value, at, found),
        "AgentContextId" => agent_context_id = full_text(limits::IDENTIFIER, value, at, found),
        "ConversationContextId" => {
            conversation_context_id = full_text(limits::IDENTIFIER, value, at, found);
        }
        "ToolsJson" => {
            tools = text(limits::TOOLS_JSON, value, at, found)
                .and_then(|text| client_tools(&text, at, found));
        }
        "ToolChoiceName" => {
            // An empty one is none (AGN-003 §5).
            let name = text(limits::TOOL_NAME, value, at, found);
            tool_choice_name = name.filter(|name| !name.is_empty());
        }
        _ => {}
    });
    if !has_input {
        violations.add(ErrorCode::EmptyTurn, || {
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

fn input_artifact(
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<InputArtifact> {
    let (mut relative_path, mut file_name, mut contents) = (None, None, None);
    let (mut origin, mut mime_type, mut language) = (None, None, None);
    let is_base64 = declares_base64(value);
    INPUT_ARTIFACT.read(value.get(), place, violations, |name, value, at, found| match name {
        "RelativePath" => relative_path = path(relative_path_problem, value, at, found),
        "FileName" => file_name = path(file_name_problem, value, at, found),
        "Contents" if is_base64 => {
            contents = base64(limits::CONTENTS, value, at, found).map(ArtifactContent::Base64);
        }
        "Contents" => {
            contents = text(limits::CONTENTS, value, at, found).map(ArtifactContent::Text)
        }
        "Origin" => origin = one_of("ide, user", value, at, found),
        "MimeType" => mime_type = media_type(value, at, found),
        "Language" => language = hint(value, at, found),
        _ => encoding(value, at, found),
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

fn clipboard_image(
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<ClipboardImage> {
    let (mut id, mut mime_type, mut data_base64) = (None, None, None);
    CLIPBOARD_IMAGE.read(value.get(), place, violations, |name, value, at, found| match name {
        "Id" => id = full_text(limits::IMAGE_ID, value, at, found),
        "MimeType" => {
            let kinds = "image/png, image/jpeg, image/webp, image/gif";
            mime_type = one_of(kinds, value, at, found);
        }
        _ => {
            data_base64 = base64(limits::IMAGE_DATA, value, at, found);
            if data_base64.as_deref() == Some("") {
                invalid(found, at, "must not be empty");
            }
        }
    });
    Some(ClipboardImage { id: id?, mime_type: mime_type?, data_base64: data_base64? })
}

fn path(
    problem: fn(&str) -> Option<&'static str>,
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<String> {
    let path = text(limits::PATH, value, place, violations)?;
    if let Some(problem) = problem(&path) {
        invalid(violations, place, problem);
        return None;
    }
    Some(path)
}

fn base64(
    longest: usize,
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<String> {
    let canonical = canonical_base64(text(longest, value, place, violations)?);
    if canonical.is_none() {
        invalid(violations, place, BASE64_PROBLEM);
    }
    canonical
}

/// How the contents are read depends on `Encoding`, which may stand behind them.
fn declares_base64(artifact: &RawValue) -> bool {
    let mut encoding = None;
    // What is not an object declares nothing; its kind is reported by whoever reads it.
    let _ = super::json_object::for_each_member(artifact.get(), |name, value| {
        if name == "Encoding" {
            encoding.get_or_insert(value);
        }
    });
    encoding.is_some_and(|encoding| is_text(encoding, "base64"))
}

fn encoding(value: &RawValue, place: &Place<'_>, violations: &mut Violations) {
    if !is_text(value, "utf8") && !is_text(value, "base64") {
        invalid(violations, place, "must be one of utf8, base64");
    }
}

fn media_type(value: &RawValue, place: &Place<'_>, violations: &mut Violations) -> Option<String> {
    let given = text(limits::MIME_TYPE, value, place, violations)?;
    if !is_media_type(&given) {
        invalid(
            violations,
            place,
            "must be a media type such as text/plain; leave it out when unknown",
        );
        return None;
    }
    Some(given)
}

/// Whether the value is this text, however it is escaped.
fn is_text(value: &RawValue, text: &str) -> bool {
    serde_json::from_str::<String>(value.get()).is_ok_and(|given| given == text)
}

fn is_empty_array(value: &RawValue) -> bool {
    value.get().strip_prefix('[').is_some_and(|rest| rest.trim_ascii_start().starts_with(']'))
}
