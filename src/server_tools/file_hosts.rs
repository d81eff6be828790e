//! The addresses that a tool's result hands to the model (interface §6): a picture or a file that the model service
//! would fetch. A tool must not choose what is fetched from inside another network, so its entry lists the hosts.
//!
//! Composition tells content from data by stricter rules; what it takes for content is checked here.

use std::borrow::Cow;

use serde::Deserialize;

use crate::encoding::authority_of;
use crate::json::Object;

/// Whether a result, which is JSON, names a picture or a file at a host other than these.
pub(super) fn names_another_host(result: &str, hosts: &[String]) -> bool {
    if !result.trim_start().starts_with('[') {
        return false;
    }
    // A list with another element is data.
    let parts: Vec<Object<Part<'_>>> = serde_json::from_str(result).unwrap_or_default();
    let is_foreign = |address: &Cow<'_, str>| {
        !address.starts_with("data:")
            && !host_of(address)
                .is_some_and(|host| hosts.iter().any(|known| known.eq_ignore_ascii_case(host)))
    };
    // Contents and ids are no addresses; some services take one there, too.
    let is_foreign_address = |text: &Cow<'_, str>| text.contains("://") && is_foreign(text);
    parts.iter().any(|Object(part)| {
        matches!(part.kind.as_ref(), "input_image" | "input_file")
            && ([&part.image_url, &part.file_url].into_iter().flatten().any(is_foreign)
                || [&part.file_data, &part.file_id].into_iter().flatten().any(is_foreign_address))
    })
}

#[derive(Deserialize)]
struct Part<'a> {
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
            names_another_host(&format!(" [{part}]"), &hosts)
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
    fn what_is_no_content_may_hold_any_address() {
        let foreign = r#"{"type":"input_image","image_url":"http://10.0.0.1/"}"#;
        assert!(names_another_host(&format!("[{foreign}]"), &[]));
        assert!(names_another_host(
            &format!(r#"[{{"type":"input_text","text":"a"}},{foreign}]"#),
            &[]
        ));
        for data in [
            foreign,
            &format!(r#"{{"a":[{foreign}]}}"#),
            &format!("[1,{foreign}]"),
            r#"[{"type":"link","image_url":"http://10.0.0.1/"}]"#,
            r#"[{"image_url":"http://10.0.0.1/"}]"#,
            r#""[http://10.0.0.1/]""#,
        ] {
            assert!(!names_another_host(data, &[]), "{data}");
        }
    }
}
