//! Output items of tools that the model service runs by itself, and what such tools leave in messages:
//! who was asked, citations of web pages, pictures.
//!
//! Nothing depends on these items, so one that cannot be read is left out.
//! Source: the Responses API's output items, by recordings of several services.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::bounded_list::BoundedList;
use super::output_item::ItemKind;
use crate::json::{first_member, from_object, text_of};

/// A call of a hosted tool, without what it was asked and what it found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all(serialize = "PascalCase"))]
pub struct HostedCall {
    /// The item's type, as `web_search_call`.
    #[serde(rename(serialize = "Type", deserialize = "type"))]
    pub kind: String,
    /// As the service names it, usually `completed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl HostedCall {
    /// The call in an output item, if it is one.
    pub fn read(item: &RawValue) -> Option<Self> {
        if !ItemKind::of(item).is_hosted() {
            return None;
        }
        let mut call: Self = from_object(item.get()).ok()?;
        call.status.take_if(|status| status.len() > MAX_NAME);
        (call.kind.len() <= MAX_NAME).then_some(call)
    }
}

/// The longest type and the longest status of a call that are shown, in bytes.
const MAX_NAME: usize = 64;

/// A web page that the model cites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// As the service writes it.
    pub url: String,
    /// May be empty.
    pub title: String,
}

impl Citation {
    /// The page that an annotation of a message names, if it names one.
    pub(super) fn read(annotation: &RawValue) -> Option<Self> {
        let text = |name: &str| text_in(annotation, name).map(Cow::into_owned);
        text("type").filter(|kind| kind == "url_citation")?;
        Some(Self { url: text("url")?, title: text("title").unwrap_or_default() })
    }
}

/// A picture that a tool of the service has made.
#[derive(Debug, PartialEq, Eq)]
pub enum Picture<'a> {
    /// Its bytes as base64.
    Given(Cow<'a, str>),
    /// The item names an address alone, from which nothing is fetched.
    Elsewhere,
}

/// The pictures in an output item: the one of an `image_generation_call`, those among the outputs of a
/// `code_interpreter_call`.
pub fn pictures(item: &RawValue) -> Vec<Picture<'_>> {
    match text_in(item, "type").as_deref() {
        Some("image_generation_call") => {
            let result = text_in(item, "result").filter(|text| !text.is_empty());
            result.map(Picture::Given).into_iter().collect()
        }
        Some("code_interpreter_call") => {
            first_member(item.get(), "outputs").map(pictures_of_code).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// The pictures among the outputs of code, beside its logs.
fn pictures_of_code(outputs: &str) -> Vec<Picture<'_>> {
    let outputs: Result<BoundedList<&RawValue>, _> = serde_json::from_str(outputs);
    let outputs = outputs.map(|list| list.first).unwrap_or_default();
    let is_image = |output: &&RawValue| text_in(output, "type").as_deref() == Some("image");
    outputs.into_iter().filter(is_image).map(|output| Picture::at(text_in(output, "url"))).collect()
}

/// A member of an object that is a string.
fn text_in<'a>(object: &'a RawValue, name: &str) -> Option<Cow<'a, str>> {
    first_member(object.get(), name).and_then(text_of)
}

impl<'a> Picture<'a> {
    fn at(url: Option<Cow<'a, str>>) -> Self {
        let data = |url: &str| {
            let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
            (head.ends_with(";base64") && !data.is_empty()).then_some(url.len() - data.len())
        };
        let Some(url) = url else { return Self::Elsewhere };
        match (data(&url), url) {
            (Some(start), Cow::Borrowed(url)) => {
                url.get(start..).map_or(Self::Elsewhere, |data| Self::Given(data.into()))
            }
            (Some(start), Cow::Owned(mut url)) => Self::Given(url.split_off(start).into()),
            (None, _) => Self::Elsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn a_call_of_a_hosted_tool_is_shown_by_type_and_status_alone() {
        let shown = |item: &str| {
            HostedCall::read(&raw(item)).map(|call| serde_json::to_string(&call).unwrap())
        };
        let search =
            r#"{"id":"ws_1","type":"web_search_call","status":"completed","action":{"query":"q"}}"#;
        assert_eq!(
            shown(search).as_deref(),
            Some(r#"{"Type":"web_search_call","Status":"completed"}"#)
        );
        assert_eq!(shown(r#"{"type":"new_call"}"#).as_deref(), Some(r#"{"Type":"new_call"}"#));
        let long = format!(r#"{{"type":"new_call","status":"{}"}}"#, "x".repeat(1_000));
        assert_eq!(shown(&long).as_deref(), Some(r#"{"Type":"new_call"}"#));
        for other in ["message", "function_call", "reasoning", "compaction"] {
            assert_eq!(shown(&format!(r#"{{"type":"{other}"}}"#)), None);
        }
    }

    #[test]
    fn a_page_is_cited_by_its_address_and_other_annotations_are_no_pages() {
        let page = |url: &str, title: &str| Citation { url: url.into(), title: title.into() };
        for (annotation, cited) in [
            (
                r#"{"type":"url_citation","url":"https:\/\/a.example","title":"A","start_index":0}"#,
                Some(page("https://a.example", "A")),
            ),
            (
                r#"{"type":"url_citation","url":"https://b.example"}"#,
                Some(page("https://b.example", "")),
            ),
            (r#"{"type":"file_citation","file_id":"f","filename":"f.txt","index":0}"#, None),
            (r#"{"type":"url_citation","title":"no address"}"#, None),
            ("7", None),
        ] {
            assert_eq!(Citation::read(&raw(annotation)), cited, "{annotation}");
        }
    }

    #[test]
    fn only_a_finished_picture_is_one() {
        let made = raw(r#"{"type":"image_generation_call","result":"AAEC","outputs":7}"#);
        assert_eq!(pictures(&made), [Picture::Given("AAEC".into())]);
        for none in [
            r#"{"type":"image_generation_call","result":null}"#,
            r#"{"type":"image_generation_call","result":""}"#,
            r#"{"type":"web_search_call","result":"AAEC"}"#,
        ] {
            assert_eq!(pictures(&raw(none)), [], "{none}");
        }
    }

    #[test]
    fn the_pictures_among_the_outputs_of_code_are_data_or_stand_elsewhere() {
        let made = raw(
            r#"{"type":"code_interpreter_call","code":"plot()","result":"AAEC","outputs":[{"type":"logs","logs":"1"},
            {"type":"image","url":"data:image/png;base64,AAEC"},{"type":"image","url":"data:image\/png;base64,AAED"},
            {"type":"image","url":"https://files.example/a.png"},{"type":"image"},{"type":"image","url":"data:image/png,x"},7]}"#,
        );
        let given = |base64: &'static str| Picture::Given(base64.into());
        let elsewhere = || Picture::Elsewhere;
        assert_eq!(
            pictures(&made),
            [given("AAEC"), given("AAED"), elsewhere(), elsewhere(), elsewhere()]
        );
        for none in ["null", "[]", "7", r#"[{"type":"logs","logs":""}]"#] {
            let item = format!(r#"{{"type":"code_interpreter_call","outputs":{none}}}"#);
            assert_eq!(pictures(&raw(&item)), [], "{none}");
        }
    }
}
