//! Promises as futures.

use worker::js_sys::Promise;
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen::prelude::Closure;
use worker::wasm_bindgen_futures::JsFuture;

use crate::ports::HttpFault;

thread_local! {
    static NOTHING: Closure<dyn FnMut(JsValue)> = Closure::new(|_| ());
}

/// Waits for a promise.
pub(super) async fn settled(promise: &Promise) -> Result<JsValue, JsValue> {
    JsFuture::from(promise.clone()).await
}

/// The runtime's words for the operator's log.
impl From<JsValue> for HttpFault {
    fn from(fault: JsValue) -> Self {
        Self(format!("{fault:?}"))
    }
}

/// Handles a promise's rejection, so that the runtime does not report it.
pub(super) fn ignore(promise: &Promise) {
    let _ = NOTHING.with(|nothing| promise.catch(nothing));
}
