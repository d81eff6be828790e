//! How text that comes fast is joined (interface §2, Delivery), and that nothing else depends on it.

use aptix_edge::llm_call::{CallFailure, UsableOutput};
use aptix_edge::responses_api::TextProgress;
use bed::{HttpReply, LoneStep, Piece, own_streams, recorded_exchanges};
use proptest::prelude::*;

use super::{MESSAGE, PAUSE_MS, completed, delta, heard_every};

#[test]
fn text_that_comes_fast_is_heard_once_in_an_interval_and_the_first_after_a_pause_at_once() {
    let gaps = [0, 5, 5, 5, 5, 5, 60, 5, 5, 17, 40, 40];
    let pieces = gaps.iter().zip(b'a'..).flat_map(|(gap, word)| {
        [Piece::Silence(*gap), Piece::text(&delta(&char::from(word).to_string()))]
    });
    let end = [Piece::Silence(3), Piece::text(&completed(MESSAGE)), Piece::EndlessSilence];
    let pieces: Vec<Piece> = pieces.chain(end).collect();
    let heard = |interval| {
        let step = LoneStep::replying([HttpReply::in_pieces(200, pieces.clone())]);
        let (heard, ending) = heard_every(interval, 0, &step);
        assert_eq!(ending.unwrap().output.text, "Hello");
        let mut moments: Vec<(u64, String)> = Vec::new();
        for (at, progress) in heard {
            match (progress, moments.last_mut()) {
                (TextProgress::Text(more), Some((last, text))) if *last == at => *text += &more,
                (TextProgress::Text(text), _) => moments.push((at, text)),
                // The terminal event has another text.
                (TextProgress::Replaced(_), _) => {}
                (other, _) => panic!("{other:?} is not told"),
            }
        }
        moments
    };
    let at = |moments: &[(u64, &str)]| -> Vec<(u64, String)> {
        moments.iter().map(|(at, text)| (*at, (*text).to_owned())).collect()
    };
    let each = [0, 5, 10, 15, 20, 25, 85, 90, 95, 112, 152, 192];
    let each: Vec<(u64, String)> =
        each.into_iter().zip(b'a'..).map(|(at, word)| (at, char::from(word).to_string())).collect();
    assert_eq!(heard(0), each);
    assert_eq!(
        heard(16),
        at(&[
            (0, "a"),
            (5, "b"),
            (21, "cde"),
            (37, "f"),
            (85, "g"),
            (90, "h"),
            (106, "i"),
            (122, "j"),
            (152, "k"),
            (192, "l"),
        ])
    );
    // A pause is never longer than half the silence that the service is allowed.
    assert_eq!(heard(10_000), at(&[(0, "a"), (5, "b"), (505, "cdefghijkl")]));
}

proptest! {
    #[test]
    fn however_a_response_is_cut_and_paced_it_is_heard_whole_and_in_time(
        cuts in proptest::collection::vec((1_usize..40, 0_u64..60), 1..60),
        interval in prop_oneof![Just(0), Just(1), Just(16), Just(400), Just(100_000)],
        from_ms in prop_oneof![Just(0), Just(90), Just(u64::MAX)],
        broken in any::<bool>(),
    ) {
        let words = ["He", "ll", "ö", " w", "😀", "rld"];
        let message = MESSAGE.replace("Hello", &words.concat());
        let deltas: Vec<String> = words.iter().map(|word| delta(word)).collect();
        let text = deltas.concat() + &completed(&message);
        // Where each delta is complete, in bytes, and when its last byte comes.
        let mut ends = deltas.iter().scan(0, |end, delta| { *end += delta.len(); Some(*end) }).peekable();
        let (mut pieces, mut came, mut now, mut at) = (Vec::new(), Vec::new(), 0, 0);
        for (bytes, gap) in cuts.iter().copied().cycle() {
            let Some(rest) = text.as_bytes().get(at..).filter(|rest| !rest.is_empty()) else { break };
            let piece = &rest[..bytes.min(rest.len())];
            (now, at) = (now + gap, at + piece.len());
            pieces.extend([Piece::Silence(gap), Piece::Bytes(piece.to_vec())]);
            while ends.next_if(|end| *end <= at).is_some() {
                came.push(now);
            }
        }
        pieces.push(if broken { Piece::Broken } else { Piece::EndlessSilence });
        let step = LoneStep::replying([HttpReply::in_pieces(200, pieces)]);
        let (heard, ending) = heard_every(interval, from_ms, &step);
        prop_assert_eq!(ending.unwrap().output.text, words.concat());
        let told: Vec<&TextProgress> = heard.iter().map(|(_, progress)| progress).collect();
        let apart: Vec<TextProgress> =
            words.iter().map(|word| TextProgress::Text((*word).to_owned())).collect();
        prop_assert_eq!(told, apart.iter().collect::<Vec<_>>());
        // The pauses are at most half of the silence that is allowed, and those of nobody's text shorter.
        let longest = if from_ms == 0 { interval.min(500) } else { interval.clamp(PAUSE_MS, 500) };
        for ((heard_at, _), came_at) in heard.iter().zip(&came) {
            prop_assert!((*came_at..=came_at + longest).contains(heard_at), "{came:?} {heard:?}");
        }
    }
}

/// The text on a watcher's screen, and the end, of a body whose pieces come 5 ms apart.
fn outcome(interval: u64, pieces: &[&[u8]]) -> (String, Result<UsableOutput, CallFailure>) {
    let pieces = pieces.iter().flat_map(|piece| [Piece::Bytes(piece.to_vec()), Piece::Silence(5)]);
    let step = LoneStep::replying([HttpReply::in_pieces(200, pieces)]);
    let (heard, ending) = heard_every(interval, 0, &step);
    let screen = heard.into_iter().fold(String::new(), |screen, (_, progress)| match progress {
        TextProgress::Nothing | TextProgress::Commentary(_) | TextProgress::Reasoning(_) => screen,
        TextProgress::Text(more) => screen + &more,
        TextProgress::Replaced(text) => text,
    });
    (screen, ending)
}

#[test]
fn every_stream_cut_anywhere_gives_the_same_output_at_every_interval() {
    let own = own_streams().into_iter().map(|(name, body, _)| (name, body, usize::MAX));
    // Real cuts of the long recordings at some forty places; responses_api::recorded frames every one.
    let recorded = recorded_exchanges().unwrap_or_default().into_iter();
    let recorded = recorded.map(|exchange| (exchange.name, exchange.body, 40));
    for (name, body, cuts) in own.chain(recorded) {
        let whole = outcome(16, &[&body]);
        for cut in (1..body.len()).step_by((body.len() / cuts).max(1)) {
            let (head, tail) = body.split_at(cut);
            for interval in [0, 16] {
                let parted = outcome(interval, &[head, tail]);
                assert_eq!(format!("{:?}", parted.1), format!("{:?}", whole.1), "{name} {cut}");
                if whole.1.is_ok() {
                    assert_eq!(parted.0, whole.0, "{name}, cut at {cut}, joined for {interval} ms");
                }
            }
        }
    }
}

#[test]
fn others_run_after_so_much_work_and_not_after_so_many_bytes() {
    let yields = |piece: &str, bytes: usize| {
        let noise = piece.repeat(bytes / piece.len().max(1));
        let body = delta("Hello") + &noise + &completed(MESSAGE);
        let step = LoneStep::replying([HttpReply::in_pieces(200, [Piece::text(&body)])]);
        let (_, ending) = heard_every(16, 0, &step);
        assert_eq!(ending.unwrap().output.text, "Hello");
        step.yields()
    };
    assert_eq!(yields("", 0), 0, "a short response is read at once");
    let comments = yields(": a comment, which means nothing at all\n", 4 << 20);
    let events = yields("data:{\"type\":\"x\"}\n\n", 4 << 20);
    assert!(comments > 3, "{comments}");
    assert!(events > 4 * comments, "{events} for events, {comments} for as many bytes of comments");
}
