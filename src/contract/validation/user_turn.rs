//! Reading a User Turn (AGN-034 §2.1, interface §2).
//!
//! It owns the rules of its members, and the rule that a turn has input.

use serde::{Deserialize, Serialize};

use super::output_schema::DEFAULT_NAME;
use super::rag_scope::RagScope;
use super::reader::Reader;
use super::request_object::request_object;
use crate::contract::relative_path::{normal_file_name, normal_path};
use crate::contract::{
    ArtifactContent, ArtifactOrigin, ClientTool, ContentEncoding, ErrorCode, Fault, ImageMimeType,
    OutputSchema, SessionId, TurnId, limits,
};
use crate::encoding::{canonical_base64, is_media_type};
use crate::json::{ForbiddenMembers, Kind, Node};

request_object! {
    /// A turn's input; at least one of instruction, artifacts and images is present.
    #[derive(Clone, Debug, PartialEq)]
    pub struct UserTurn as USER_TURN forbidding SERVER_OWNED, fn members_of_turn(reader, node) {
        "SessionId" required => session_id: SessionId = identifier(SessionId::parse),
        /// The turn; also the request's idempotency key.
        "TurnId" required => turn_id: TurnId = identifier(TurnId::parse),
        /// Markdown; never blank.
        "Instruction" => instruction: Option<String> = instruction(),
        /// Files, in the client's order.
        "InputArtifacts" => input_artifacts: Vec<InputArtifact> = artifacts() or Vec::new(),
        /// Pasted images, in the client's order.
        "ClipboardImages" => clipboard_images: Vec<ClipboardImage> = images() or Vec::new(),
        "RagScope" => rag_scope: Option<RagScope> = rag_scope(),
        /// Latched by the session: `None` keeps its text, `""` clears it, other text replaces it.
        "SolutionContextText" => solution_context_text: Option<String> = text(limits::SOLUTION_CONTEXT),
        /// The workspace whose index may be searched; never empty.
        "WorkspaceId" => workspace_id: Option<String> = optional_text(limits::WORKSPACE_ID),
        /// Advisory; never empty.
        "Repo" => repo: Option<String> = optional_text(limits::HINT),
        /// Advisory; never empty.
        "Language" => language: Option<String> = optional_text(limits::HINT),
        /// Whether the result is delivered as a stream.
        "Streaming" => streaming: bool = flag() or false,
        /// Bound by the session's first turn; never empty.
        "AgentContextId" => agent_context_id: Option<String> = full_text(limits::IDENTIFIER),
        /// Bound by the session's first turn; never empty.
        "ConversationContextId" => conversation_context_id: Option<String> = full_text(limits::IDENTIFIER),
        /// Latched by the session: `None` keeps its tools, any list (the empty one too) replaces them.
        "ToolsJson" => tools: Option<Vec<ClientTool>> = client_tools(),
        /// The tool that the first model call must use; composition checks that it is offered. An empty name is no choice
        /// (AGN-003 §5).
        "ToolChoiceName" => tool_choice_name: Option<String> = optional_text(limits::TOOL_NAME),
        "OutputSchema" -> schema = output_schema(),
        "OutputSchemaName" -> schema_name = schema_name(node),
        // Always unset here: any other value makes the request a Tool Continuation. The name is known, so that
        // a misspelling of it is recognised.
        "ToolResults" = ignore(),
    } with {
        output_schema: Option<OutputSchema> = schema.map(|(schema, canonical)| OutputSchema {
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
    /// A file supplied by the client.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase")]
    pub struct InputArtifact as INPUT_ARTIFACT, fn artifact(reader, node) {
        /// The path of the file or its folder, relative to the client's root; `""` is the root.
        "RelativePath" required => relative_path: String = path(normal_path),
        /// The file's name, without separators.
        "FileName" required => file_name: String = path(normal_file_name),
        /// With its `Encoding`.
        "Contents" required => content: ArtifactContent = contents(declares_base64(node)),
        "Origin" required => origin: ArtifactOrigin = one_of(),
        /// `type/subtype`, when the client knows it.
        "MimeType" => mime_type: Option<String> =
            checked_text(limits::MIME_TYPE, media_type_problem),
        /// A language hint; never empty.
        "Language" => language: Option<String> = optional_text(limits::HINT),
        // `declares_base64` has used the name already; here a wrong name is reported.
        "Encoding" = encoding(),
    }
}

request_object! {
    /// An image pasted from the clipboard.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase")]
    pub struct ClipboardImage as CLIPBOARD_IMAGE, fn image(reader, node) {
        /// The client's name for it.
        "Id" required => id: String = full_text(limits::IMAGE_ID),
        "MimeType" required => mime_type: ImageMimeType = one_of(),
        /// Valid base64, standard alphabet, padded, not empty.
        "DataBase64" required => data_base64: String = image_data(),
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
