//! The pictures and files that a result hands to the model by an address or an id (interface §2, §6): the model service
//! would fetch them. Neither a tool nor a ticket's client may choose what is read from inside another network or out of the
//! operator's own files, so the catalog lists the hosts.
//!
//! Composition tells content from data by stricter rules; what it takes for content is checked here.

use std::borrow::Cow;

use serde::Deserialize;

use crate::encoding::authority_of;
use crate::json::{Object, for_each_element};

/// What a result may hand to the model, beside the contents of `data:` URLs.
#[derive(Clone, Copy, Debug)]
pub struct FileSources<'a> {
    /// The hosts of its addresses.
    pub hosts: &'a [String],
    /// Whether it may name files that the model service keeps.
    pub ids: bool,
}

/// Why a result is not handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFile {
    /// An address at another host.
    Host,
    /// The id of a file.
    Id,
}

impl FileSources<'_> {
    /// What a result, which is JSON, names beside these sources.
    pub fn foreign_file(self, result: &str) -> Option<ForeignFile> {
        if !result.trim_start().starts_with('[') {
            return None;
        }
        let (mut found, mut is_content) = (None, true);
        // One part at a time: a list of 8 MB can have half a million.
        let walked = for_each_element(result, |json| {
            match serde_json::from_str::<Object<ContentPart<'_>>>(json) {
                Ok(Object(part)) if matches!(part.kind.as_ref(), "input_image" | "input_file") => {
                    found = found.or_else(|| self.foreign_part(&part));
                }
                Ok(_) => {}
                // A list with another element is data.
                Err(_) => is_content = false,
            }
        });
        found.filter(|_| walked.is_ok() && is_content)
    }

    fn foreign_part(self, part: &ContentPart<'_>) -> Option<ForeignFile> {
        let is_foreign = |address: &Cow<'_, str>| {
            !address.starts_with("data:")
                && !host_of(address).is_some_and(|host| {
                    self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
                })
        };
        // Contents and ids are no addresses; some services take one there, too.
        let is_foreign_address = |text: &Cow<'_, str>| text.contains("://") && is_foreign(text);
        let mut addresses = [&part.image_url, &part.file_url].into_iter().flatten();
        let mut others = [&part.file_data, &part.file_id].into_iter().flatten();
        if addresses.any(is_foreign) || others.any(is_foreign_address) {
            return Some(ForeignFile::Host);
        }
        (part.file_id.is_some() && !self.ids).then_some(ForeignFile::Id)
    }
}

#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    image_url: Option<Cow<'a, str>>,
    #[serde(borrow)]
    file_url: Option<Cow<'a, str>>,
    #[serde(borrow)]
    file_data: Option<Cow<'a, str>>,
    #[serde(borrow)]
    file_id: Option<Cow<'a, str>>,
}

/// The host of an address that every reader of URLs takes for the same one; `None` for any other.
fn host_of(address: &str) -> Option<&str> {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && c != '\\';
    let authority = authority_of(address)?.split(['/', '?', '#']).next()?;
    if !address.chars().all(is_plain) || !authority.is_ascii() || authority.contains('@') {
        return None;
    }
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => Some(host),
        _ => Some(authority),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_data_and_listed_hosts_are_handed_on() {
        let hosts = ["files.example".to_owned(), "[2001:db8::1]".to_owned()];
        let part = |kind: &str, member: &str, address: &str| {
            let part = serde_json::json!({ "type": kind, member: address });
            let sources = FileSources { hosts: &hosts, ids: true };
            sources.foreign_file(&format!(" [{part}]")) == Some(ForeignFile::Host)
        };
        for address in [
            "data:image/png;base64,AA==",
            "https://files.example/a.png",
            "HTTP://FILES.example:8443/é?x=http://a.example",
            "https://[2001:db8::1]:1/a",
        ] {
            assert!(!part("input_image", "image_url", address), "{address}");
            assert!(!part("input_file", "file_url", address), "{address}");
        }
        for address in [
            "http://169.254.169.254/latest",
            "https://sub.files.example/",
            "https://files.example.evil/",
            "https://files.example@evil.example/",
            "https://files.example\\@evil.example/",
            "https://evil.example#@files.example/",
            "https://evil.example?files.example",
            "https:/\t/files.example/",
            "https://files.example\t.evil/",
            "https://fıles.example/",
            "//files.example/a",
            "ftp://files.example/a",
            "p.png",
            "",
        ] {
            assert!(part("input_image", "image_url", address), "{address}");
            assert!(part("input_file", "file_url", address), "{address}");
        }
        for member in ["file_data", "file_id"] {
            assert!(part("input_file", member, "http://169.254.169.254/latest"), "{member}");
            for text in ["https://files.example/a", "data:text/plain;base64,QQ==", "QQ==", "file-1"]
            {
                assert!(!part("input_file", member, text), "{member} {text}");
            }
        }
    }

    #[test]
    fn files_of_the_model_service_are_named_only_where_that_is_permitted() {
        for (part, by_id) in [
            (r#"{"type":"input_image","file_id":"file-1"}"#, true),
            (r#"{"type":"input_file","file_id":""}"#, true),
            (
                r#"{"type":"input_file","file_data":"data:text/plain;base64,QQ==","file_id":"f"}"#,
                true,
            ),
            (r#"{"type":"input_file","file_data":"QQ==","file_id":null}"#, false),
            (r#"{"type":"input_text","text":"a","file_id":"file-1"}"#, false),
        ] {
            let result = format!(r#"[{{"type":"input_text","text":"a"}},{part}]"#);
            let foreign = |ids| FileSources { hosts: &[], ids }.foreign_file(&result);
            assert_eq!(foreign(false), by_id.then_some(ForeignFile::Id), "{part}");
            assert_eq!(foreign(true), None, "{part}");
        }
    }

    #[test]
    fn what_is_no_content_may_hold_any_address() {
        let names =
            |result: &str| FileSources { hosts: &[], ids: true }.foreign_file(result).is_some();
        let foreign = r#"{"type":"input_image","image_url":"http://10.0.0.1/"}"#;
        assert!(names(&format!("[{foreign}]")));
        assert!(names(&format!(r#"[{{"type":"input_text","text":"a"}},{foreign}]"#)));
        for data in [
            foreign,
            &format!(r#"{{"a":[{foreign}]}}"#),
            &format!("[1,{foreign}]"),
            r#"[{"type":"link","image_url":"http://10.0.0.1/"}]"#,
            r#"[{"image_url":"http://10.0.0.1/"}]"#,
            r#""[http://10.0.0.1/]""#,
        ] {
            assert!(!names(data), "{data}");
        }
    }
}
