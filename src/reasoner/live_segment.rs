//! The segment of a [`LiveText`] that one model call writes while its text arrives.

use std::task::{Context, Poll};

use super::live_text::LiveText;
use crate::contract::Progress;
use crate::llm_call::Audience;
use crate::responses_api::TextProgress;

/// The segment that a model call writes.
pub(super) struct LiveSegment<'a> {
    live_text: &'a LiveText,
    /// Its number, which grows when the model service replaces the text.
    pub(super) segment: u32,
    /// The welcome message to show before the text.
    welcome: Option<&'a str>,
    /// The live text holds text of the call.
    pub(super) shown: bool,
    /// The live text holds the welcome message before it.
    pub(super) welcomed: bool,
}

impl<'a> LiveSegment<'a> {
    pub(super) fn new(live_text: &'a LiveText, segment: u32, welcome: Option<&'a str>) -> Self {
        Self { live_text, segment, welcome, shown: false, welcomed: false }
    }
}

impl Audience for LiveSegment<'_> {
    fn hear(&mut self, progress: TextProgress) {
        let text = match progress {
            TextProgress::Nothing => return,
            TextProgress::Commentary(text) => {
                return self.live_text.progress(Progress::Commentary { text: &text });
            }
            TextProgress::Reasoning(text) => {
                return self.live_text.progress(Progress::Reasoning { text: &text });
            }
            TextProgress::Text(text) => text,
            TextProgress::Replaced(text) => {
                self.live_text.discard(self.segment);
                self.segment += 1;
                self.welcomed = false;
                text
            }
        };
        self.shown = true;
        if text.is_empty() {
            return;
        }
        if let Some(welcome) = self.welcome.filter(|_| !self.welcomed) {
            self.live_text.append(self.segment, welcome);
            self.live_text.append(self.segment, "\n\n");
            self.welcomed = true;
        }
        self.live_text.append(self.segment, &text);
    }

    fn poll_listens(&self, context: &mut Context<'_>) -> Poll<()> {
        self.live_text.poll_watched(context)
    }
}
