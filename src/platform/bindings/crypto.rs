//! `crypto.subtle`: the import of a public key, and the check of a signature.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::Promise;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = importKey)]
    pub(crate) fn import_key(
        format: &str,
        key: &JsValue,
        algorithm: &JsValue,
        is_extractable: bool,
        uses: &JsValue,
    ) -> Result<Promise, JsValue>;

    /// The runtime has read the bytes when this returns.
    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = verify)]
    pub(crate) fn verify(
        algorithm: &JsValue,
        key: &JsValue,
        signature: &[u8],
        signed: &[u8],
    ) -> Result<Promise, JsValue>;
}
