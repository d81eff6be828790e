//! What a service reports about a response while it lasts: the response's id and its cost. Both count
//! whatever becomes of the response.
//!
//! Nothing here is a fault: what cannot be read is no report.

use serde_json::value::RawValue;

use super::token_counts::token_counts;
use crate::encoding::Usage;
use crate::json::{first_member, for_each_member};

/// What a service has reported about a response so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseFacts {
    /// The response's id, the newest one.
    pub response_id: Option<String>,
    /// The newest token counts.
    pub usage: Option<Usage>,
    /// The model, as the service names it once the response has ended.
    pub model: Option<String>,
}

/// The longest name of a model, in bytes.
const MODEL_BYTES: usize = 256;

/// The longest id, in bytes. Each read compares the id with the one before it, and a request can carry no long one.
const ID_BYTES: usize = 4096;

/// The name of a response, if it is one by which the service can be asked for it.
pub(super) fn usable_id<S: AsRef<str>>(id: Option<S>) -> Option<S> {
    id.filter(|id| (1..=ID_BYTES).contains(&id.as_ref().len()))
}

/// Ends a response object that goes on, in which the service says nothing of usage yet.
const NO_USAGE: [&str; 2] = ["\"usage\":null", "\"usage\": null"];

/// The longest end of a response object in which a missing usage is looked for, in bytes: only `user`
/// and `metadata` come after it.
const END_BYTES: usize = 256;

impl ResponseFacts {
    /// Reads a response object that may go on, or may be cut. It holds the request's instructions and
    /// tools and can be long, so it is read to the id when it says at its end that there is no usage.
    pub(super) fn read_object(&mut self, response: &str) {
        let end = response.ceil_char_boundary(response.len().saturating_sub(END_BYTES));
        let end = response.get(end..).unwrap_or_default();
        let id = |json: &str| serde_json::from_str::<String>(json).ok();
        if NO_USAGE.iter().any(|none| end.contains(none)) {
            return self.add(first_member(response, "id").and_then(id).as_deref(), None);
        }
        // The reading ends with a fault where the object is cut.
        let _ = for_each_member(response, |name, json| match name.as_ref() {
            "id" => self.add(id(json).as_deref(), None),
            "usage" => self.add(None, token_counts(json)),
            _ => {}
        });
    }

    /// Adds the members of a response object.
    pub(super) fn add(&mut self, id: Option<&str>, counted: Option<Usage>) {
        if let Some(id) = usable_id(id).filter(|id| self.response_id.as_deref() != Some(*id)) {
            self.response_id = Some(id.to_owned());
        }
        self.usage = counted.or(self.usage);
    }

    /// Notes the member `model` of a response object.
    pub(super) fn set_model(&mut self, json: &RawValue) {
        let model: Option<String> = serde_json::from_str(json.get()).ok();
        self.model = model.filter(|model| (1..=MODEL_BYTES).contains(&model.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report_of(response: &str) -> (Option<String>, Option<u64>) {
        let mut reported = ResponseFacts::default();
        reported.read_object(response);
        (reported.response_id, reported.usage.map(|usage| usage.total_tokens))
    }

    #[test]
    fn id_and_usage_are_found_in_objects_that_are_whole_or_cut() {
        let id = || Some("r".to_owned());
        for (response, expected) in [
            (r#"{"id":"r","usage":null,"user":null,"metadata":{}}"#, (id(), None)),
            (r#"{"usage": null, "id":"r"}"#, (id(), None)),
            (r#"{"object":"response","id":"r","usage":{"total_tokens":7}}"#, (id(), Some(7))),
            (r#"{"usage":{"total_tokens":7},"id":"r"}"#, (id(), Some(7))),
            (r#"{"id":"r","output":[{"type":"mess"#, (id(), None)),
            (r#"{"id":"r","usage":{"input_tokens":3,"output_tokens":4},"out"#, (id(), Some(7))),
            (r#"{"id":"r","usage":{"input_tok"#, (id(), None)),
            (r#"{"id":7,"usage":[]}"#, (None, None)),
            (r#"{"id":""}"#, (None, None)),
            ("[]", (None, None)),
            ("", (None, None)),
        ] {
            assert_eq!(report_of(response), expected, "{response}");
        }
    }

    #[test]
    fn the_newest_report_counts_and_silence_takes_nothing_back() {
        let mut reported = ResponseFacts::default();
        for response in [r#"{"id":"a","usage":{"total_tokens":1}}"#, r#"{"id":"b"}"#, "{}"] {
            reported.read_object(response);
        }
        assert_eq!(reported.response_id.as_deref(), Some("b"));
        assert_eq!(reported.usage.map(|usage| usage.total_tokens), Some(1));
    }
}
