//! The console, which takes one text.

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = log)]
    pub(crate) fn console_log(line: &str);

    #[wasm_bindgen(js_namespace = console, js_name = warn)]
    pub(crate) fn console_warn(line: &str);

    #[wasm_bindgen(js_namespace = console, js_name = error)]
    pub(crate) fn console_error(line: &str);
}
