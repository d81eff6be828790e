//! The public contract from outside: from bodies to typed requests or faults, and the exact JSON of
//! responses.

mod accepted;
mod any_body;
mod faults;
mod fingerprints;
pub(crate) mod memory;
mod responses;

use aptix_edge::contract::{
    ArtifactContent, ArtifactOrigin, ClientTool, ClipboardImage, ExecuteRequest, ImageMimeType,
    InputArtifact, RagCondition, RagOperator, RagScope, SessionId, ToolParameters, TurnId,
    UserTurn, parse,
};
use serde_json::Value;

/// A request that uses every member of a user turn.
const FULL_TURN: &str = r##"{
  "SessionId": "s-1", "TurnId": "t:1",
  "Instruction": "Explain **this**.",
  "InputArtifacts": [
    { "RelativePath": "src", "FileName": "a.rs", "Contents": "fn a() {}\n", "Origin": "ide", "Language": "rust" },
    { "RelativePath": "", "FileName": "b.pdf", "Contents": "QUI", "Origin": "user", "MimeType": "application/pdf", "Encoding": "base64" }
  ],
  "ClipboardImages": [ { "Id": "i1", "MimeType": "image/png", "DataBase64": "QUJD" } ],
  "RagScope": { "Conditions": [ { "Key": "Path", "Operator": "does_not_contain", "Values": ["test", ""] } ] },
  "SolutionContextText": "",
  "WorkspaceId": "w", "Repo": "r", "Language": "en",
  "Streaming": true,
  "AgentContextId": "a", "ConversationContextId": "c",
  "ToolsJson": "[{\"type\":\"function\",\"name\":\"read_file\",\"description\":\"Reads.\",\"parameters\":{ \"type\" : \"object\" },\"strict\":true},{\"type\":\"function\",\"function\":{\"name\":\"ls\",\"parameters\":null}}]",
  "ToolChoiceName": "read_file"
}"##;

fn full_turn() -> ExecuteRequest {
    ExecuteRequest::UserTurn(Box::new(UserTurn {
        session_id: SessionId::parse("s-1").unwrap(),
        turn_id: TurnId::parse("t:1").unwrap(),
        instruction: Some("Explain **this**.".into()),
        input_artifacts: vec![
            InputArtifact {
                relative_path: "src".into(),
                file_name: "a.rs".into(),
                content: ArtifactContent::Text("fn a() {}\n".into()),
                origin: ArtifactOrigin::Ide,
                mime_type: None,
                language: Some("rust".into()),
            },
            InputArtifact {
                relative_path: String::new(),
                file_name: "b.pdf".into(),
                content: ArtifactContent::Base64("QUI=".into()),
                origin: ArtifactOrigin::User,
                mime_type: Some("application/pdf".into()),
                language: None,
            },
        ],
        clipboard_images: vec![ClipboardImage {
            id: "i1".into(),
            mime_type: ImageMimeType::Png,
            data_base64: "QUJD".into(),
        }],
        rag_scope: Some(RagScope {
            conditions: vec![RagCondition {
                key: "Path".into(),
                operator: RagOperator::DoesNotContain,
                values: vec!["test".into(), String::new()],
            }],
        }),
        solution_context_text: Some(String::new()),
        workspace_id: Some("w".into()),
        repo: Some("r".into()),
        language: Some("en".into()),
        streaming: true,
        agent_context_id: Some("a".into()),
        conversation_context_id: Some("c".into()),
        tools: Some(vec![
            ClientTool {
                name: "read_file".into(),
                description: Some("Reads.".into()),
                parameters: Some(ToolParameters::compact(r#"{"type":"object"}"#).unwrap()),
                strict: Some(true),
            },
            ClientTool { name: "ls".into(), description: None, parameters: None, strict: None },
        ]),
        tool_choice_name: Some("read_file".into()),
        output_schema: None,
    }))
}

/// A user turn with its ids and these members.
fn turn(members: &str) -> String {
    format!(r#"{{"SessionId":"s","TurnId":"t",{members}}}"#)
}

/// The shortest valid user turn, followed by one more member.
fn turn_with(member: &str) -> String {
    turn(&format!(r#""Instruction":"x",{member}"#))
}

/// The report of a refused body: code, pointer, message and suggestion of each fault.
fn report(body: &str) -> Vec<String> {
    match parse(body.as_bytes()) {
        Ok(request) => panic!("accepted {body}: {request:?}"),
        Err(faults) => faults
            .iter()
            .map(|fault| {
                let mut line = format!(
                    "{} {} | {}",
                    fault.code,
                    fault.path.as_deref().unwrap_or("-"),
                    fault.message
                );
                if let Some(details) = &fault.details {
                    line.push_str(" | ");
                    line.push_str(&Value::Object(details.clone()).to_string());
                }
                line
            })
            .collect(),
    }
}
