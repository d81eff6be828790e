//! An export as the answer's body, piece by piece through a native stream with awaited writes.

use worker::js_sys::Uint8Array;
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen_futures::spawn_local;
use worker::web_sys::WritableStreamDefaultWriter;
use worker::{Response, ResponseBuilder};

use super::answer::json_headers;
use super::event_stream::IdentityTransformStream;
use super::promise::settled;
use crate::entry::Export;
use crate::ports::Database;

/// A response that is the whole export, or visibly broken off.
pub(super) fn export_stream<D: Database + 'static>(export: Export<D>) -> worker::Result<Response> {
    let pipe = IdentityTransformStream::new().map_err(worker::Error::from)?;
    let writer = pipe.writable().get_writer().map_err(worker::Error::from)?;
    spawn_local(send(export, writer));
    Ok(ResponseBuilder::new().with_headers(json_headers()?).stream(pipe.readable()))
}

async fn send<D: Database>(mut export: Export<D>, writer: WritableStreamDefaultWriter) {
    loop {
        let done = match export.piece() {
            Ok(Some(piece)) => {
                let bytes = Uint8Array::from(piece.as_bytes());
                if settled(&writer.write_with_chunk(&bytes)).await.is_err() {
                    return;
                }
                continue;
            }
            Ok(None) => writer.close(),
            // What was sent is no whole document, and must not look like one.
            Err(fault) => writer.abort_with_reason(&JsValue::from_str(fault.code.as_str())),
        };
        // Whether anyone still reads does not matter here.
        let _ = settled(&done).await;
        return;
    }
}
