//! The segment of a [`LiveText`] that one model call writes while its text arrives.

use std::task::{Context, Poll};

use crate::contract::Progress;
use crate::live_text::LiveText;
use crate::responses_api::TextProgress;

/// The segment that a model call writes.
pub(crate) struct LiveSegment<'a> {
    live_text: &'a LiveText,
    /// The number that it began with.
    first: u32,
    /// Its number, which grows when the model service replaces the text.
    pub(super) number: u32,
    /// The welcome message to show before the text.
    welcome: Option<&'a str>,
    /// The live text holds text of the call.
    pub(super) shown: bool,
    /// The live text holds the welcome message before it.
    pub(super) welcomed: bool,
}

impl<'a> LiveSegment<'a> {
    pub(super) fn new(live_text: &'a LiveText, number: u32, welcome: Option<&'a str>) -> Self {
        Self { live_text, first: number, number, welcome, shown: false, welcomed: false }
    }

    /// Takes the text of a failed call back before the call is made again. False when some of it may have
    /// gone out to a client: the call is then not repeated.
    pub(super) fn take_back(&mut self) -> bool {
        if self.shown && !self.live_text.forget(self.first) {
            return false;
        }
        (self.number, self.shown, self.welcomed) = (self.first, false, false);
        true
    }

    /// Adds the next piece of the call's text; commentary and reasoning are progress.
    pub(super) fn add(&mut self, progress: TextProgress) {
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
                self.live_text.discard(self.number);
                self.number += 1;
                self.welcomed = false;
                text
            }
        };
        self.shown = true;
        if text.is_empty() {
            return;
        }
        if let Some(welcome) = self.welcome.filter(|_| !self.welcomed) {
            self.live_text.append(self.number, welcome);
            self.live_text.append(self.number, "\n\n");
            self.welcomed = true;
        }
        self.live_text.append(self.number, &text);
    }

    /// Ready when a client watches the text.
    pub(super) fn poll_watched(&self, context: &mut Context<'_>) -> Poll<()> {
        self.live_text.poll_watched(context)
    }
}
