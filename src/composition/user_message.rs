//! The messages that a user turn adds to the conversation (interface §4): the boot prompt on the
//! session's first turn, and one user message made of labelled blocks.

use serde_json::value::RawValue;

use super::artifact_content::{ArtifactKind, classify, data_url};
use super::context_block::{chunk_path, context_block};
use super::trace::Block;
use crate::contract::{Fault, UserTurn};
use crate::responses_api::{ContentPart, system_message, user_message};
use crate::retrieval::{Chunk, LeftOut, Retrieved, language_of};

/// What the user reads when nothing could be retrieved.
const RETRIEVAL_FAILED: &str =
    "Nothing could be retrieved from the workspace; the answer was given without it.";

/// What the messages are composed from, besides the request.
#[derive(Clone, Copy, Debug)]
pub struct MessageMaterial<'a> {
    /// Key of the session's mode.
    pub mode: &'a str,
    /// The conversation context's boot prompt, on the session's first turn only.
    pub boot_prompt: Option<&'a str>,
    /// The session's solution context, when it has to be shown (again).
    pub solution_context: Option<&'a str>,
    /// What retrieval found for the turn.
    pub retrieved: &'a Retrieved,
}

/// The messages of a user turn.
#[derive(Debug)]
pub struct ComposedMessages {
    /// The system message, on the session's first turn.
    pub system: Option<Box<RawValue>>,
    /// The user message.
    pub user: Box<RawValue>,
    /// One for each artifact that the model cannot read, and retrieval's.
    pub user_warnings: Vec<String>,
    /// What the messages were made of.
    pub trace: Vec<Block>,
}

/// Composes the messages of a user turn. Blocks without content are omitted.
///
/// # Errors
/// `internal` if a message cannot be written as JSON.
pub fn compose_messages(
    turn: &UserTurn,
    material: &MessageMaterial<'_>,
) -> Result<ComposedMessages, Fault> {
    let mut trace = vec![boot_prompt_block(material.boot_prompt)];
    let mut parts = vec![ContentPart::text(opening(turn, material.mode, &mut trace))];
    let mut artifacts = sort_artifacts(turn, &mut trace);
    add_retrieved(&mut artifacts, material.retrieved, &mut trace);
    if !artifacts.chunks.is_empty() {
        parts.push(ContentPart::text(context_block(&artifacts.chunks)));
    }
    if let Some(context) = material.solution_context.filter(|context| !context.is_empty()) {
        trace.push(Block::sent("solution_context", "Session.SolutionContextText", context.len()));
        parts.push(ContentPart::text(format!("[SOLUTION CONTEXT]\n{context}")));
    } else {
        trace.push(Block::left_out(
            "solution_context",
            "Session.SolutionContextText",
            "none, or unchanged since it was last sent",
        ));
    }
    parts.extend(artifacts.images.into_iter().map(ContentPart::image));
    for image in &turn.clipboard_images {
        let url = data_url(image.mime_type.as_str(), &image.data_base64);
        trace.push(Block::sent("image", format!("ClipboardImages: {}", image.id), url.len()));
        parts.push(ContentPart::image(url));
    }
    for (name, url) in artifacts.documents {
        parts.push(ContentPart::file(name, url));
    }
    let boot_prompt = material.boot_prompt.filter(|prompt| !prompt.is_empty());
    Ok(ComposedMessages {
        system: boot_prompt
            .map(system_message)
            .transpose()
            .map_err(|_| Fault::unwritable("A message to the model"))?,
        user: user_message(&parts).map_err(|_| Fault::unwritable("A message to the model"))?,
        user_warnings: artifacts.warnings,
        trace,
    })
}

fn boot_prompt_block(boot_prompt: Option<&str>) -> Block {
    const SOURCE: &str = "ConversationContext.BootPrompt";
    match boot_prompt {
        None => Block::left_out("system", SOURCE, "sent with the session's first turn"),
        Some("") => Block::left_out("system", SOURCE, "empty"),
        Some(prompt) => Block::sent("system", SOURCE, prompt.len()),
    }
}

/// The first part of the user message: the mode, and the instruction.
fn opening(turn: &UserTurn, mode: &str, trace: &mut Vec<Block>) -> String {
    let mut opening = format!("[MODE: {mode}]");
    trace.push(Block::sent("mode", "Session.Mode", opening.len()));
    match &turn.instruction {
        Some(instruction) => {
            opening.push_str("\n\n[INSTRUCTION]\n");
            opening.push_str(instruction);
            trace.push(Block::sent("instruction", "Instruction", instruction.len()));
        }
        None => trace.push(Block::left_out("instruction", "Instruction", "not given")),
    }
    opening
}

/// Adds retrieval's chunks behind the request's own, and its warning.
fn add_retrieved(artifacts: &mut Artifacts, retrieved: &Retrieved, trace: &mut Vec<Block>) {
    for chunk in &retrieved.chunks {
        trace.push(Block::sent("chunk", format!("retrieval: {}", chunk.path), chunk.text.len()));
        artifacts.chunks.push(chunk.clone());
    }
    for LeftOut { path, why } in &retrieved.left_out {
        let source = match path {
            Some(path) => format!("retrieval: {path}"),
            None => "retrieval".to_owned(),
        };
        trace.push(Block::left_out("chunk", source, why));
    }
    if retrieved.failed {
        artifacts.warnings.push(RETRIEVAL_FAILED.to_owned());
    }
}

#[derive(Default)]
struct Artifacts {
    chunks: Vec<Chunk>,
    images: Vec<String>,
    documents: Vec<(String, String)>,
    warnings: Vec<String>,
}

fn sort_artifacts(turn: &UserTurn, trace: &mut Vec<Block>) -> Artifacts {
    let mut artifacts = Artifacts::default();
    for artifact in &turn.input_artifacts {
        let path = chunk_path(&artifact.relative_path, &artifact.file_name);
        let source = format!("InputArtifacts: {path}");
        match classify(artifact) {
            ArtifactKind::Text(text) => {
                trace.push(Block::sent("chunk", source, text.len()));
                artifacts.chunks.push(Chunk {
                    language: language_of(artifact.language.as_deref(), &path),
                    path,
                    start_line: 1,
                    end_line: text.lines().count().max(1),
                    text,
                });
            }
            ArtifactKind::Image(url) => {
                trace.push(Block::sent("image", source, url.len()));
                artifacts.images.push(url);
            }
            ArtifactKind::Document(url) => {
                trace.push(Block::sent("file", source, url.len()));
                artifacts.documents.push((artifact.file_name.clone(), url));
            }
            ArtifactKind::Binary => {
                trace.push(Block::left_out(
                    "chunk",
                    source,
                    "binary content the model cannot read",
                ));
                artifacts.warnings.push(format!(
                    "{path} was left out: it is neither text nor an image (PNG, JPEG, WebP, GIF) nor a PDF."
                ));
            }
        }
    }
    artifacts
}
