//! What a replay reads of an export. Items and outcomes stay as they are written, since bytes are compared.

use std::collections::BTreeMap;

use aptix_edge::contract::{Fault, Usage};
use aptix_edge::persistence::{EntryKind, EntrySeq, Rung};
use aptix_edge::reasoner::SentEntries;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A session's export.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Bundle {
    pub session_id: String,
    pub agent_context_id: String,
    pub conversation_context_id: String,
    /// Where a fork comes from.
    pub parent: Option<BundledParent>,
    pub mode: String,
    pub mode_history: Vec<Value>,
    /// Absent without a valid catalog, and in exports of older versions.
    pub catalog: Option<BundledCatalog>,
    pub turns: Vec<BundledTurn>,
    /// By their SHA-256. Absent in exports of older versions.
    #[serde(default)]
    pub texts: BTreeMap<String, String>,
}

/// The parent of a fork.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BundledParent {
    /// The last turn that the fork has of it.
    pub turn_id: String,
}

/// What an export tells of the catalog: values as the catalog spells them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BundledCatalog {
    pub resend_tools: bool,
    pub max_iterations: u32,
    pub budget: Value,
    pub compaction: Value,
    pub offer_hosted_tools: Option<bool>,
    #[serde(default)]
    pub fallbacks: Vec<Value>,
    pub modes: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BundledTurn {
    pub turn_id: String,
    pub status: String,
    #[serde(default)]
    pub user_warnings: Vec<String>,
    #[serde(default)]
    pub warnings: Vec<Value>,
    pub text_so_far: Option<String>,
    /// The form that its request asked of the answer.
    pub output_schema: Option<Box<RawValue>>,
    pub output_schema_name: Option<String>,
    /// The session went on under another conversation context with it.
    pub context_changed: Option<Value>,
    pub tools: Vec<BundledTool>,
    pub submissions: Vec<Submission>,
    #[serde(default)]
    pub steers: Vec<Value>,
    pub conversation: Vec<BundledEntry>,
    pub model_calls: Vec<ModelCall>,
    pub tool_calls: Vec<ToolCall>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BundledTool {
    pub name: String,
    pub on_server: bool,
    #[serde(default)]
    pub hosted: bool,
    pub approval: Option<Value>,
    #[serde(default)]
    pub parallel: bool,
    pub definition: Box<RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Submission {
    pub http_status: Option<u16>,
    pub outcome: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BundledEntry {
    pub sequence: EntrySeq,
    pub kind: EntryKind,
    pub standing: String,
    pub items: Box<RawValue>,
}

/// The transcript of a model call.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ModelCall {
    #[serde(default)]
    pub summary: bool,
    pub body_sha256: String,
    pub body_bytes: usize,
    /// Absent in transcripts of older versions, as are the members that belong to it.
    pub template: Option<String>,
    #[serde(default)]
    pub number: u64,
    #[serde(default)]
    pub mode: String,
    /// The agent context whose model service was called, where others can take over from the first.
    pub service: Option<String>,
    #[serde(default)]
    pub without_hosted_tools: bool,
    #[serde(default)]
    pub tools_sent: bool,
    pub tool_choice: Option<String>,
    pub previous_response_id: Option<String>,
    #[serde(default)]
    pub input: Vec<SentEntries>,
    pub summarised: Option<String>,
    pub rebuilt: bool,
    /// Entries that it left out because the service may have refused them.
    #[serde(default)]
    pub withheld: Vec<EntrySeq>,
    /// Why the service was not asked to store the response, where the session had to find that out.
    pub unchained: Option<String>,
    /// The rung on which it was made.
    pub reduced: Option<Rung>,
    /// ISO 8601, UTC.
    pub started_at: String,
    pub composition: Vec<Block>,
    pub retries: Vec<Retry>,
    pub response_id: Option<String>,
    pub usage: Option<Usage>,
    pub fault: Option<Fault>,
}

/// An attempt that another one followed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Retry {
    pub service: Option<String>,
    pub http_status: Option<u16>,
    pub waited_ms: u64,
    pub response_id: Option<String>,
    pub usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Block {
    pub block: String,
    pub bytes: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ToolCall {
    pub model_call: u32,
    pub tool_call_id: String,
    pub name: String,
    /// As the model wrote them.
    pub arguments_json: String,
    pub runs_on: String,
    pub approval: Option<Value>,
    /// The result as it is written, with its running time.
    pub answer: Option<Value>,
}

impl Bundle {
    /// Reads an export as `GET …/export` sends it, or its `Result` alone.
    pub fn read(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct InvokeResult {
            result: Box<RawValue>,
        }
        // Some editors write a mark first.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = serde_json::from_str::<InvokeResult>(text);
        let result = document.as_ref().map_or(text, |whole| whole.result.get());
        let read: Result<Self, _> = serde_json::from_str(result);
        let mut bundle = read.map_err(|fault| format!("it is no export of a session: {fault}"))?;
        // A call that was too long is recorded after the summary that it led to.
        bundle.turns.iter_mut().for_each(|turn| turn.model_calls.sort_by_key(|call| call.number));
        Ok(bundle)
    }

    /// The entry at a place of the conversation, with its turn.
    pub fn entry(&self, seq: EntrySeq) -> Option<&BundledEntry> {
        self.turns.iter().flat_map(|turn| &turn.conversation).find(|entry| entry.sequence == seq)
    }
}
