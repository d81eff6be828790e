//! Reading a User Turn (AGN-034 §2.1, interface §2).
//!
//! It owns the rules of its members, and the rule that a turn has input.

use super::client_tools::client_tools;
use super::output_schema::{DEFAULT_NAME, output_schema};
use super::rag_scope::rag_scope;
use super::reader::Reader;
use crate::contract::error_code::ErrorCode;
use crate::contract::fault::Fault;
use crate::contract::identifiers::{SessionId, TurnId};
use crate::contract::limits;
use crate::contract::relative_path::{normal_file_name, normal_path};
use crate::contract::request::{
    ArtifactContent, ClipboardImage, ContentEncoding, InputArtifact, OutputSchema, UserTurn,
};
use crate::encoding::{canonical_base64, is_media_type};
use crate::json::{ForbiddenMembers, Kind, Node, ObjectShape};

/// The members of a User Turn.
pub(super) const MEMBERS: &[&str] = &[
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
    "OutputSchema",
    "OutputSchemaName",
    // Always unset here: any other value makes the request a Tool Continuation. The name is known, so that
    // a misspelling of it is recognised.
    "ToolResults",
];

const USER_TURN: ObjectShape =
    ObjectShape::new(MEMBERS, &["SessionId", "TurnId"]).forbidding(&SERVER_OWNED);

/// Members that only the server may set, in either scenario, whatever they hold. Two of them have a member that
/// clients mean by them.
pub(super) const SERVER_OWNED: [ForbiddenMembers; 4] = [
    server_owned(
        &["Mode"],
        "belongs to the server; remove it, and choose the mode of a new session by its ConversationContextId",
    ),
    server_owned(
        &["ConversationId"],
        "belongs to the server; remove it, and name the conversation by its SessionId",
    ),
    server_owned(
        &["User", "Actor", "Tenant"],
        "is what the credential says; remove it, and act for a user by the header Aptix-User or a ticket",
    ),
    server_owned(
        &[
            "ModeDisplayName",
            "ResponseContinuationId",
            "PreviousResponseId",
            "previous_response_id",
            "CorrelationId",
            "Model",
            "Kind",
        ],
        "belongs to the server; remove it",
    ),
];

const fn server_owned(names: &'static [&'static str], problem: &'static str) -> ForbiddenMembers {
    ForbiddenMembers { names, problem, unset_is_absent: false }
}

const INPUT_ARTIFACT: ObjectShape = ObjectShape::new(
    &["RelativePath", "FileName", "Contents", "Origin", "MimeType", "Language", "Encoding"],
    &["RelativePath", "FileName", "Contents", "Origin"],
);

const CLIPBOARD_IMAGE: ObjectShape =
    ObjectShape::new(&["Id", "MimeType", "DataBase64"], &["Id", "MimeType", "DataBase64"]);

const BASE64_PROBLEM: &str = "must be base64 in the standard alphabet (A-Z a-z 0-9 + /), without \
                              white space, line breaks or a data: prefix";

/// Reads the body as a User Turn.
pub(super) fn user_turn(body: &str, reader: &mut Reader) -> Option<UserTurn> {
    let (mut session_id, mut turn_id, mut input) = (None, None, UserInput::default());
    let (mut scope, mut solution_context_text, mut streaming) = (None, None, false);
    let (mut workspace_id, mut repo, mut language) = (None, None, None);
    let (mut agent_context_id, mut conversation_context_id) = (None, None);
    let (mut tools, mut tool_choice_name) = (None, None);
    let (mut schema, mut schema_name) = (None, None);
    USER_TURN.read(Node::root(body), reader, |name, node, reader| match name {
        "SessionId" => session_id = reader.identifier(SessionId::parse, node),
        "TurnId" => turn_id = reader.identifier(TurnId::parse, node),
        "Instruction" | "InputArtifacts" | "ClipboardImages" => input.read(name, node, reader),
        "RagScope" => scope = rag_scope(node, reader),
        "SolutionContextText" => {
            solution_context_text = reader.text(limits::SOLUTION_CONTEXT, node);
        }
        "WorkspaceId" => workspace_id = reader.optional_text(limits::WORKSPACE_ID, node),
        "Repo" => repo = reader.optional_text(limits::HINT, node),
        "Language" => language = reader.optional_text(limits::HINT, node),
        "Streaming" => streaming = node.flag(reader).unwrap_or_default(),
        "AgentContextId" => agent_context_id = reader.full_text(limits::IDENTIFIER, node),
        "ConversationContextId" => {
            conversation_context_id = reader.full_text(limits::IDENTIFIER, node);
        }
        "ToolsJson" => {
            let text = reader.text(limits::TOOLS_JSON, node);
            tools = text.and_then(|text| client_tools(&text, node, reader));
        }
        // An empty name is no choice (AGN-003 §5).
        "ToolChoiceName" => tool_choice_name = reader.optional_text(limits::TOOL_NAME, node),
        "OutputSchema" => schema = output_schema(node, reader),
        "OutputSchemaName" if has_schema(body) => {
            schema_name = reader.plain_name(limits::OUTPUT_SCHEMA_NAME, node);
        }
        "OutputSchemaName" => {
            reader.invalid(node, "names no schema; send OutputSchema beside it, or remove it");
        }
        _ => {}
    });
    input.refuse_none("The turn", reader);
    Some(UserTurn {
        session_id: session_id?,
        turn_id: turn_id?,
        instruction: input.instruction,
        input_artifacts: input.artifacts,
        clipboard_images: input.images,
        rag_scope: scope,
        solution_context_text,
        workspace_id,
        repo,
        language,
        streaming,
        agent_context_id,
        conversation_context_id,
        tools,
        tool_choice_name,
        output_schema: schema.map(|(schema, canonical)| OutputSchema {
            name: schema_name.unwrap_or_else(|| DEFAULT_NAME.to_owned()),
            schema,
            canonical,
        }),
    })
}

/// Whether the turn has a schema, right or wrong, which may follow its name.
fn has_schema(body: &str) -> bool {
    Node::root(body).find("OutputSchema").is_some_and(|node| node.kind() != Kind::Null)
}

/// The user's input, of which a turn and a steer need some.
#[derive(Default)]
pub(super) struct UserInput {
    pub(super) instruction: Option<String>,
    pub(super) artifacts: Vec<InputArtifact>,
    pub(super) images: Vec<ClipboardImage>,
    /// Input that is wrong is not reported as missing as well.
    is_given: bool,
}

impl UserInput {
    /// Reads `Instruction`, of which a blank one counts as absent, `InputArtifacts` or `ClipboardImages`.
    pub(super) fn read(&mut self, member: &str, node: Node<'_, '_>, reader: &mut Reader) {
        match member {
            "Instruction" => {
                let text = reader.text(limits::INSTRUCTION, node);
                let is_blank = text.as_ref().is_some_and(|text| text.trim().is_empty());
                self.instruction = text.filter(|_| !is_blank);
                self.is_given |= !is_blank;
            }
            "InputArtifacts" => {
                self.is_given |= !node.is_empty_array();
                let artifacts = reader.list(limits::INPUT_ARTIFACTS, node, input_artifact);
                self.artifacts = artifacts.unwrap_or_default();
            }
            "ClipboardImages" => {
                self.is_given |= !node.is_empty_array();
                let images = reader.list(limits::CLIPBOARD_IMAGES, node, clipboard_image);
                self.images = images.unwrap_or_default();
            }
            _ => {}
        }
    }

    /// Refuses a request without input; `what` is its subject in the message.
    pub(super) fn refuse_none(&self, what: &str, reader: &mut Reader) {
        if !self.is_given {
            reader.record(ErrorCode::EmptyTurn, || {
                let message = format!(
                    "{what} has no input; send a non-empty Instruction, InputArtifacts or ClipboardImages."
                );
                Fault::new(ErrorCode::EmptyTurn, message)
            });
        }
    }
}

fn input_artifact(node: Node<'_, '_>, reader: &mut Reader) -> Option<InputArtifact> {
    let (mut relative_path, mut file_name, mut content) = (None, None, None);
    let (mut origin, mut mime_type, mut language) = (None, None, None);
    let is_base64 = declares_base64(node);
    INPUT_ARTIFACT.read(node, reader, |name, node, reader| match name {
        "RelativePath" => relative_path = reader.path(normal_path, node),
        "FileName" => file_name = reader.path(normal_file_name, node),
        "Contents" if is_base64 => {
            content = base64(limits::CONTENTS, node, reader).map(ArtifactContent::Base64);
        }
        "Contents" => content = reader.text(limits::CONTENTS, node).map(ArtifactContent::Text),
        "Origin" => origin = reader.one_of(node),
        "MimeType" => mime_type = reader.checked_text(limits::MIME_TYPE, media_type_problem, node),
        "Language" => language = reader.optional_text(limits::HINT, node),
        // `declares_base64` has used the name already; here a wrong name is reported.
        "Encoding" => drop(reader.one_of::<ContentEncoding>(node)),
        _ => {}
    });
    Some(InputArtifact {
        relative_path: relative_path?,
        file_name: file_name?,
        content: content?,
        origin: origin?,
        mime_type,
        language,
    })
}

fn clipboard_image(node: Node<'_, '_>, reader: &mut Reader) -> Option<ClipboardImage> {
    let (mut id, mut mime_type, mut data_base64) = (None, None, None);
    CLIPBOARD_IMAGE.read(node, reader, |name, node, reader| match name {
        "Id" => id = reader.full_text(limits::IMAGE_ID, node),
        "MimeType" => mime_type = reader.one_of(node),
        "DataBase64" => {
            data_base64 = base64(limits::IMAGE_DATA, node, reader);
            if data_base64.as_deref() == Some("") {
                reader.invalid(node, "must not be empty");
            }
        }
        _ => {}
    });
    Some(ClipboardImage { id: id?, mime_type: mime_type?, data_base64: data_base64? })
}

fn base64(longest: usize, node: Node<'_, '_>, reader: &mut Reader) -> Option<String> {
    canonical_base64(reader.text(longest, node)?).or_else(|| reader.refuse(node, BASE64_PROBLEM))
}

/// The reading of the contents depends on `Encoding`, which may follow them.
fn declares_base64(artifact: Node<'_, '_>) -> bool {
    let encoding = artifact.find("Encoding").and_then(|node| node.as_text());
    encoding.is_some_and(|name| name == ContentEncoding::Base64.as_str())
}

fn media_type_problem(text: &str) -> Option<&'static str> {
    (!is_media_type(text))
        .then_some("must be a media type such as text/plain; leave it out when unknown")
}
