//! A file as the answer's body: from the bucket to the caller without passing through here.

use worker::web_sys::{Headers, ReadableStream};
use worker::{Env, Response, ResponseBuilder, web_sys};

use super::answer::json;
use super::file_bucket::{contents_of, size_of};
use super::runtime::{now_ms, variable};
use crate::contract::{ErrorCode, Fault, InvokeResult};
use crate::files::{
    FileLink, LinkRefusal, Part, PresentedLink, file_headers, is_known, no_such_file, open_link,
    part_of,
};
use crate::ports::FileFault;

/// Answers a request for a file.
pub(super) async fn download(
    env: &Env,
    presented: PresentedLink,
    method: &str,
    headers: &Headers,
) -> worker::Result<web_sys::Response> {
    let key = variable(env, "FILE_LINK_KEY");
    let answered = match open_link(presented, key.as_deref(), now_ms() / 1000) {
        Ok(link) => file(env, &link, method, headers).await,
        Err(refusal) => Err(refusal),
    };
    let response = match answered {
        Ok(response) => response?,
        Err(LinkRefusal { http_status, fault }) => {
            json(http_status, &InvokeResult::from(fault).to_json())?
        }
    };
    Ok(response.into())
}

async fn file(
    env: &Env,
    link: &FileLink,
    method: &str,
    headers: &Headers,
) -> Result<worker::Result<Response>, LinkRefusal> {
    let key = link.id.key();
    let header = |name| headers.get(name).ok().flatten();
    let size = size_of(env, &key).await.map_err(unreadable)?.ok_or_else(no_such_file)?;
    let (range, if_range) = (header("Range"), header("If-Range"));
    // A range is for GET (RFC 9110, section 14.2).
    let part = match method {
        "GET" => part_of(range.as_deref(), if_range.as_deref(), link, size),
        _ => Part::Whole,
    };
    let known = is_known(header("If-None-Match").as_deref(), link);
    let (status, offset, length) = match part {
        _ if known => (304, 0, 0),
        Part::Unsatisfiable => (416, 0, 0),
        Part::Range { offset, length } => (206, offset, length),
        Part::Whole => (200, 0, size),
    };
    let mut lines = file_headers(link, if known { Part::Whole } else { part }, size);
    if method == "HEAD" && status == 200 {
        lines.push(("Content-Length", size.to_string()));
    }
    if method == "HEAD" || length == 0 {
        return Ok(respond(status, &lines, None));
    }
    let contents = contents_of(env, &key, offset, length).await.map_err(unreadable)?;
    Ok(respond(status, &lines, Some(contents.ok_or_else(no_such_file)?)))
}

fn respond(
    status: u16,
    lines: &[(&str, String)],
    contents: Option<ReadableStream>,
) -> worker::Result<Response> {
    let headers = worker::Headers::new();
    for (name, value) in lines {
        headers.set(name, value)?;
    }
    let builder = ResponseBuilder::new().with_status(status).with_headers(headers);
    Ok(match contents {
        Some(contents) => builder.stream(contents),
        None => builder.empty(),
    })
}

fn unreadable(_: FileFault) -> LinkRefusal {
    LinkRefusal {
        http_status: 500,
        fault: Fault::new(
            ErrorCode::Internal,
            "The file could not be read. Send the same request again.",
        ),
    }
}
