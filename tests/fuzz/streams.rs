//! Responses of the model service, as bodies in pieces.

use aptix_edge::responses_api::{
    ResponseEnd, ResponseStream, StreamFault, StreamLimits, TextProgress,
};

use super::campaign::{Random, Verdict};
use super::json_text::Json;
use super::mutation::{garbled, spoiled};

const ROOMY: StreamLimits =
    StreamLimits { event_bytes: 1 << 20, output_bytes: 1 << 20, ..StreamLimits::RESPONSE };
const TIGHT: StreamLimits =
    StreamLimits { event_bytes: 300, output_bytes: 60, ..StreamLimits::RESPONSE };

pub(crate) const MET: [&str; 6] =
    ["completed", "incomplete", "failed", "ended early", "malformed", "framing"];

/// The bodies under `fixtures/streams/`.
pub(crate) fn corpus() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/streams");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "sse")).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// One body with lines moved, doubled and taken out, with spoiled members in their data, or with
/// spoiled bytes.
pub(crate) fn make(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let body = random.of(corpus);
    let mut lines: Vec<Vec<u8>> =
        body.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    match random.below(4) {
        0 => return garbled(body, random),
        1 => {
            for _ in 0..=random.below(4) {
                let at = random.below(lines.len());
                match random.below(3) {
                    0 => {
                        let other = random.below(lines.len());
                        lines.swap(at, other);
                    }
                    1 => lines.insert(at, random.of(&lines).clone()),
                    _ if lines.len() > 1 => drop(lines.remove(at)),
                    _ => {}
                }
            }
        }
        _ => {
            for _ in 0..=random.below(2) {
                let at = random.below(lines.len());
                let line = String::from_utf8_lossy(&lines[at]).into_owned();
                let (field, data) = line.split_once(": ").unwrap_or(("data", &line));
                if let Some(json) = Json::read(data) {
                    let start = if data.len() == line.len() { "" } else { field };
                    let start = if start.is_empty() { String::new() } else { format!("{start}: ") };
                    let data = spoiled(&json, random);
                    lines[at] = [start.as_bytes(), &data, b"\n"].concat();
                }
            }
        }
    }
    lines.concat()
}

/// A body reads the same in all pieces of the network, and the text shown is that of the output.
pub(crate) fn judge(body: &[u8]) -> Verdict {
    let mut kind = String::new();
    for limits in [TIGHT, ROOMY] {
        let end = reads_the_same_in_pieces(limits, body)?;
        kind = match end {
            Ok(ResponseEnd::Completed(_)) => "completed",
            Ok(ResponseEnd::Incomplete { .. }) => "incomplete",
            Ok(ResponseEnd::Failed(_)) => "failed",
            Err(StreamFault::EndedEarly) => "ended early",
            Err(StreamFault::Malformed(_) | StreamFault::Unfinished) => "malformed",
            Err(StreamFault::Framing(_)) => "framing",
            Err(StreamFault::Gap | StreamFault::OfAnother) => {
                return Err("a response in one body was read on".to_owned());
            }
            Err(
                StreamFault::OutputTooLarge(_)
                | StreamFault::TooManyItems(_)
                | StreamFault::LeadTooLong(_)
                | StreamFault::BodyTooLarge(_)
                | StreamFault::TooManyEvents(_),
            ) => "too large",
        }
        .to_owned();
    }
    Ok(kind)
}

/// How a body ends, which is the same in all pieces.
pub(crate) fn reads_the_same_in_pieces(
    limits: StreamLimits,
    body: &[u8],
) -> Result<Result<ResponseEnd, StreamFault>, String> {
    let (shown, end) = read(limits, [body]);
    let size = 1 + Random::seeded(body.len() as u64).below(40);
    let (shown_in_pieces, end_in_pieces) = read(limits, body.chunks(size));
    if format!("{end:?}") != format!("{end_in_pieces:?}") {
        return Err(format!("whole: {end:?}, in pieces of {size}: {end_in_pieces:?}"));
    }
    if let Ok(ResponseEnd::Completed(output) | ResponseEnd::Incomplete { output, .. }) = &end {
        if shown != output.text || shown_in_pieces != output.text {
            return Err(format!("shown {shown:?}, {shown_in_pieces:?}: {:?}", output.text));
        }
        if output.text.len() > limits.output_bytes {
            return Err("an output above its limit".to_owned());
        }
    }
    Ok(end)
}

/// The text shown until the end, and the end.
fn read<'a>(
    limits: StreamLimits,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (String, Result<ResponseEnd, StreamFault>) {
    let mut stream = ResponseStream::new(limits);
    let mut shown = String::new();
    let mut show = |progress| match progress {
        TextProgress::Nothing | TextProgress::Commentary(_) | TextProgress::Reasoning(_) => {}
        TextProgress::Text(more) => shown.push_str(&more),
        TextProgress::Replaced(text) => shown = text,
    };
    for chunk in chunks {
        if let Err(fault) = stream.push(chunk, &mut show) {
            return (shown, Err(fault));
        }
    }
    let end = stream.finish().map(|(progress, outcome)| {
        show(progress);
        outcome
    });
    (shown, end)
}
