//! A message to a service that owes nothing but a status: one `POST` of JSON, whose answer nobody reads.

use super::address::retry_after_ms;
use super::secret_headers::SecretHeaders;
use super::service::{ServiceFailure, in_time};
use crate::catalog::HttpService;
use crate::ports::{HttpMethod, HttpRequest, Platform, ResponseBody, with_timeout};

/// The most of an answer that is awaited, in bytes: a short one that comes to its end leaves the connection usable.
const ANSWER_BYTES: usize = 4 * 1024;

/// The longest wait for that much, in milliseconds.
const ANSWER_MS: u64 = 1_000;

/// Posts a message and returns the status, which is a success. A redirect is not followed: it is a failure. `own`
/// headers stand beside those of the catalog, which has none of the same names.
pub async fn notify<P: Platform>(
    platform: &P,
    http: &HttpService,
    own: Vec<(String, String)>,
    body: String,
) -> Result<u16, ServiceFailure> {
    let user = platform.user().map(|user| user.as_str());
    let filled = SecretHeaders::of(platform, user, &http.url, &http.headers, None);
    let mut headers = filled.map_err(ServiceFailure::Secret)?.headers;
    headers.extend(own);
    let url = http.url.clone();
    let request = HttpRequest { method: HttpMethod::Post, url, headers, body, reads: &[] };
    let exchange = async { Ok::<_, ServiceFailure>(platform.send(request).await?) };
    let mut response = in_time(platform, http.timeout_ms, exchange).await?;
    let status = response.status;
    if !response.is_success() {
        let retry_after_ms = retry_after_ms(&response, platform.now_ms());
        return Err(ServiceFailure::Status { status, retry_after_ms });
    }
    // What the answer says is nobody's: its end, its silence and its break are all the same.
    let _ = with_timeout(platform, ANSWER_MS, response.body.chunk(ANSWER_BYTES)).await;
    Ok(status)
}
