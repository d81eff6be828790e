//! The longest texts and lists that a client may send. `GET /openapi.json` publishes them by these
//! names.
//!
//! Lengths are Unicode characters, as JSON Schema counts them. The limits bound the work for one
//! request and keep the model service from refusing a single member. `MAX_BODY_BYTES` bounds the
//! whole body besides.

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)+) => {
        $($(#[$doc])* pub const $name: usize = $value;)+

        /// Every limit by its name.
        pub const ALL: &[(&str, usize)] = &[$((stringify!($name), $name),)+];
    };
}

limits! {
    /// `User`, `Actor`, in bytes.
    USER = 128;
    /// A list of a ticket's, such as `Sessions`.
    TICKET_LIST = 50;
    /// One of the `Origins`.
    ORIGIN = 253;
    /// `Title` of a session, and `Query` for one.
    TITLE = 200;
    /// `SessionId`, `TurnId`, `AgentContextId`, `ConversationContextId`.
    IDENTIFIER = 128;
    /// `Instruction`: the model service takes 10,485,760 characters in one text.
    INSTRUCTION = 10_000_000;
    /// `SolutionContextText`, for the same reason.
    SOLUTION_CONTEXT = 10_000_000;
    /// `InputArtifacts`.
    INPUT_ARTIFACTS = 1_000;
    /// `Contents` of an artifact. The model service takes 20,971,520 characters of an image.
    CONTENTS = 20_000_000;
    /// `RelativePath`, `FileName`.
    PATH = 1_024;
    /// `MimeType`.
    MIME_TYPE = 255;
    /// `WorkspaceId`.
    WORKSPACE_ID = 256;
    /// `Repo`, `Language`.
    HINT = 1_024;
    /// `ClipboardImages`.
    CLIPBOARD_IMAGES = 100;
    /// `Id` of a clipboard image.
    IMAGE_ID = 256;
    /// `DataBase64`.
    IMAGE_DATA = 20_000_000;
    /// `Conditions` of a `RagScope`.
    CONDITIONS = 32;
    /// `Key` of a condition.
    CONDITION_KEY = 256;
    /// `Values` of a condition.
    CONDITION_VALUES = 100;
    /// One of the `Values`.
    CONDITION_VALUE = 1_000;
    /// `ToolsJson`.
    TOOLS_JSON = 4_000_000;
    /// The tools in `ToolsJson`.
    TOOLS = 512;
    /// `OutputSchema`, in bytes of UTF-8.
    OUTPUT_SCHEMA = 65_536;
    /// `OutputSchemaName`.
    OUTPUT_SCHEMA_NAME = 64;
    /// A tool's `name`, and `ToolChoiceName`.
    TOOL_NAME = 64;
    /// A tool's `description`.
    TOOL_DESCRIPTION = 100_000;
    /// `ToolResults`; a model output with more calls is refused.
    TOOL_RESULTS = 1_000;
    /// `ToolCallId`, likewise.
    TOOL_CALL_ID = 256;
    /// `ResultJson`: the model service takes 10,485,760 characters of output.
    RESULT_JSON = 10_000_000;
    /// `ErrorMessage`.
    ERROR_MESSAGE = 1_000_000;
    /// `Documents` of one request.
    DOCUMENTS = 100;
    /// `Documents` of a comparison.
    COMPARED_DOCUMENTS = 10_000;
    /// `Contents` of a document.
    DOCUMENT_CONTENTS = 20_000_000;
    /// `Language` of a document.
    DOCUMENT_LANGUAGE = 64;
    /// `Properties` of a document.
    PROPERTIES = 64;
    /// The values of all properties of a document together.
    PROPERTY_VALUES = 256;
    /// A property's key, and one of its values. A search counts its work by the longest value.
    PROPERTY_TEXT = 1_024;
    /// All keys and values of a document together, in bytes of UTF-8.
    PROPERTY_BYTES = 16_384;
    /// `Query`.
    QUERY = 10_000_000;
    /// `Limit` of a search, and of retrieval for a turn: chunks.
    CHUNKS = 100;
}
