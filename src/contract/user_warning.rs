//! The warnings to a user, `UserWarnings` of a final response (AGN-033 §4; interface §2): a closed list, with the
//! sentence of each. A sentence says what the answer lacks or how it differs, and asks for no action.

/// What a user is told beside the final text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserWarning<'a> {
    /// The model cannot read an artifact of the request.
    #[error(
        "{path} was left out: it is neither text nor an image (PNG, JPEG, WebP, GIF) nor a PDF."
    )]
    ArtifactLeftOut { path: &'a str },
    #[error("The mode of this session is no longer offered; {by} takes its place.")]
    ModeReplaced {
        /// The display name of the mode that takes the place of the lost one.
        by: &'a str,
    },
    #[error("The tools of {server} are missing: their server could not be reached.")]
    McpServerUnreachable { server: &'a str },
    /// A mode or a conversation context names a tool that its server does not list.
    #[error("The tool {server}/{tool} is missing: its server does not offer it.")]
    McpToolMissing { server: &'a str, tool: &'a str },
    #[error("Some tools of MCP servers are missing: a turn has at most {most} tools.")]
    TooManyTools { most: usize },
    /// The model service refused the session's solution context, or it is too long for the model.
    #[error(
        "The answer was given without the solution context: the model does not take it, or it is too long."
    )]
    SolutionContextLeftOut,
    /// The client tools of an earlier turn never came to an output of the model, so the session does not have them.
    #[error(
        "The answer was given without the tools that came with an earlier message: the model did not get or did not take them."
    )]
    ClientToolsLeftOut,
    /// The model service refused an instruction that was added while the turn ran, or it is too long for the model.
    #[error(
        "An instruction that was added while the turn ran was left out: the model does not take it, or it is too long."
    )]
    SteerRefused,
    #[error("Nothing could be retrieved from the workspace; the answer was given without it.")]
    RetrievalFailed,
    /// The service of the embeddings failed, or the index still lacks vectors.
    #[error("The workspace was searched by words alone: its embeddings could not be used.")]
    RetrievedByWordsAlone,
    /// The bucket failed, or the turn has as many files as it may have.
    #[error("The model made a picture that could not be kept.")]
    PictureNotKept,
    /// The deployment has no bucket, or no key for links.
    #[error("The model made a picture, and this deployment has no place for files.")]
    NoPlaceForPictures,
    /// The output of the model was cut off.
    #[error("The answer is incomplete: {}.", cut_off(.reason))]
    AnswerIncomplete {
        /// As the model service names it.
        reason: &'a str,
    },
    #[error("The model declined to answer this request, or a part of it.")]
    AnswerRefused,
    #[error("The model ended its answer without any text.")]
    AnswerEmpty,
    /// The conversation was compacted in this turn.
    #[error(
        "The conversation had become too long for the model: {}.",
        compacted(*.turns_summarised, *.turns_left_out, *.shortened)
    )]
    Compacted {
        turns_summarised: u64,
        turns_left_out: u64,
        /// Tool results are sent in part.
        shortened: bool,
    },
    /// The text holds what should be a file.
    #[error(
        "The answer carries the contents of a file in its text. They may be cut or changed; ask for the file itself."
    )]
    ContentsInText,
    /// The result of a server tool holds what should be a file.
    #[error("The result of the tool {tool} carries the contents of a file in its text.")]
    ContentsInResult { tool: &'a str },
}

impl UserWarning<'_> {
    /// Adds the warning, unless it is there already.
    pub fn add_once(&self, to: &mut Vec<String>) {
        Self::add_text_once(self.to_string(), to);
    }

    /// Adds the text of a warning, unless it is there already.
    pub(crate) fn add_text_once(text: String, to: &mut Vec<String>) {
        if !to.contains(&text) {
            to.push(text);
        }
    }
}

/// What cut an answer off, for a reason as the model service names it.
fn cut_off(reason: &str) -> &'static str {
    match reason {
        "max_output_tokens" => "it reached its length limit",
        "content_filter" => "a content filter stopped it",
        _ => "it was cut off",
    }
}

/// What a compaction did to the conversation.
fn compacted(turns_summarised: u64, turns_left_out: u64, shortened: bool) -> String {
    let turns = |count: u64| match count {
        1 => "1 earlier turn is".to_owned(),
        count => format!("{count} earlier turns are"),
    };
    let mut done = Vec::new();
    if turns_summarised > 0 {
        done.push(format!("{} sent to it as a summary", turns(turns_summarised)));
    }
    if turns_left_out > 0 {
        done.push(format!("{} no longer sent to it", turns(turns_left_out)));
    }
    if shortened {
        done.push("long tool results are sent to it in part".to_owned());
    }
    if done.is_empty() {
        done.push("the model service has compacted it".to_owned());
    }
    done.join(", ")
}
