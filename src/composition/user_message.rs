//! The messages that a user turn adds to the conversation (interface §4): the boot prompt on the
//! session's first turn, and one user message made of labelled blocks. A steer adds such a message, too.

use serde_json::value::RawValue;

use super::artifact_content::{ArtifactKind, classify, data_url};
use super::context_block::{ContextBlock, ContextChunk, chunk_path};
use super::solution_context::SOLUTION_CONTEXT;
use super::trace::Block;
use super::turn_material::TurnMaterial;
use crate::catalog::ConversationContext;
use crate::contract::{
    ClipboardImage, Fault, InputArtifact, Result, SteerContent, UserTurn, UserWarning,
};
use crate::encoding::language_of;
use crate::responses_api::{ContentPart, system_message, user_message_json};

/// The messages of a user turn.
pub struct ComposedMessages {
    /// The system message, on the session's first turn.
    pub system: Option<Box<RawValue>>,
    /// The user message, JSON.
    pub user: String,
    /// One for each artifact that the model cannot read.
    pub user_warnings: Vec<String>,
    /// What the messages were made of.
    pub trace: Vec<Block>,
    /// Where chunks of the workspace follow.
    pub chunks_end: ChunksEnd,
}

/// The end of the request's own chunks, which those of its workspace follow once they are retrieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunksEnd {
    /// The number of chunks in the message.
    pub chunks: usize,
    /// The number of blocks of the trace up to there.
    pub blocks: usize,
}

/// Composes the messages of a user turn. Blocks without content are omitted.
pub(super) fn compose_messages(
    turn: &UserTurn,
    material: &TurnMaterial<'_>,
) -> Result<ComposedMessages> {
    let boot_prompt = Some(material.conversation.boot_prompt.as_str())
        .filter(|prompt| material.is_first && !prompt.is_empty());
    let why = if material.is_first { "empty" } else { "sent with the session's first turn" };
    let opening = opening(&material.mode.key);
    let mut blocks = Blocks::default();
    blocks.trace.extend([
        Block::of("system", "ConversationContext.BootPrompt", boot_prompt, why),
        Block::sent("mode", "Session.Mode", opening.len()),
        Block::of("instruction", "Instruction", turn.instruction.as_deref(), "not given"),
    ]);
    let hints = [("Repo", &turn.repo), ("Language", &turn.language)];
    for (source, _) in hints.into_iter().filter(|(_, hint)| hint.is_some()) {
        blocks.trace.push(Block::left_out("hint", source, "advisory, and for retrieval alone"));
    }
    blocks.add_artifacts(&turn.input_artifacts);
    let chunks_end = ChunksEnd { chunks: blocks.context.chunks.len(), blocks: blocks.trace.len() };
    let solution_context = material.solution_context.filter(|context| !context.is_empty());
    blocks.trace.push(Block::of(
        "solution_context",
        "Session.SolutionContextText",
        solution_context,
        "none, or unchanged since it was last sent",
    ));
    blocks.add_clipboard_images(&turn.clipboard_images);
    Ok(ComposedMessages {
        system: boot_prompt.map(system_message).transpose().map_err(|_| unwritable())?,
        user: blocks.message(opening, turn.instruction.as_deref(), solution_context)?,
        user_warnings: blocks.user_warnings,
        trace: blocks.trace,
        chunks_end,
    })
}

/// The system message of a conversation context, one item, JSON; `None` for an empty prompt.
pub fn boot_message(conversation: &ConversationContext) -> Result<Option<String>> {
    let prompt = Some(conversation.boot_prompt.as_str()).filter(|prompt| !prompt.is_empty());
    let message = prompt.map(system_message).transpose();
    let message = message.map_err(|_| unwritable())?;
    Ok(message.map(|message| Box::<str>::from(message).into()))
}

/// Composes the message of a steer in the mode of that moment, JSON, with a user warning for each artifact that the model
/// cannot read. Its chunks are numbered from 1.
pub fn compose_steer(steer: &SteerContent, mode: &str) -> Result<(String, Vec<String>)> {
    let mut blocks = Blocks::default();
    blocks.add_artifacts(&steer.input_artifacts);
    blocks.add_clipboard_images(&steer.clipboard_images);
    let user = blocks.message(opening(mode), steer.instruction.as_deref(), None)?;
    Ok((user, blocks.user_warnings))
}

/// The first line of a user message.
fn opening(mode: &str) -> String {
    format!("[MODE: {mode}]")
}

fn unwritable() -> Fault {
    Fault::unwritable("A message to the model")
}

/// The blocks of a user message while they are gathered, and what the trace says of each.
#[derive(Default)]
struct Blocks<'a> {
    context: ContextBlock<'a>,
    images: Vec<String>,
    /// Names and data URLs.
    documents: Vec<(&'a str, String)>,
    user_warnings: Vec<String>,
    trace: Vec<Block>,
}

impl<'a> Blocks<'a> {
    fn add_artifacts(&mut self, artifacts: &'a [InputArtifact]) {
        for artifact in artifacts {
            let path = chunk_path(&artifact.relative_path, &artifact.file_name);
            let source = format!("InputArtifacts: {path}");
            match classify(artifact) {
                ArtifactKind::Text(text) => {
                    let chunk = ContextChunk {
                        language: language_of(artifact.language.as_deref(), &path).into(),
                        path: path.into(),
                        start_line: 1,
                        end_line: text.lines().count().max(1),
                        text,
                    };
                    self.add_chunk(source, chunk);
                }
                ArtifactKind::Image(url) => self.add_image(source, url),
                ArtifactKind::Document(url) => {
                    self.trace.push(Block::sent("file", source, url.len()));
                    self.documents.push((&artifact.file_name, url));
                }
                ArtifactKind::Binary => {
                    let why = "binary content the model cannot read";
                    self.trace.push(Block::left_out("chunk", source, why));
                    let warning = UserWarning::ArtifactLeftOut { path: &path };
                    self.user_warnings.push(warning.to_string());
                }
            }
        }
    }

    fn add_clipboard_images(&mut self, images: &[ClipboardImage]) {
        for image in images {
            let url = data_url(image.mime_type.as_str(), &image.data_base64);
            self.add_image(format!("ClipboardImages: {}", image.id), url);
        }
    }

    fn add_chunk(&mut self, source: String, chunk: ContextChunk<'a>) {
        self.trace.push(Block::sent("chunk", source, chunk.text.len()));
        self.context.chunks.push(chunk);
    }

    fn add_image(&mut self, source: String, url: String) {
        self.trace.push(Block::sent("image", source, url.len()));
        self.images.push(url);
    }

    /// The user message, JSON. Blocks without content are omitted.
    fn message(
        &self,
        opening: String,
        instruction: Option<&str>,
        solution_context: Option<&str>,
    ) -> Result<String> {
        let begin = match instruction {
            Some(instruction) => format!("{opening}\n\n[INSTRUCTION]\n{instruction}"),
            None => opening,
        };
        let mut parts = vec![ContentPart::text(begin)];
        if !self.context.chunks.is_empty() {
            parts.push(ContentPart::Written { text: &self.context });
        }
        if let Some(context) = solution_context {
            parts.push(ContentPart::text(format!("{SOLUTION_CONTEXT}{context}")));
        }
        parts.extend(self.images.iter().map(|url| ContentPart::image(url.as_str())));
        for (filename, file_data) in &self.documents {
            parts.push(ContentPart::File { filename, file_data });
        }
        user_message_json(&parts).map_err(|_| unwritable())
    }
}
