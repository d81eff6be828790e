//! Bodies of `POST /execute`: the rules for every accepted and every refused one.

use std::collections::BTreeSet;

use aptix_edge::contract::{
    ErrorCode, ExecuteRequest, Fault, dictionary, fingerprint, parse, peek_session_id,
};

use super::campaign::{Random, Verdict};
use super::json_text::{Json, decoded};
use super::mutation::CONTENT;

const BODIES: [&str; 5] = [
    r##"{"SessionId":"s-1","TurnId":"t:1","Instruction":"zqContent **this**.","InputArtifacts":[{"RelativePath":"src/zqContent","FileName":"zqContent.rs","Contents":"fn zqContent() {}\n","Origin":"ide","Language":"zqContent"},{"RelativePath":"","FileName":"b.pdf","Contents":"enFDb250ZW50","Origin":"user","MimeType":"application/pdf","Encoding":"base64"}],"Streaming":true}"##,
    r##"{"SessionId":"s","TurnId":"t","ClipboardImages":[{"Id":"zqContent","MimeType":"image/png","DataBase64":"QUJD"}],"RagScope":{"Conditions":[{"Key":"zqContent","Operator":"does_not_contain","Values":["zqContent",""]}]},"SolutionContextText":"zqContent","WorkspaceId":"zqContent","Repo":"zqContent","Language":"zqContent","AgentContextId":"zqContent","ConversationContextId":"zqContent"}"##,
    r##"{"SessionId":"s","TurnId":"t","Instruction":"zqContent","ToolsJson":"[{\"type\":\"function\",\"name\":\"read_file\",\"description\":\"zqContent\",\"parameters\":{ \"type\" : \"object\" },\"strict\":true},{\"type\":\"function\",\"function\":{\"name\":\"ls\",\"parameters\":null}}]","ToolChoiceName":"zqContent"}"##,
    r##"{"SessionId":"s","TurnId":"t","ToolResults":[{"ToolCallId":"zqContent1","ExecutionMs":0,"ResultJson":" {\"zqContent\": 1} ","ErrorMessage":null},{"ToolCallId":"c2","ExecutionMs":9007199254740992,"ErrorMessage":"zqContent"}]}"##,
    r##"{"SessionId":"s","TurnId":"t","Instruction":"zqContent","ToolResults":null,"InputArtifacts":null,"Streaming":null,"RagScope":null,"ToolsJson":null}"##,
];

pub(crate) const MET: [&str; 7] = [
    "accepted",
    "malformed_json",
    "missing_field",
    "invalid_field",
    "unknown_field",
    "forbidden_field",
    "empty_turn",
];

pub(crate) fn corpus() -> Vec<Json> {
    BODIES.iter().map(|body| Json::read(body).unwrap()).collect()
}

pub(crate) fn judge(body: &[u8]) -> Verdict {
    match parse(body) {
        Ok(request) => {
            accepted(body, &request)?;
            Ok("accepted".to_owned())
        }
        Err(faults) => {
            refused(body, &faults)?;
            Ok(faults[0].code.to_string())
        }
    }
}

fn that(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

/// A request is routed to its own session, and stays the same when it is sent again in another
/// order, with other white space and in other escapes.
fn accepted(body: &[u8], request: &ExecuteRequest) -> Result<(), String> {
    let routed = peek_session_id(body);
    that(routed.as_ref() == Some(request.session_id()), "routed to another session")?;

    let text = std::str::from_utf8(body).map_err(|_| "accepted and not UTF-8")?;
    let mut json = Json::read(text.trim_start_matches('\u{feff}')).ok_or("accepted and no JSON")?;
    json.shuffle(&mut Random::seeded(body.len() as u64));
    let reordered = json.written();
    let spaced = json.written_with(&mut |text| text.push_str([" ", "\r\n", "\t"][text.len() % 3]));
    json.escape();
    for (again, how) in [(reordered, "order"), (spaced, "white space"), (json.written(), "escapes")]
    {
        let again = parse(again.as_bytes()).map_err(|_| format!("refused for its {how}"))?;
        that(again == *request, how)?;
        that(fingerprint(&again) == fingerprint(request), how)?;
    }
    Ok(())
}

/// A refusal names faults of the dictionary, each at a place of the body, in document order, and
/// never repeats the client's content.
fn refused(body: &[u8], faults: &[Fault]) -> Result<(), String> {
    that((1..=101).contains(&faults.len()), "no fault, or too many")?;
    let known = dictionary();
    for fault in faults {
        let code = fault.code.as_str();
        that(MET.contains(&code), code)?;
        that(known.iter().any(|entry| entry.error_code == fault.code), code)?;
        that(fault.http_status() == 400, "not a client's fault")?;
        that(fault.message.len() < 600, "a message as long as the body")?;
        that(!fault.message.trim().is_empty(), "a fault without a message")?;
    }
    if faults[0].code == ErrorCode::MalformedJson {
        that(faults.len() == 1 && faults[0].path.is_none(), "malformed and more")?;
        return that(!repeats(faults), "content in the message of malformed JSON");
    }
    let text = std::str::from_utf8(body).map_err(|_| "read, and not UTF-8")?;
    let json = Json::read(text.trim_start_matches('\u{feff}')).ok_or("read, and no JSON")?;
    if !names_hold_content(&json) {
        that(!repeats(faults), "content in a message")?;
    }
    // Half a character ends the walk early, so later faults are absent or out of order. Of repeated
    // members, a path leads to the first only.
    let is_odd = |fault: &Fault| fault.message.contains("not valid Unicode");
    let is_regular = !has_twins(&json) && !faults.iter().any(is_odd);
    let mut before = Vec::new();
    for fault in faults {
        let Some(path) = &fault.path else {
            let whole = fault.code == ErrorCode::EmptyTurn || fault.message.contains("more violat");
            that(whole, "a fault without a place")?;
            continue;
        };
        let (mut found, is_null) = place(&json, path)?;
        if is_regular {
            // A null may count as missing. All places inside `ToolsJson` have the path of the text.
            let is_missing = found.last() == Some(&usize::MAX);
            let says_missing = fault.code == ErrorCode::MissingField;
            that(!is_missing || says_missing, "a fault of an absent member")?;
            let may_be = is_missing || is_null || path == "/ToolsJson";
            that(!says_missing || may_be, "missing, and present")?;
            if let Some(last) = found.last_mut().filter(|_| says_missing && is_null) {
                *last = usize::MAX;
            }
            that(before <= found, "not in document order")?;
            before = found;
        }
    }
    Ok(())
}

fn repeats(faults: &[Fault]) -> bool {
    let content = |text: &str| text.to_ascii_lowercase().contains(&CONTENT.to_ascii_lowercase());
    faults.iter().any(|fault| {
        let details = fault.details.clone().map(serde_json::Value::Object);
        content(&fault.message) || details.is_some_and(|details| content(&details.to_string()))
    })
}

/// Whether a name contains the marker. Messages repeat names of members, those of tools included,
/// which are not content.
fn names_hold_content(json: &Json) -> bool {
    let mut found = false;
    json.for_each_name(&mut |name| found |= holds_content(name));
    if let Json::Object(members) = json {
        for (name, value) in members {
            if decoded(name) == "ToolsJson"
                && let Json::Scalar(text) = value
                && text.starts_with('"')
                && let Some(tools) = Json::read(&decoded(text))
            {
                tools.for_each_name(&mut |name| found |= holds_content(name));
            }
        }
    }
    found
}

/// Whether two members of one object have the same path.
fn has_twins(json: &Json) -> bool {
    match json {
        Json::Scalar(_) => false,
        Json::Array(items) => items.iter().any(has_twins),
        Json::Object(members) => {
            let names: BTreeSet<String> =
                members.iter().map(|(name, _)| clipped(&decoded(name))).collect();
            names.len() < members.len() || members.iter().any(|(_, value)| has_twins(value))
        }
    }
}

fn holds_content(name: &str) -> bool {
    // A name that was cut may end within the marker.
    name.to_ascii_lowercase().contains("zq")
}

/// The place of a JSON Pointer: an index for each step, the largest for a missing member; and whether
/// its value is `null`.
fn place(json: &Json, path: &str) -> Result<(Vec<usize>, bool), String> {
    let lost = || format!("{path:?} leads nowhere");
    if path.is_empty() {
        return Ok((Vec::new(), false));
    }
    let steps = path.strip_prefix('/').ok_or_else(lost)?;
    let escapes_hold = steps.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
    that(escapes_hold, "an escape that JSON Pointer does not know")?;
    let mut here = Some(json);
    let mut found = Vec::new();
    for step in steps.split('/') {
        let step = step.replace("~1", "/").replace("~0", "~");
        let index = match here.ok_or_else(lost)? {
            Json::Scalar(_) => return Err(lost()),
            Json::Array(items) => {
                let index = step.parse::<usize>().map_err(|_| lost())?;
                here = Some(items.get(index).ok_or_else(lost)?);
                index
            }
            Json::Object(members) => {
                let index = members.iter().position(|(name, _)| clipped(&decoded(name)) == step);
                here = index.map(|index| &members[index].1);
                index.unwrap_or(usize::MAX)
            }
        };
        found.push(index);
    }
    Ok((found, here == Some(&Json::Scalar("null".to_owned()))))
}

/// A name as a path shows it: at most 64 characters, with `…` after a cut.
fn clipped(name: &str) -> String {
    match name.char_indices().nth(64) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
