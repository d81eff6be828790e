//! A watcher's place in a submission's text, and the events that it has not received yet (interface §2,
//! Delivery).
//!
//! A cursor holds a position, not a queue. Text that arrives while a watcher is busy becomes one event,
//! a slow watcher delays nobody, and its memory is constant. An event's id is a position in the text,
//! never a counter.

use super::submission_text::{LiveText, ProgressBuffer};
use crate::contract::event_frames;

/// One watcher's place in a [`LiveText`].
pub(crate) struct TextCursor {
    position: Option<Position>,
    seen: u64,
    /// Whether [`Self::frames`] has returned the `result` event; nothing follows it.
    pub(crate) finished: bool,
    /// Each delta is an event by itself.
    pub(crate) single_deltas: bool,
    /// The progress since the last [`Self::frames`], if the watcher asked for it.
    progress: Option<ProgressBuffer>,
}

impl TextCursor {
    /// A watcher that has everything up to `position`, or nothing.
    pub(crate) fn new(position: Option<Position>) -> Self {
        Self { position, seen: 0, finished: false, single_deltas: false, progress: None }
    }

    /// The same watcher, who also gets progress events from here on.
    pub(crate) fn with_progress(self, live_text: &LiveText) -> Self {
        Self { progress: Some(live_text.subscribe_to_progress()), ..self }
    }

    /// Completes when the text has changed since the last [`Self::frames`].
    pub(crate) async fn changed(&self, live_text: &LiveText) {
        live_text.changed_since(self.seen).await;
    }

    /// Everything that this watcher does not have yet, as server-sent events; empty when it has all.
    /// All text of a segment since the last call is one delta, unless each delta is an event.
    pub(crate) fn frames(&mut self, live_text: &LiveText) -> String {
        let state = live_text.state.borrow();
        self.seen = state.version;
        let mut frames = String::new();
        if self.finished {
            return frames;
        }
        if let Some(progress) = &self.progress {
            frames = progress.take();
        }
        if let Some(held) = self.position
            && !state
                .segments
                .iter()
                .any(|segment| segment.number == held.segment && !segment.discarded)
        {
            // The watcher has text of a segment that was discarded, or of an attempt or a submission
            // that this instance no longer holds.
            let passed = state.segments.iter().any(|segment| segment.number >= held.segment);
            if passed || state.outcome.is_some() {
                if held.offset > 0 {
                    frames.push_str(&event_frames::discard(held.segment));
                }
                // Where this instance never had that segment, the watcher starts from the beginning.
                self.position = passed.then_some(Position { segment: held.segment, offset: 0 });
            }
        }
        for segment in state.segments.iter().filter(|segment| !segment.discarded) {
            let mut held = match self.position {
                Some(held) if held.segment > segment.number => continue,
                Some(held) if held.segment == segment.number => held.offset,
                _ => 0,
            };
            if held > segment.text.len() && state.is_read_again(segment.number) {
                continue;
            }
            if !segment.text.is_char_boundary(held) {
                // The offset lies outside this text or within a character, so the watcher's text is
                // another one.
                frames.push_str(&event_frames::discard(segment.number));
                held = 0;
            }
            // A segment has hundreds of thousands of pieces, and most of them were sent long ago.
            let sent = segment.ends.partition_point(|end| *end <= held);
            let ends = segment.ends.get(sent..).filter(|_| self.single_deltas).unwrap_or_default();
            for end in ends.iter().copied().chain([segment.text.len()]) {
                if let Some(piece) = segment.text.get(held..end).filter(|piece| !piece.is_empty()) {
                    frames.push_str(&event_frames::delta(segment.number, end, piece));
                    held = end;
                }
            }
            self.position = Some(Position { segment: segment.number, offset: segment.text.len() });
        }
        if let Some(outcome) = &state.outcome {
            frames.push_str(&event_frames::result(&outcome.body));
            self.finished = true;
        }
        frames
    }
}

/// A place in a submission's text: `{segment}.{byte offset}`, as `id:` and `Last-Event-ID` write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The segment's number within the turn.
    pub segment: u32,
    /// The UTF-8 bytes of that segment that the watcher has.
    pub offset: usize,
}

impl Position {
    /// Reads `Last-Event-ID`; `None` when this service did not write it. The watcher then starts from
    /// the beginning.
    pub fn parse(text: &str) -> Option<Self> {
        let (segment, offset) = text.trim().split_once('.')?;
        Some(Self { segment: segment.parse().ok()?, offset: offset.parse().ok()? })
    }

    /// The place behind a text that has ended, which its `result` event names; `None` while the text
    /// grows, because that event was another submission's.
    pub(crate) fn end_of(live_text: &LiveText) -> Option<Self> {
        let state = live_text.state.borrow();
        state.outcome.as_ref()?;
        let last = state.segments.iter().rfind(|segment| !segment.discarded)?;
        Some(Self { segment: last.number, offset: last.text.len() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::contract::Progress;
    use crate::live_text::{Outcome, Timings};

    /// A client as interface §2 describes it: it applies events, and keeps the last id.
    #[derive(Clone, Debug, Default)]
    struct Client {
        segments: BTreeMap<u64, String>,
        last_id: Option<String>,
        discards: usize,
        result: Option<String>,
    }

    impl Client {
        fn with(segment: u64, text: &str) -> Self {
            Self { segments: BTreeMap::from([(segment, text.to_owned())]), ..Self::default() }
        }

        fn take(&mut self, frames: &str) {
            for frame in frames.split_terminator("\n\n") {
                assert_eq!(self.result, None, "nothing follows the result");
                let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
                let data = field("data: ").unwrap();
                let read =
                    |member: &str| serde_json::from_str::<Value>(data).unwrap()[member].clone();
                match field("event: ").unwrap() {
                    "output_text.delta" => {
                        let segment = read("Segment").as_u64().unwrap();
                        let text = self.segments.entry(segment).or_default();
                        text.push_str(
                            read("Delta").as_str().filter(|delta| !delta.is_empty()).unwrap(),
                        );
                        let id = format!("{segment}.{}", text.len());
                        assert_eq!(field("id: "), Some(id.as_str()));
                        self.last_id = Some(id);
                    }
                    "output_text.discard" => {
                        self.segments.remove(&read("Segment").as_u64().unwrap());
                        self.discards += 1;
                    }
                    "result" => self.result = Some(data.to_owned()),
                    other => panic!("{other}"),
                }
            }
        }

        fn text(&self) -> String {
            self.segments.values().map(String::as_str).collect()
        }

        fn cursor(&self) -> TextCursor {
            TextCursor::new(self.last_id.as_deref().and_then(Position::parse))
        }
    }

    fn outcome() -> Outcome {
        Outcome { http_status: 200, body: "{}".into(), timings: Timings::default() }
    }

    fn at(segment: u32, offset: usize) -> TextCursor {
        TextCursor::new(Some(Position { segment, offset }))
    }

    #[test]
    fn frames_have_the_interface_s_form_and_what_came_in_the_meantime_is_one_delta() {
        let stream = LiveText::default();
        let mut cursor = TextCursor::new(None);
        assert_eq!(cursor.frames(&stream), "");
        stream.append(0, "Hel");
        stream.append(0, "");
        stream.append(0, "lo");
        assert_eq!(
            cursor.frames(&stream),
            "event: output_text.delta\nid: 0.5\ndata: {\"Segment\":0,\"Delta\":\"Hello\"}\n\n"
        );
        assert_eq!(cursor.frames(&stream), "");
        stream.discard(0);
        stream.append(1, "a\n");
        stream.end(outcome());
        stream.end(Outcome { http_status: 500, body: "late".into(), timings: Timings::default() });
        assert_eq!(
            cursor.frames(&stream),
            concat!(
                "event: output_text.discard\ndata: {\"Segment\":0}\n\n",
                "event: output_text.delta\nid: 1.2\ndata: {\"Segment\":1,\"Delta\":\"a\\n\"}\n\n",
                "event: result\nid: end\ndata: {}\n\n",
            )
        );
        assert!(cursor.finished);
        assert_eq!(cursor.frames(&stream), "");
    }

    #[test]
    fn from_every_position_a_watcher_comes_to_the_same_text() {
        let text = "a😀é\u{301}𝄞\"\n漢b";
        let running = LiveText::default();
        running.append(3, text);
        let ended = LiveText::finished(Some((3, text.to_owned())), outcome());
        for stream in [&running, &ended] {
            for offset in 0..text.len() + 3 {
                let held = text.get(..offset);
                // One that claims a place inside a character, or behind the end, holds nothing of use.
                let mut client = Client::with(3, held.unwrap_or("?"));
                let mut cursor = at(3, offset);
                client.take(&cursor.frames(stream));
                assert_eq!(client.text(), text, "{offset}");
                assert_eq!(client.discards, usize::from(held.is_none()), "{offset}");
                assert_eq!(client.result.is_some(), stream.state.borrow().outcome.is_some());
                assert_eq!(cursor.frames(stream), "");
            }
        }
    }

    #[test]
    fn text_that_was_taken_back_is_taken_from_those_who_have_it_and_shown_to_nobody_else() {
        let stream = LiveText::default();
        stream.append(0, "Let me look.");
        stream.discard(0);
        let mut late = Client::default();
        late.take(&TextCursor::new(None).frames(&stream));
        assert_eq!((late.text(), late.discards), (String::new(), 0));

        stream.append(1, "Found.");
        for offset in 1..20 {
            let mut client = Client::with(0, "Let");
            client.take(&at(0, offset).frames(&stream));
            assert_eq!((client.text().as_str(), client.discards), ("Found.", 1), "{offset}");
        }
        late.take(&at(0, 0).frames(&stream));
        assert_eq!((late.text().as_str(), late.discards), ("Found.", 0));
    }

    #[test]
    fn text_of_an_attempt_that_was_lost_is_taken_back_when_the_new_one_speaks_or_ends() {
        let stream = LiveText::default();
        let mut client = Client::with(0, "Lost");
        let mut cursor = at(0, 4);
        client.take(&cursor.frames(&stream));
        assert_eq!((client.text().as_str(), client.discards), ("Lost", 0));
        stream.append(2, "New");
        client.take(&cursor.frames(&stream));
        assert_eq!((client.text().as_str(), client.discards), ("New", 1));

        let mut client = Client::with(0, "Lost");
        client.take(&at(0, 4).frames(&LiveText::finished(None, outcome())));
        assert_eq!((client.text().as_str(), client.discards), ("", 1));
        assert_eq!(client.result.as_deref(), Some("{}"));
    }

    #[test]
    fn a_last_event_id_that_is_not_ours_means_from_the_start() {
        for (text, position) in [
            ("0.5", Some(Position { segment: 0, offset: 5 })),
            (" 12.0\t", Some(Position { segment: 12, offset: 0 })),
            ("", None),
            ("5", None),
            (".5", None),
            ("0.", None),
            ("-1.0", None),
            ("0.5.6", None),
            ("0x1.2", None),
            ("4294967296.0", None),
        ] {
            assert_eq!(Position::parse(text), position, "{text}");
        }
    }

    #[test]
    fn who_reads_progress_too_slowly_misses_some_and_who_left_costs_nothing() {
        let stream = LiveText::default();
        let retry = |after_ms| stream.progress(Progress::again(after_ms));
        let seen = |after_ms| {
            format!("event: progress\ndata: {{\"Kind\":\"retry\",\"AfterMs\":{after_ms}}}\n\n")
        };
        retry(0);
        assert_eq!(stream.state.borrow().version, 0);
        let mut slow = TextCursor::new(None).with_progress(&stream);
        let mut quick = TextCursor::new(None).with_progress(&stream);
        for after_ms in 1..=5_000 {
            retry(after_ms);
            assert_eq!(quick.frames(&stream), seen(after_ms));
        }
        let frames = slow.frames(&stream);
        assert!(frames.starts_with(&seen(1)) && frames.ends_with("\n\n"));
        assert!((32 * 1024..=64 * 1024).contains(&frames.len()), "{}", frames.len());
        drop((slow, quick));
        let version = stream.state.borrow().version;
        retry(0);
        let state = stream.state.borrow();
        assert_eq!((state.version, state.progress_buffers.len()), (version, 0));
    }

    #[test]
    fn behind_the_end_of_a_text_there_is_only_its_result() {
        let stream = LiveText::default();
        stream.append(0, "Gone.");
        stream.discard(0);
        stream.append(1, "Kept");
        stream.append(2, ".");
        assert_eq!(Position::end_of(&stream), None);
        stream.end(outcome());
        let mut client = Client::default();
        client.take(&TextCursor::new(Position::end_of(&stream)).frames(&stream));
        assert_eq!((client.text().as_str(), client.discards), ("", 0));
        assert_eq!(client.result.as_deref(), Some("{}"));
        assert_eq!(Position::end_of(&LiveText::finished(None, outcome())), None);
    }

    #[test]
    fn a_position_in_a_segment_that_never_was_means_from_the_start() {
        let text = "Hello";
        let ended = LiveText::finished(Some((0, text.to_owned())), outcome());
        for offset in [0, 3] {
            let mut client = Client::default();
            client.take(&at(7, offset).frames(&ended));
            assert_eq!((client.text().as_str(), client.result.as_deref()), (text, Some("{}")));
        }
    }

    #[test]
    fn who_watches_is_woken_by_every_change_and_who_waits_by_the_end_alone() {
        struct Count(AtomicUsize);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let woken = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);

        let stream = LiveText::default();
        let mut cursor = TextCursor::new(None);
        let mut ending = pin!(stream.outcome());
        assert!(ending.as_mut().poll(&mut context).is_pending());
        assert!(pin!(cursor.changed(&stream)).poll(&mut context).is_pending());
        stream.append(0, "a");
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(pin!(cursor.changed(&stream)).poll(&mut context).is_ready());
        assert!(ending.as_mut().poll(&mut context).is_pending());
        assert_ne!(cursor.frames(&stream), "");
        assert!(pin!(cursor.changed(&stream)).poll(&mut context).is_pending());
        stream.end(outcome());
        assert_eq!(woken.0.load(Ordering::Relaxed), 3);
        assert_eq!(ending.as_mut().poll(&mut context), Poll::Ready(outcome()));
        assert!(pin!(cursor.changed(&stream)).poll(&mut context).is_ready());
    }

    #[derive(Clone, Debug)]
    enum Step {
        Append(&'static str),
        /// The text is taken back, or (`false`) the next segment follows a kept one.
        NextSegment(bool),
        Read(usize),
        Reconnect(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => prop::sample::select(vec!["a", "é", "😀", "\n", "漢字"]).prop_map(Step::Append),
            1 => any::<bool>().prop_map(Step::NextSegment),
            3 => (0..3_usize).prop_map(Step::Read),
            2 => (0..3_usize).prop_map(Step::Reconnect),
        ]
    }

    proptest! {
        #[test]
        fn however_slow_and_however_often_cut_off_every_watcher_ends_with_the_same_text(
            steps in prop::collection::vec(step(), 0..60)
        ) {
            let stream = LiveText::default();
            let mut watchers = Vec::new();
            watchers.resize_with(3, || (Client::default(), TextCursor::new(None)));
            let mut segment = 0;
            for step in steps {
                match step {
                    Step::Append(text) => stream.append(segment, text),
                    Step::NextSegment(discard) => {
                        if discard {
                            stream.discard(segment);
                        }
                        segment += 1;
                    }
                    Step::Read(which) => {
                        let (client, cursor) = &mut watchers[which];
                        client.take(&cursor.frames(&stream));
                        prop_assert_eq!(client.text(), stream.text());
                    }
                    Step::Reconnect(which) => {
                        let (client, cursor) = &mut watchers[which];
                        *cursor = client.cursor();
                    }
                }
            }
            stream.end(Outcome { body: json!({ "Text": stream.text() }).to_string().into(), ..outcome() });
            for (client, cursor) in &mut watchers {
                client.take(&cursor.frames(&stream));
                prop_assert_eq!(client.text(), stream.text());
                prop_assert_eq!(client.result.clone(), stream.state.borrow().outcome.as_ref().map(|end| end.body.to_string()));
            }
        }
    }
}
