//! Responses of the model service whose small events look something up among as many open items as there may be.

use std::fmt::Write as _;
use std::time::Duration;

use aptix_edge::responses_api::{ResponseStream, StreamLimits};
use cpu_time::ThreadTime;

use super::campaign::Random;
use super::streams::reads_the_same_in_pieces;

/// One fewer than the items that an output may have, so that none of the events ends the response.
const ITEMS: usize = 1000;

/// The most work that a byte of such a response may take, in units of what a byte of a comment takes. Most take two or
/// three; where each event is compared with each open item, or passes each message, they take hundreds.
const MOST_WORK: usize = 5;

/// How many times longer than a comment of as many bytes an event may take to read. The framing of a comment takes
/// next to nothing, and an event is read as JSON, which takes up to 14 times as long; over the network, where the bytes
/// cost more than either, the difference is a factor of 4 at most (`tests/e2e/hostile_bytes.test.mjs`).
const MOST_TIMES: u32 = 25;

/// How often the two are measured, until they are near enough.
const ATTEMPTS: usize = 20;

/// Ids of one length that differ at their ends, each in its message or call.
fn id(length: usize, number: usize) -> String {
    format!("{}{number:04}", "i".repeat(length))
}

fn event(body: &mut String, json: &str) {
    let _ = write!(body, "data:{json}\n\n");
}

fn added(body: &mut String, index: usize, members: &str) {
    let start =
        format!(r#"{{"type":"response.output_item.added","output_index":{index},"item":{{"#);
    event(body, &format!("{start}{members}}}}}"));
}

/// A body that opens many items and then sends small events that concern one of them, or none.
fn make(random: &mut Random) -> Vec<u8> {
    let length = *random.of(&[4, 100, 1000]);
    let kind = *random.of(&["message", "function_call"]);
    let mut body = String::new();
    let what = random.below(5);
    for number in 0..ITEMS {
        let item = match what {
            0 | 1 => format!(r#""type":"{kind}","id":"{}""#, id(length, number)),
            2 => r#""type":"message","phase":"commentary""#.to_owned(),
            _ => r#""type":"message""#.to_owned(),
        };
        added(&mut body, number, &item);
        match what {
            // Whole, and without a text.
            3 => event(
                &mut body,
                &format!(
                    r#"{{"type":"response.output_item.done","output_index":{number},"item":{{"type":"message","content":[]}}}}"#
                ),
            ),
            // Parts of one message, most of them whole.
            4 => event(
                &mut body,
                &format!(
                    r#"{{"type":"response.output_text.done","output_index":{ITEMS},"content_index":{number},"text":""}}"#
                ),
            ),
            _ => {}
        }
    }
    let at_least = body.len() + 200_000;
    while body.len() < at_least {
        let number = random.below(ITEMS + 2);
        let delta = match kind {
            "message" => "response.output_text.delta",
            _ => "response.function_call_arguments.delta",
        };
        let unknown = what == 2 && random.one_in(2);
        let small = match if unknown { 0 } else { random.below(6) } {
            0 => r#"{"type":"x"}"#.to_owned(),
            1 | 2 => {
                format!(r#"{{"type":"{delta}","item_id":"{}","delta":""}}"#, id(length, number))
            }
            3 => format!(r#"{{"type":"{delta}","delta":""}}"#),
            4 => {
                format!(
                    r#"{{"type":"response.output_text.delta","output_index":{},"delta":""}}"#,
                    number.min(ITEMS - 1)
                )
            }
            // An item that begins anew, and a message whose phase changes.
            _ => {
                let phase = *random.of(&["commentary", "final_answer"]);
                let item = match what {
                    2 | 4 => format!(r#""type":"message","phase":"{phase}""#),
                    3 => r#""type":"message""#.to_owned(),
                    _ => format!(r#""type":"{kind}","id":"{}""#, id(length, number)),
                };
                added(&mut body, number.min(ITEMS - 1), &item);
                continue;
            }
        };
        event(&mut body, &small);
    }
    body.into_bytes()
}

/// Judges as many bodies; `APTIX_SEED` judges one. None of them is shrunk: what they cost is about their length.
pub(crate) fn run(bodies: u64) {
    let seed = std::env::var("APTIX_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in seed.map_or(0..bodies, |seed| seed..seed + 1) {
        let judged = judge(&make(&mut Random::seeded(seed)));
        assert_eq!(judged, Ok(()), "repeat it with APTIX_SEED={seed}");
    }
}

/// A body reads the same in all pieces, and takes work and time in proportion to its bytes.
fn judge(body: &[u8]) -> Result<(), String> {
    let _ = reads_the_same_in_pieces(StreamLimits::RESPONSE, body)?;
    let mut stream = ResponseStream::new(StreamLimits::RESPONSE);
    let read = stream.push(body, &mut |_| {});
    read.map_err(|fault| format!("a search ends the response: {fault}"))?;
    let work = stream.work() / body.len();
    if work > MOST_WORK {
        return Err(format!("each byte takes the work of {work} bytes of comments"));
    }
    let comment = ": a comment, which has no meaning at all\n";
    let comments =
        "data:{\"type\":\"x\"}\n\n".to_owned() + &comment.repeat(body.len() / comment.len());
    // Whatever else runs on the machine makes a time longer, now and then; what reading takes does so each time.
    let times = || (time_of(body), time_of(comments.as_bytes()));
    let mut measured = (0..ATTEMPTS).map(|_| times());
    match measured.find(|(events, comments)| *events <= *comments * MOST_TIMES) {
        Some(_) => Ok(()),
        None => Err(format!("{:?}: the events, and as many bytes of comments", times())),
    }
}

fn time_of(body: &[u8]) -> Duration {
    let mut stream = ResponseStream::new(StreamLimits::RESPONSE);
    let from = ThreadTime::now();
    let _ = stream.push(body, &mut |_| {});
    from.elapsed()
}
