//! The chunks of its workspace that a stored user message gets when they have been retrieved (interface
//! §4): they follow the request's own.

use serde_json::value::{RawValue, to_raw_value};

use super::context_block::{ContextBlock, ContextChunk};
use super::trace::Block;
use super::user_message::ChunksEnd;
use crate::catalog::RetrievalSource;
use crate::contract::{Fault, Result, UserWarning};
use crate::responses_api::with_text;
use crate::retrieval::Retrieved;

/// The part of a user message that holds its chunks; the instruction stands before it.
const CONTEXT_PART: usize = 1;

/// A user message as it was composed when its turn was accepted, and what was retrieved for it.
#[derive(Clone, Copy, Debug)]
pub struct RetrievedMaterial<'a> {
    pub user: &'a RawValue,
    /// Its composition trace, a JSON array.
    pub trace: &'a RawValue,
    /// The end of the chunks in both.
    pub chunks_end: ChunksEnd,
    /// Where chunks were looked for.
    pub source: &'a RetrievalSource,
    pub retrieved: &'a Retrieved,
    /// How long that took, in milliseconds.
    pub duration_ms: u64,
}

/// The message with what was retrieved.
pub struct RecomposedMessage {
    /// The message; `None` when no chunk was added.
    pub user: Option<Box<RawValue>>,
    /// Its composition trace, a JSON array.
    pub trace: Box<RawValue>,
    /// That the retrieval failed, or did without its embeddings.
    pub user_warning: Option<UserWarning<'static>>,
}

/// Adds what was retrieved to a user message and its trace.
pub fn add_retrieved(material: &RetrievedMaterial<'_>) -> Result<RecomposedMessage> {
    let RetrievedMaterial { retrieved, chunks_end: ChunksEnd { chunks: shown, blocks }, .. } =
        *material;
    let unwritable = |_| Fault::unwritable("A message to the model");
    let user = match retrieved.chunks.is_empty() {
        true => None,
        false => {
            let chunks = retrieved.chunks.iter().map(ContextChunk::from).collect();
            let text = ContextBlock { chunks, shown }.to_string();
            let message = with_text(material.user, CONTEXT_PART, &text, shown > 0);
            Some(message.map_err(unwritable)?)
        }
    };
    let mut trace: Vec<Box<RawValue>> = serde_json::from_str(material.trace.get())
        .map_err(|_| Fault::internal("The turn's composition trace is unreadable."))?;
    let rest = trace.split_off(blocks.min(trace.len()));
    for block in trace_of(material) {
        trace.push(to_raw_value(&block).map_err(unwritable)?);
    }
    trace.extend(rest);
    Ok(RecomposedMessage {
        user,
        trace: to_raw_value(&trace).map_err(unwritable)?,
        user_warning: match (retrieved.failed, retrieved.by_words_alone) {
            (true, _) => Some(UserWarning::RetrievalFailed),
            (false, true) => Some(UserWarning::RetrievedByWordsAlone),
            (false, false) => None,
        },
    })
}

/// The retrieval itself, the chunks that it gave, and those that were left out.
fn trace_of(material: &RetrievedMaterial<'_>) -> Vec<Block> {
    let Retrieved { chunks, omitted, failed, .. } = material.retrieved;
    let source = match material.source {
        RetrievalSource::Index => "AgentContext.Retrieval.Index",
        RetrievalSource::Http(_) => "AgentContext.Retrieval.Http",
        RetrievalSource::None => "AgentContext.Retrieval.None",
    };
    let bytes = chunks.iter().map(|chunk| chunk.text.len()).sum();
    let retrieval = Block {
        left_out: failed.then_some("it failed"),
        duration_ms: Some(material.duration_ms),
        ..Block::sent("retrieval", source, bytes)
    };
    let source = |path: &str| format!("retrieval: {path}");
    let sent =
        chunks.iter().map(|chunk| Block::sent("chunk", source(&chunk.path), chunk.text.len()));
    let missing = omitted.iter().map(|omitted| {
        let path = omitted.path.as_deref();
        let source = path.map_or_else(|| "retrieval".to_owned(), source);
        Block::left_out("chunk", source, omitted.reason)
    });
    std::iter::once(retrieval).chain(sent).chain(missing).collect()
}
