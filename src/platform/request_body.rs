//! The body of a request, up to its cap: what is too large is refused before it is held in memory.

use worker::js_sys::Uint8Array;
use worker::wasm_bindgen::JsValue;
use worker::web_sys::{Headers, Request};

use super::byte_stream::ByteReader;
use super::promise::settled;
use crate::contract::{ErrorCode, Fault};

/// Reads a JSON body of at most `cap` bytes.
///
/// # Errors
/// `unsupported_media_type`, `body_too_large`; `malformed_json` for a body that breaks off.
pub(super) async fn read_body(
    request: &Request,
    headers: &Headers,
    cap: usize,
) -> Result<Uint8Array, Fault> {
    let header = |name: &str| headers.get(name).ok().flatten();
    if let Some(kind) = header("Content-Type") {
        let kind = kind.split(';').next().unwrap_or(&kind).trim().to_ascii_lowercase();
        if kind != "application/json" && !kind.ends_with("+json") {
            return Err(unsupported("Send the request as Content-Type: application/json."));
        }
    }
    if header("Content-Encoding").is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity"))
    {
        return Err(unsupported("Send the request without Content-Encoding."));
    }
    match header("Content-Length").and_then(|length| length.parse::<usize>().ok()) {
        Some(length) if length > cap => Err(too_large(cap)),
        // The runtime holds a body to its announced length.
        Some(_) => whole_body(request).await.map_err(|_| unreadable()),
        None => {
            let mut body = Vec::new();
            if let Some(stream) = request.body() {
                let mut reader = ByteReader::new(&stream).map_err(|_| unreadable())?;
                while let Some(chunk) = reader.read(cap).await.map_err(|_| unreadable())? {
                    if body.len() + chunk.len() > cap {
                        return Err(too_large(cap));
                    }
                    body.extend_from_slice(&chunk);
                }
            }
            Ok(Uint8Array::from(body.as_slice()))
        }
    }
}

/// A body as it is, whatever its size.
pub(super) async fn whole_body(request: &Request) -> Result<Uint8Array, JsValue> {
    settled(&request.array_buffer()?).await.map(|whole| Uint8Array::new(&whole))
}

fn unsupported(remedy: &str) -> Fault {
    Fault::new(ErrorCode::UnsupportedMediaType, remedy)
}

fn too_large(cap: usize) -> Fault {
    Fault::new(ErrorCode::BodyTooLarge, format!("The body may be {cap} bytes long. Send less."))
        .with("MaxBytes", cap)
}

fn unreadable() -> Fault {
    Fault::new(
        ErrorCode::MalformedJson,
        "The body could not be read to its end. Send the request again.",
    )
}
