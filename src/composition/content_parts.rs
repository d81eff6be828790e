//! Distinguishes a tool's result that is content, such as a picture, from one that is data (interface §4). Content
//! reaches the model as it is, data as text.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{BorrowedText, Object, for_each_element};

/// The longest members of a part that the model service takes, in characters.
const MAX_TEXT: usize = 10_485_760;
const MAX_IMAGE_URL: usize = 20_971_520;
const MAX_FILE_DATA: usize = 73_400_320;

/// The result, when it is a JSON array of one or more content parts that the published request schema
/// allows. Anything else, one unknown member included, would cost the whole request.
pub(super) fn content_parts(result: &str) -> Option<&RawValue> {
    if !result.trim_start().starts_with('[') {
        return None;
    }
    let (mut are_parts, mut is_empty) = (true, true);
    // One part at a time: a list of 8 MB can have half a million.
    for_each_element(result, |json| {
        is_empty = false;
        are_parts = are_parts
            && serde_json::from_str::<Object<ResultPart<'_>>>(json)
                .is_ok_and(|Object(part)| part.is_valid());
    })
    .ok()?;
    if is_empty || !are_parts {
        return None;
    }
    serde_json::from_str(result).ok()
}

/// The members of all three types. The text of one that is long is never copied unless it holds escapes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultPart<'a> {
    #[serde(rename = "type", borrow)]
    kind: BorrowedText<'a>,
    text: Option<BorrowedText<'a>>,
    image_url: Option<BorrowedText<'a>>,
    file_id: Option<BorrowedText<'a>>,
    filename: Option<BorrowedText<'a>>,
    file_data: Option<BorrowedText<'a>>,
    file_url: Option<BorrowedText<'a>>,
    detail: Option<BorrowedText<'a>>,
    prompt_cache_breakpoint: Option<Object<Breakpoint<'a>>>,
}

/// Marks the place up to which the service keeps a prompt.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Breakpoint<'a> {
    #[serde(borrow)]
    mode: BorrowedText<'a>,
}

impl ResultPart<'_> {
    fn is_valid(&self) -> bool {
        let breakpoint = self.prompt_cache_breakpoint.as_ref();
        if breakpoint.is_some_and(|Object(breakpoint)| breakpoint.mode.0 != "explicit") {
            return false;
        }
        let detail = |known: &[&str]| {
            self.detail.as_ref().is_none_or(|BorrowedText(detail)| known.contains(&detail.as_ref()))
        };
        let fits = |member: &Option<BorrowedText<'_>>, most: usize| {
            member.as_ref().is_none_or(|BorrowedText(text)| text.len() <= most)
        };
        let (of_text, of_image) = (self.text.is_some(), self.image_url.is_some());
        let of_file = [&self.filename, &self.file_data, &self.file_url];
        let of_file = of_file.iter().any(|member| member.is_some());
        match self.kind.0.as_ref() {
            "input_text" => {
                let others = of_image || of_file || self.file_id.is_some() || self.detail.is_some();
                of_text && !others && fits(&self.text, MAX_TEXT)
            }
            "input_image" => {
                let has_one = of_image || self.file_id.is_some();
                has_one
                    && !(of_text || of_file)
                    && can_be_fetched(&self.image_url, true)
                    && fits(&self.image_url, MAX_IMAGE_URL)
                    && detail(&["low", "high", "auto", "original"])
            }
            "input_file" => {
                let has_one = [&self.file_id, &self.file_data, &self.file_url];
                has_one.iter().any(|member| member.is_some())
                    && !(of_text || of_image)
                    && can_be_fetched(&self.file_url, false)
                    && fits(&self.file_data, MAX_FILE_DATA)
                    && detail(&["auto", "low", "high"])
            }
            _ => false,
        }
    }
}

/// Whether an address, where there is one, is such that the service can fetch it.
fn can_be_fetched(address: &Option<BorrowedText<'_>>, may_hold_data: bool) -> bool {
    address.as_ref().is_none_or(|BorrowedText(url)| {
        url.starts_with("https://")
            || url.starts_with("http://")
            || (may_hold_data && url.starts_with("data:"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parts_that_the_service_takes_are_content() {
        let content = [
            r#"{"type":"input_text","text":""}"#,
            r#"{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}"#,
            r#"{"type":"input_image","image_url":"data:image/png;base64,iVBO","detail":null}"#,
            r#"{"type":"input_image","image_url":"https:\/\/a.example\/p","detail":"original"}"#,
            r#"{"type":"input_image","image_url":null,"file_id":"file-1"}"#,
            r#"{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBE"}"#,
            r#"{"type":"input_file","file_url":"https://a.example/a.pdf","detail":"low"}"#,
        ];
        for part in content {
            let result = format!(" [ {part} ] ");
            assert_eq!(content_parts(&result).map(RawValue::get), Some(result.trim()), "{part}");
        }
        let all = format!("[{}]", content.join(",\n"));
        assert_eq!(content_parts(&all).map(RawValue::get), Some(all.as_str()));

        let text = content[0];
        for data in [
            String::new(),
            "[]".to_owned(),
            "[1]".to_owned(),
            "{}".to_owned(),
            text.to_owned(),
            format!("[[{text}]]"),
            format!("[{text},null]"),
            format!("[{text}] x"),
        ]
        .into_iter()
        .chain(
            [
                r#"{"type":"input_text"}"#,
                r#"{"type":"input_text","text":null}"#,
                r#"{"type":"input_text","text":7}"#,
                r#"{"type":"input_text","text":"a","detail":"low"}"#,
                r#"{"type":"input_text","text":"a","more":1}"#,
                r#"{"type":"input_text","text":"a","text":"b"}"#,
                r#"{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"none"}}"#,
                r#"{"type":"text","text":"a"}"#,
                r#"{"text":"a"}"#,
                r#"{"type":"input_image"}"#,
                r#"{"type":"input_image","image_url":{"url":"https://a.example/p"}}"#,
                r#"{"type":"input_image","image_url":"p.png"}"#,
                r#"{"type":"input_image","image_url":"https://a.example/p","detail":"max"}"#,
                r#"{"type":"input_image","image_url":"https://a.example/p","text":"a"}"#,
                r#"{"type":"input_file","filename":"a.pdf"}"#,
                r#"{"type":"input_file","file_id":"f","image_url":"https://a.example/p"}"#,
                r#"{"type":"input_file","file_url":"a.pdf"}"#,
                r#"{"type":"input_file","file_id":"f","detail":"original"}"#,
            ]
            .map(|part| format!("[{text},{part}]")),
        ) {
            assert!(content_parts(&data).is_none(), "{data}");
        }
    }
}
