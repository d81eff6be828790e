//! Fetching a document at an address of the operator's, without any secret.

use super::service::{ServiceFailure, in_time, read};
use crate::ports::{HttpMethod, HttpRequest, HttpResponse, Platform};

/// A document, and the headers of its response that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub body: Vec<u8>,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

/// Gets a document of at most `longest` bytes. `reads` names the headers that are read, in lower case. A redirect is not
/// followed, and any status but 200 is a failure.
pub async fn fetch_document<P: Platform>(
    platform: &P,
    url: &str,
    timeout_ms: u64,
    longest: usize,
    reads: &'static [&'static str],
) -> Result<Document, ServiceFailure> {
    let accept = "application/json, application/jwk-set+json";
    let headers = vec![("Accept".to_owned(), accept.to_owned())];
    let (url, body) = (url.to_owned(), String::new());
    let request = HttpRequest { method: HttpMethod::Get, url, headers, body, reads };
    in_time(platform, timeout_ms, async {
        let response = platform.send(request).await?;
        if response.status != 200 {
            return Err(ServiceFailure::Status { status: response.status, retry_after_ms: None });
        }
        let HttpResponse { status, headers, body } = response;
        let body = read(HttpResponse { status, headers: Vec::new(), body }, longest).await?;
        Ok(Document { body, headers })
    })
    .await
}
