//! Fetching a document at an address of the operator's, without any secret.

use super::service::{ServiceFailure, in_time, read};
use crate::ports::{HttpMethod, HttpRequest, HttpResponse, Platform};

/// Gets a document of at most `longest` bytes. `reads` names the headers that are read, in lower case. A redirect is not
/// followed, and any status but 200 is a failure.
pub async fn fetch_document<P: Platform>(
    platform: &P,
    url: &str,
    timeout_ms: u64,
    longest: usize,
    reads: &'static [&'static str],
) -> Result<HttpResponse<Vec<u8>>, ServiceFailure> {
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
        Ok(HttpResponse { status, headers, body })
    })
    .await
}
