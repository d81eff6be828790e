//! A call of an HTTP tool or a retrieval service: one `POST` of JSON, one JSON response (interface §6,
//! §7).

use serde_json::value::RawValue;

use super::address::retry_after_ms;
use super::service::{Service, ServiceFailure, in_time, read};
use crate::catalog::HttpService;
use crate::ports::{CHUNK_BYTES, HttpMethod, Platform};

/// Posts JSON to a service and returns the JSON text of its response, of at most `longest` bytes as the
/// service wrote it, with `***` in place of each secret that was sent. `own` headers go before those of the catalog. The
/// user is the caller's: an object of the tenant's knows of none.
pub async fn post<P: Platform>(
    platform: &P,
    user: Option<&str>,
    http: &HttpService,
    own: Vec<(String, String)>,
    body: String,
    longest: usize,
) -> Result<String, ServiceFailure> {
    let service = Service::of(platform, user, http)?;
    let json = post_to(&service, http.timeout_ms, own, body, longest).await?;
    Ok(service.without_secrets(json).await)
}

/// The same, to a service whose headers hold their secrets already. The response may repeat these secrets.
pub async fn post_to<P: Platform>(
    service: &Service<'_, P>,
    timeout_ms: u64,
    own: Vec<(String, String)>,
    body: String,
    longest: usize,
) -> Result<String, ServiceFailure> {
    let platform = service.platform;
    let exchange = async {
        let response = service.ask(HttpMethod::Post, own, body, &[]).await?;
        match response.status {
            200..=299 => read(response, longest).await,
            status => {
                let retry_after_ms = retry_after_ms(&response, platform.now_ms());
                Err(ServiceFailure::Status { status, retry_after_ms })
            }
        }
    };
    let read = in_time(platform, timeout_ms, exchange).await?;
    if read.len() > CHUNK_BYTES {
        platform.yield_to_others().await;
    }
    json_of(read)
}

/// The JSON text of a body. A byte order mark before it is skipped, as RFC 8259 permits.
fn json_of(body: Vec<u8>) -> Result<String, ServiceFailure> {
    let text = String::from_utf8(body).map_err(|_| ServiceFailure::NotJson)?;
    let marked = text.strip_prefix('\u{feff}');
    match serde_json::from_str::<&RawValue>(marked.unwrap_or(&text)) {
        Ok(json) if json.get().len() < text.len() => Ok(json.get().to_owned()),
        Ok(_) => Ok(text),
        Err(_) => Err(ServiceFailure::NotJson),
    }
}
