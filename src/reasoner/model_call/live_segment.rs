//! The segment of a [`LiveText`] that one model call writes while its text arrives.

use std::task::{Context, Poll};

use crate::contract::Progress;
use crate::live_text::LiveText;
use crate::llm_call::Audience;
use crate::responses_api::{Reported, TextProgress};

/// Notes what the service says about a call's response.
pub(super) trait Learns {
    /// Takes what the service has said so far.
    fn learn(&self, reported: &Reported);

    /// Whether the response's id is stored before the response goes on.
    fn keeps_ids(&self) -> bool;
}

/// The segment that a model call writes.
pub(super) struct LiveSegment<'a> {
    live_text: &'a LiveText,
    /// The number that it began with.
    first: u32,
    /// Its number, which grows when the model service replaces the text.
    pub(super) segment: u32,
    /// The welcome message to show before the text.
    welcome: Option<&'a str>,
    ledger: &'a dyn Learns,
    /// Nobody hears the call.
    mute: bool,
    /// The live text holds text of the call.
    pub(super) shown: bool,
    /// The live text holds the welcome message before it.
    pub(super) welcomed: bool,
}

impl<'a> LiveSegment<'a> {
    pub(super) fn new(
        live_text: &'a LiveText,
        segment: u32,
        welcome: Option<&'a str>,
        ledger: &'a dyn Learns,
    ) -> Self {
        Self {
            live_text,
            first: segment,
            segment,
            welcome,
            ledger,
            mute: false,
            shown: false,
            welcomed: false,
        }
    }

    /// For a call whose text is for nobody but the product.
    pub(super) fn mute(live_text: &'a LiveText, segment: u32, ledger: &'a dyn Learns) -> Self {
        Self { mute: true, ..Self::new(live_text, segment, None, ledger) }
    }
}

impl LiveSegment<'_> {
    /// Takes the text of a failed call back before the call is made again. False when some of it may have
    /// gone out to a client: the call is then not repeated.
    pub(super) fn take_back(&mut self) -> bool {
        if self.shown && !self.live_text.forget(self.first) {
            return false;
        }
        (self.segment, self.shown, self.welcomed) = (self.first, false, false);
        true
    }
}

impl Audience for LiveSegment<'_> {
    fn hear(&mut self, progress: TextProgress) {
        if self.mute {
            return;
        }
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

    fn learn(&mut self, reported: &Reported) {
        self.ledger.learn(reported);
    }

    fn keeps_what_it_learns(&self) -> bool {
        self.ledger.keeps_ids()
    }

    fn poll_listens(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.mute { Poll::Pending } else { self.live_text.poll_watched(context) }
    }
}
