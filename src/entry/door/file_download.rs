//! `GET /files/{FileId}` (interface §1, §8): a signed link is the only permission that it needs.

use crate::contract::{ErrorCode, Fault, InvokeResult};
use crate::entry::request::RequestHead;
use crate::entry::response::{Body, Response};
use crate::files::{
    FileLink, LinkRefusal, PresentedLink, RequestedRange, file_headers, is_known, no_such_file,
    open_link, requested_range,
};
use crate::ports::{FileFault, Gateway};

pub(super) async fn download<G: Gateway>(
    head: &RequestHead<'_>,
    gateway: &G,
    presented: &PresentedLink,
) -> Response<G::Contents> {
    let key = gateway.secret("FILE_LINK_KEY");
    let opened = open_link(presented.clone(), key.as_deref(), gateway.now_ms() / 1000);
    let response = async { file(head, gateway, &opened?).await };
    response.await.unwrap_or_else(|LinkRefusal { http_status, fault }| {
        Response::json(http_status, InvokeResult::from(fault).to_json())
    })
}

async fn file<G: Gateway>(
    head: &RequestHead<'_>,
    gateway: &G,
    link: &FileLink,
) -> Result<Response<G::Contents>, LinkRefusal> {
    let (bucket, key) = (link.bucket, link.id.key());
    let size =
        gateway.file_size(bucket, &key).await.map_err(read_failed)?.ok_or_else(no_such_file)?;
    let is_known = is_known(head.header("If-None-Match").as_deref(), link);
    // Only GET has ranges (RFC 9110, section 14.2).
    let part = match head.method {
        "GET" if !is_known => {
            let (range, if_range) = (head.header("Range"), head.header("If-Range"));
            requested_range(range.as_deref(), if_range.as_deref(), link, size)
        }
        _ => RequestedRange::Whole,
    };
    let (status, offset, length) = match part {
        _ if is_known => (304, 0, 0),
        RequestedRange::Unsatisfiable => (416, 0, 0),
        RequestedRange::Range { offset, length } => (206, offset, length),
        RequestedRange::Whole => (200, 0, size),
    };
    let mut headers = file_headers(link, part, size);
    if head.method == "HEAD" && status == 200 {
        headers.push(("Content-Length", size.to_string()));
    }
    let body = if head.method == "HEAD" || length == 0 {
        Body::Empty
    } else {
        let contents =
            gateway.file_contents(bucket, &key, offset, length).await.map_err(read_failed)?;
        Body::Stream(contents.ok_or_else(no_such_file)?)
    };
    Ok(Response { status, headers, body })
}

fn read_failed(fault: FileFault) -> LinkRefusal {
    if fault == FileFault::NoBucket {
        return no_such_file();
    }
    let message = "The file could not be read. Send the same request again.";
    LinkRefusal { http_status: 500, fault: Fault::new(ErrorCode::Internal, message) }
}
