//! Reading a User Turn (AGN-034 §2.1, interface §2).
//!
//! It owns the rules of its members, and the rule that a turn has input.

use super::output_schema::DEFAULT_NAME;
use super::reader::Reader;
use super::request_object::request_object;
use crate::contract::relative_path::{normal_file_name, normal_path};
use crate::contract::{
    ArtifactContent, ClipboardImage, ContentEncoding, ErrorCode, Fault, InputArtifact,
    OutputSchema, SessionId, TurnId, UserTurn, limits,
};
use crate::encoding::{canonical_base64, is_media_type};
use crate::json::{ForbiddenMembers, Kind, Node};

request_object! {
    fn members_of_turn(reader, node) -> UserTurn as USER_TURN forbidding SERVER_OWNED {
        "SessionId" required => session_id = identifier(SessionId::parse),
        "TurnId" required => turn_id = identifier(TurnId::parse),
        "Instruction" => instruction = instruction(),
        "InputArtifacts" => input_artifacts = artifacts() or Vec::new(),
        "ClipboardImages" => clipboard_images = images() or Vec::new(),
        "RagScope" => rag_scope = rag_scope(),
        "SolutionContextText" => solution_context_text = text(limits::SOLUTION_CONTEXT),
        "WorkspaceId" => workspace_id = optional_text(limits::WORKSPACE_ID),
        "Repo" => repo = optional_text(limits::HINT),
        "Language" => language = optional_text(limits::HINT),
        "Streaming" => streaming = flag() or false,
        "AgentContextId" => agent_context_id = full_text(limits::IDENTIFIER),
        "ConversationContextId" => conversation_context_id = full_text(limits::IDENTIFIER),
        "ToolsJson" => tools = client_tools(),
        // An empty name is no choice (AGN-003 §5).
        "ToolChoiceName" => tool_choice_name = optional_text(limits::TOOL_NAME),
        "OutputSchema" -> schema = output_schema(),
        "OutputSchemaName" -> schema_name = schema_name(node),
        // Always unset here: any other value makes the request a Tool Continuation. The name is known, so that
        // a misspelling of it is recognised.
        "ToolResults" = ignore(),
    } with {
        output_schema: schema.map(|(schema, canonical)| OutputSchema {
            name: schema_name.unwrap_or_else(|| DEFAULT_NAME.to_owned()),
            schema,
            canonical,
        }),
    }
}

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

/// What no other request to a session may hold: the server's own members, and those that only a User Turn has. A known
/// member is never forbidden.
pub(super) const fn forbidden_in_others(problem: &'static str) -> [ForbiddenMembers; 5] {
    let [mode, conversation_id, people, others] = SERVER_OWNED;
    let names = USER_TURN.names();
    [
        mode,
        conversation_id,
        people,
        others,
        ForbiddenMembers { names, problem, unset_is_absent: true },
    ]
}

request_object! {
    fn artifact(reader, node) -> InputArtifact as INPUT_ARTIFACT {
        "RelativePath" required => relative_path = path(normal_path),
        "FileName" required => file_name = path(normal_file_name),
        "Contents" required => content = contents(declares_base64(node)),
        "Origin" required => origin = one_of(),
        "MimeType" => mime_type = checked_text(limits::MIME_TYPE, media_type_problem),
        "Language" => language = optional_text(limits::HINT),
        // `declares_base64` has used the name already; here a wrong name is reported.
        "Encoding" = encoding(),
    }
}

request_object! {
    fn image(reader, node) -> ClipboardImage as CLIPBOARD_IMAGE {
        "Id" required => id = full_text(limits::IMAGE_ID),
        "MimeType" required => mime_type = one_of(),
        "DataBase64" required => data_base64 = image_data(),
    }
}

const BASE64_PROBLEM: &str = "must be base64 in the standard alphabet (A-Z a-z 0-9 + /), without \
                              white space, line breaks or a data: prefix";

impl Reader {
    /// Reads the body as a User Turn.
    pub(super) fn user_turn(&mut self, node: Node<'_, '_>) -> Option<UserTurn> {
        let turn = self.members_of_turn(node);
        self.refuse_without_input("The turn");
        turn
    }

    /// Refuses a request without input; `what` is its subject in the message.
    pub(super) fn refuse_without_input(&mut self, what: &str) {
        if !self.has_input {
            self.record(ErrorCode::EmptyTurn, || {
                let message = format!(
                    "{what} has no input; send a non-empty Instruction, InputArtifacts or ClipboardImages."
                );
                Fault::new(ErrorCode::EmptyTurn, message)
            });
        }
    }

    /// The instruction, of which a blank one counts as absent.
    pub(super) fn instruction(&mut self, node: Node<'_, '_>) -> Option<String> {
        let text = self.text(limits::INSTRUCTION, node);
        let is_blank = text.as_ref().is_some_and(|text| text.trim().is_empty());
        self.has_input |= !is_blank;
        text.filter(|_| !is_blank)
    }

    pub(super) fn artifacts(&mut self, node: Node<'_, '_>) -> Option<Vec<InputArtifact>> {
        self.has_input |= !node.is_empty_array();
        self.list(limits::INPUT_ARTIFACTS, Self::artifact, node)
    }

    pub(super) fn images(&mut self, node: Node<'_, '_>) -> Option<Vec<ClipboardImage>> {
        self.has_input |= !node.is_empty_array();
        self.list(limits::CLIPBOARD_IMAGES, Self::image, node)
    }

    /// The name of the schema of `turn`, which has one, right or wrong, that may follow it.
    fn schema_name(&mut self, turn: Node<'_, '_>, node: Node<'_, '_>) -> Option<String> {
        match turn.find("OutputSchema").is_some_and(|schema| schema.kind() != Kind::Null) {
            true => self.plain_name(limits::OUTPUT_SCHEMA_NAME, node),
            false => {
                self.refuse(node, "names no schema; send OutputSchema beside it, or remove it")
            }
        }
    }

    fn contents(&mut self, is_base64: bool, node: Node<'_, '_>) -> Option<ArtifactContent> {
        match is_base64 {
            true => self.base64(limits::CONTENTS, node).map(ArtifactContent::Base64),
            false => self.text(limits::CONTENTS, node).map(ArtifactContent::Text),
        }
    }

    fn encoding(&mut self, node: Node<'_, '_>) -> Option<ContentEncoding> {
        self.one_of(node)
    }

    fn image_data(&mut self, node: Node<'_, '_>) -> Option<String> {
        let data = self.base64(limits::IMAGE_DATA, node);
        if data.as_deref() == Some("") {
            self.invalid(node, "must not be empty");
        }
        data
    }

    fn base64(&mut self, longest: usize, node: Node<'_, '_>) -> Option<String> {
        canonical_base64(self.text(longest, node)?).or_else(|| self.refuse(node, BASE64_PROBLEM))
    }
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
