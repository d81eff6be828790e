//! Ways of spoiling an input: JSON member by member, and any text byte by byte.

use super::campaign::Random;
use super::json_text::Json;

/// A marker in every text of a corpus that belongs to a client or an operator. A message that repeats
/// such a text contains it.
pub(crate) const CONTENT: &str = "zqContent";

/// Values of every kind, and one that is not JSON.
const SCALARS: [&str; 44] = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "1.0",
    "1e0",
    "1E400",
    "-1e-400",
    "9007199254740992",
    "9007199254740993",
    "18446744073709551616",
    "123456789012345678901234567890",
    "0.1",
    "[]",
    "{}",
    "[[]]",
    "[{}]",
    "[null]",
    "{\"\":null}",
    "\"\"",
    "\" \"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ufeff\"",
    "\"é世😀\"",
    "\"../a\"",
    "\"/a\"",
    "\"C:\\\\a\"",
    "\"a\\u0007b\"",
    "\"ide\"",
    "\"utf8\"",
    "\"base64\"",
    "\"QUI=\"",
    "\"s\"",
    "\"[]\"",
    "\"{\"",
    "\"[{}]\"",
    "\"null\"",
    // Not JSON.
    "NaN",
];
const NAMES: [&str; 30] = [
    "SessionId",
    "TurnId",
    "Instruction",
    "InputArtifacts",
    "ClipboardImages",
    "RagScope",
    "Streaming",
    "ToolsJson",
    "ToolChoiceName",
    "ToolResults",
    "ResultJson",
    "ErrorMessage",
    "Encoding",
    "Contents",
    "Mode",
    "Model",
    "previous_response_id",
    "session_id",
    "instruction",
    "",
    " ",
    "a/b~c",
    "\\u0000",
    "\\ud800",
    "\\u0053essionId",
    "é",
    "type",
    "function",
    "AgentContexts",
    "Tools",
];
const BYTES: [&[u8]; 16] = [
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r",
    b" ",
];

/// The text with one to four changes to its tree, and now and then one more to its bytes.
pub(crate) fn spoiled(json: &Json, random: &mut Random) -> Vec<u8> {
    let mut json = json.clone();
    for _ in 0..=random.below(4) {
        change(&mut json, random);
    }
    let text = if random.one_in(4) {
        json.written_with(&mut |text| text.push_str([" ", "\n", "\t", ""][text.len() % 4]))
    } else {
        json.written()
    };
    let mut bytes = text.into_bytes();
    if random.one_in(20) {
        bytes.splice(..0, *b"\xEF\xBB\xBF");
    }
    if random.one_in(8) { garbled(&bytes, random) } else { bytes }
}

/// The bytes with one to four changes.
pub(crate) fn garbled(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(7) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, random.of(&BYTES).iter().copied())),
            2 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            3 if at < bytes.len() => bytes[at] = u8::try_from(random.below(256)).unwrap(),
            4 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            5 => bytes.truncate(at),
            _ => {
                let to = random.below(bytes.len() + 1);
                bytes[at.min(to)..at.max(to)].reverse();
            }
        }
    }
    bytes
}

fn change(json: &mut Json, random: &mut Random) {
    let position = random.below(json.count());
    let other = random.below(json.count());
    let copy = json.nth(other).unwrap().clone();
    let place = json.nth(position).unwrap();
    match (random.below(9), place) {
        (0, place) => *place = scalar(random),
        (1, place) => *place = copy,
        (2, place) => *place = deep(place.clone(), random),
        (3 | 4, Json::Object(members)) => {
            let at = random.below(members.len() + 1);
            let value = if random.one_in(2) { copy } else { scalar(random) };
            members.insert(at, (name(random), value));
        }
        (5, Json::Object(members)) if !members.is_empty() => {
            let at = random.below(members.len());
            members[at].0 = name(random);
        }
        (6, Json::Object(members)) if !members.is_empty() => {
            let twin = random.of(members).clone();
            members.insert(random.below(members.len() + 1), twin);
        }
        (_, Json::Object(members)) if !members.is_empty() => {
            members.remove(random.below(members.len()));
        }
        (3..=5, Json::Array(items)) => items.insert(random.below(items.len() + 1), copy),
        (_, Json::Array(items)) if !items.is_empty() => {
            items.remove(random.below(items.len()));
        }
        (_, Json::Scalar(text)) if text.starts_with('"') && random.one_in(2) => {
            inside(text, random)
        }
        (_, place) => *place = scalar(random),
    }
}

/// Changes the JSON inside a string, or a few of the string's bytes.
fn inside(text: &mut String, random: &mut Random) {
    let said: Result<String, _> = serde_json::from_str(text);
    let changed = match said.as_deref().map(Json::read) {
        Ok(Some(mut inner @ (Json::Array(_) | Json::Object(_)))) => {
            change(&mut inner, random);
            inner.written()
        }
        Ok(_) if random.one_in(20) => said.unwrap().repeat(1 + random.below(200)),
        Ok(_) => String::from_utf8_lossy(&garbled(said.unwrap().as_bytes(), random)).into_owned(),
        Err(_) => return,
    };
    *text = serde_json::Value::from(changed).to_string();
}

fn deep(json: Json, random: &mut Random) -> Json {
    let depth = *random.of(&[1, 2, 120, 127, 128, 129, 400]);
    (0..depth).fold(json, |inner, level| match level % 2 {
        0 => Json::Array(vec![inner]),
        _ => Json::Object(vec![("\"a\"".to_owned(), inner)]),
    })
}

fn scalar(random: &mut Random) -> Json {
    match random.below(100) {
        0..4 => Json::Scalar(format!("\"{}\"", CONTENT.repeat(1 + random.below(300)))),
        4..8 => Json::Scalar("7".repeat(1 + random.below(400))),
        8..10 => Json::Array(vec![Json::Scalar("0".to_owned()); random.below(300)]),
        _ => {
            let text = *random.of(&SCALARS);
            Json::read(text).unwrap_or_else(|| Json::Scalar(text.to_owned()))
        }
    }
}

fn name(random: &mut Random) -> String {
    if random.one_in(12) {
        return format!("\"{}\"", "N".repeat(1 + random.below(200)));
    }
    format!("\"{}\"", random.of(&NAMES))
}
