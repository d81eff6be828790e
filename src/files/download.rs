//! `GET /files/{FileId}` (interface §1, §8): who may read a file, which part of it, and the headers of
//! the response.
//!
//! The product trusts neither the tool nor the model behind a file, so a browser saves every file and
//! never shows it as a page of this origin.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{FileLink, PresentedLink};
use crate::contract::{ErrorCode, Fault};
use crate::encoding::essence;

/// Media types that no browser runs. Files of all other types are sent as plain bytes.
const HARMLESS: [&str; 10] = [
    "application/json",
    "application/pdf",
    "application/zip",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
    "text/csv",
    "text/markdown",
    "text/plain",
];

/// Characters that are percent-encoded in `filename*` (RFC 8187).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// Why a link does not open a file.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRefusal {
    /// 404 or 410.
    pub http_status: u16,
    /// The refusal's one error.
    pub fault: Fault,
}

/// The part of a file that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedRange {
    Whole,
    /// A range of bytes, not empty.
    Range {
        offset: u64,
        /// The number of bytes.
        length: u64,
    },
    /// The file has no such bytes.
    Unsatisfiable,
}

/// Checks a link's signature and expiry. `key` is the deployment's `FILE_LINK_KEY`, `now_s` is in
/// seconds since the Unix epoch.
///
/// # Errors
/// 404 for a link that this deployment did not sign, 410 for one that has expired.
pub fn open_link(
    presented: PresentedLink,
    key: Option<&str>,
    now_s: u64,
) -> Result<FileLink, LinkRefusal> {
    let link = key.filter(|key| !key.is_empty()).and_then(|key| presented.signed_with(key));
    let link = link.ok_or_else(no_such_file)?;
    if link.expires_at <= now_s {
        return Err(refusal(410, "This link has expired. Ask the agent for the file again."));
    }
    Ok(link)
}

/// The refusal of a wrong link, and equally of a file that was erased.
pub fn no_such_file() -> LinkRefusal {
    refusal(404, "There is no such file. Use the Url of a Files entry as it is.")
}

fn refusal(http_status: u16, message: &str) -> LinkRefusal {
    LinkRefusal { http_status, fault: Fault::new(ErrorCode::NotFound, message) }
}

/// The quoted `ETag` of a file.
fn entity_tag(link: &FileLink) -> String {
    format!("\"{}\"", link.id.sha256)
}

/// Whether `If-None-Match` holds the file's `ETag`.
pub fn is_known(if_none_match: Option<&str>, link: &FileLink) -> bool {
    let tag = entity_tag(link);
    let same = |given: &str| given == "*" || given.strip_prefix("W/").unwrap_or(given) == tag;
    if_none_match.is_some_and(|given| given.split(',').map(str::trim).any(same))
}

/// The part of a file of `size` bytes that `Range` asks for. The whole file when `If-Range` names
/// another version, when `Range` has more than one range, and when it has none of bytes (RFC 9110,
/// section 14.2).
pub fn requested_range(
    range: Option<&str>,
    if_range: Option<&str>,
    link: &FileLink,
    size: u64,
) -> RequestedRange {
    if if_range.is_some_and(|tag| tag.trim() != entity_tag(link)) {
        return RequestedRange::Whole;
    }
    let spec = range.and_then(|range| range.trim().strip_prefix("bytes="));
    let Some((first, last)) = spec.and_then(|spec| spec.split_once('-')) else {
        return RequestedRange::Whole;
    };
    // A number that overflows lies beyond the end of any file.
    let number = |text: &str| {
        let text = text.trim();
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let (offset, end) = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => (first, last.saturating_add(1).min(size)),
        (Some(first), None) if last.trim().is_empty() => (first, size),
        (None, Some(last)) if first.trim().is_empty() => (size.saturating_sub(last), size),
        _ => return RequestedRange::Whole,
    };
    match end.checked_sub(offset) {
        Some(length) if length > 0 => RequestedRange::Range { offset, length },
        _ => RequestedRange::Unsatisfiable,
    }
}

/// The headers of a response with a file of `size` bytes, or a part of it.
pub fn file_headers(
    link: &FileLink,
    part: RequestedRange,
    size: u64,
) -> Vec<(&'static str, String)> {
    let kind = essence(&link.mime_type).to_ascii_lowercase();
    let shown = HARMLESS.into_iter().find(|harmless| *harmless == kind);
    let content_type = match shown.unwrap_or("application/octet-stream") {
        text if text.starts_with("text/") => format!("{text}; charset=utf-8"),
        other => other.to_owned(),
    };
    let mut headers = vec![
        ("Content-Type", content_type),
        ("Content-Disposition", disposition(&link.name)),
        ("X-Content-Type-Options", "nosniff".to_owned()),
        ("Content-Security-Policy", "default-src 'none'; sandbox".to_owned()),
        ("Cross-Origin-Resource-Policy", "cross-origin".to_owned()),
        ("Referrer-Policy", "no-referrer".to_owned()),
        // Browsers ask again on each use, so that expiry and erasure take effect.
        ("Cache-Control", "private, no-cache".to_owned()),
        ("Accept-Ranges", "bytes".to_owned()),
        ("ETag", entity_tag(link)),
    ];
    match part {
        RequestedRange::Whole => {}
        RequestedRange::Range { offset, length } => {
            let last = offset + length.saturating_sub(1);
            headers.push(("Content-Range", format!("bytes {offset}-{last}/{size}")));
        }
        RequestedRange::Unsatisfiable => headers.push(("Content-Range", format!("bytes */{size}"))),
    }
    headers
}

/// `Content-Disposition`: the file's name without folders, also in ASCII for clients that do not read
/// `filename*`.
fn disposition(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name).trim();
    let name = if last.trim_matches('.').is_empty() { "file" } else { last };
    let is_plain = |c: &char| matches!(c, ' '..='~') && !"\"%;".contains(*c);
    let plain: String = name.chars().map(|c| if is_plain(&c) { c } else { '_' }).collect();
    let exact = utf8_percent_encode(name, ENCODED);
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::sha256_hex;
    use crate::files::FileId;

    fn link(name: &str, mime_type: &str) -> FileLink {
        FileLink {
            id: FileId::of("0a".repeat(32), sha256_hex(b"0123456789")),
            bucket: None,
            name: name.to_owned(),
            mime_type: mime_type.to_owned(),
            expires_at: 1_000,
        }
    }

    fn header(link: &FileLink, part: RequestedRange, name: &str) -> Option<String> {
        let headers = file_headers(link, part, 10);
        headers.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    #[test]
    fn a_link_opens_its_file_until_the_second_it_expires_in() {
        let link = link("a.csv", "text/csv");
        let target = link.target("k");
        let (path, query) = target.split_once('?').unwrap();
        let presented = PresentedLink::parse(path.strip_prefix("/files/").unwrap(), query).unwrap();
        let open = |key, now| {
            open_link(presented.clone(), key, now).map_err(|refusal| refusal.http_status)
        };
        assert_eq!(open(Some("k"), 999), Ok(link));
        assert_eq!(open(Some("k"), 1_000), Err(410));
        // A link with a foreign signature is unknown, not expired.
        assert_eq!(open(Some("other"), 1_000), Err(404));
        assert_eq!(open(None, 999), Err(404));
        // Anybody can sign with an empty key.
        let target = self::link("a.csv", "text/csv").target("");
        let (path, query) = target.split_once('?').unwrap();
        let signed = PresentedLink::parse(path.strip_prefix("/files/").unwrap(), query).unwrap();
        for key in [Some(""), None] {
            let refusal = open_link(signed.clone(), key, 999).unwrap_err();
            assert_eq!(refusal.http_status, 404);
        }
    }

    #[test]
    fn a_range_selects_a_part_and_an_invalid_range_selects_the_whole_file() {
        let link = link("a", "text/plain");
        let of = |range, size| requested_range(Some(range), None, &link, size);
        let part = |offset, length| RequestedRange::Range { offset, length };
        for (range, expected) in [
            ("bytes=0-0", part(0, 1)),
            ("bytes=0-", part(0, 10)),
            ("bytes=3-5", part(3, 3)),
            ("bytes=9-", part(9, 1)),
            ("bytes=9-99", part(9, 1)),
            ("bytes=-4", part(6, 4)),
            ("bytes=-40", part(0, 10)),
            ("bytes=0-99999999999999999999999", part(0, 10)),
            (" bytes=2 - 3 ", part(2, 2)),
            ("bytes=10-", RequestedRange::Unsatisfiable),
            ("bytes=10-12", RequestedRange::Unsatisfiable),
            ("bytes=99999999999999999999999-", RequestedRange::Unsatisfiable),
            ("bytes=-0", RequestedRange::Unsatisfiable),
            ("bytes=5-3", RequestedRange::Whole),
            ("bytes=0-1,3-4", RequestedRange::Whole),
            ("bytes=-", RequestedRange::Whole),
            ("bytes=a-b", RequestedRange::Whole),
            ("bytes=+1-2", RequestedRange::Whole),
            ("lines=0-1", RequestedRange::Whole),
            ("", RequestedRange::Whole),
        ] {
            assert_eq!(of(range, 10), expected, "{range}");
        }
        assert_eq!(of("bytes=0-", 0), RequestedRange::Unsatisfiable);
        assert_eq!(requested_range(None, None, &link, 10), RequestedRange::Whole);
        let tag = entity_tag(&link);
        assert_eq!(requested_range(Some("bytes=1-1"), Some(&tag), &link, 10), part(1, 1));
        assert_eq!(
            requested_range(Some("bytes=1-1"), Some("\"old\""), &link, 10),
            RequestedRange::Whole
        );
        assert_eq!(header(&link, part(3, 3), "Content-Range").unwrap(), "bytes 3-5/10");
        assert_eq!(
            header(&link, RequestedRange::Unsatisfiable, "Content-Range").unwrap(),
            "bytes */10"
        );
    }

    #[test]
    fn a_client_that_has_the_file_already_is_known_by_its_tag() {
        let link = link("a", "text/plain");
        let tag = entity_tag(&link);
        for (given, known) in [
            (tag.clone(), true),
            (format!("\"x\", W/{tag}"), true),
            ("*".to_owned(), true),
            ("\"x\"".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_known(Some(&given), &link), known, "{given}");
        }
        assert!(!is_known(None, &link));
    }

    #[test]
    fn no_file_is_ever_shown_as_a_page() {
        for (mime_type, sent) in [
            ("text/csv", "text/csv; charset=utf-8"),
            ("Text/Plain; charset=latin1", "text/plain; charset=utf-8"),
            ("image/png", "image/png"),
            ("application/json", "application/json"),
            ("text/html", "application/octet-stream"),
            ("image/svg+xml", "application/octet-stream"),
            ("application/xhtml+xml", "application/octet-stream"),
            ("text/javascript", "application/octet-stream"),
            ("application/x-unknown", "application/octet-stream"),
        ] {
            let link = link("a", mime_type);
            assert_eq!(
                header(&link, RequestedRange::Whole, "Content-Type").unwrap(),
                sent,
                "{mime_type}"
            );
            assert_eq!(
                header(&link, RequestedRange::Whole, "X-Content-Type-Options").unwrap(),
                "nosniff"
            );
        }
    }

    #[test]
    fn a_file_is_saved_under_its_name_and_nowhere_else() {
        for (name, sent) in [
            ("a.csv", "filename=\"a.csv\"; filename*=UTF-8''a.csv"),
            ("../../etc/passwd", "filename=\"passwd\"; filename*=UTF-8''passwd"),
            ("C:\\x\\a b.txt", "filename=\"a b.txt\"; filename*=UTF-8''a%20b.txt"),
            ("..", "filename=\"file\"; filename*=UTF-8''file"),
            ("dir/", "filename=\"file\"; filename*=UTF-8''file"),
            ("größe.txt", "filename=\"gr__e.txt\"; filename*=UTF-8''gr%C3%B6%C3%9Fe.txt"),
            ("a\";x=\"b", "filename=\"a__x=_b\"; filename*=UTF-8''a%22%3Bx%3D%22b"),
        ] {
            assert_eq!(disposition(name), format!("attachment; {sent}"));
        }
    }
}
