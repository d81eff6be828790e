//! The runtime's tracing, by `tracing.js`.

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(module = "/src/platform/bindings/tracing.js")]
extern "C" {
    pub(crate) type OpenSpan;

    #[wasm_bindgen(js_name = openSpan)]
    pub(crate) fn open_span(name: &str) -> Option<OpenSpan>;

    #[wasm_bindgen(method, js_name = set)]
    pub(crate) fn set_text(this: &OpenSpan, name: &str, value: &str);

    #[wasm_bindgen(method, js_name = set)]
    pub(crate) fn set_number(this: &OpenSpan, name: &str, value: f64);

    #[wasm_bindgen(method, js_name = set)]
    pub(crate) fn set_flag(this: &OpenSpan, name: &str, value: bool);

    #[wasm_bindgen(method)]
    pub(crate) fn run(this: &OpenSpan, work: &mut dyn FnMut());

    #[wasm_bindgen(method)]
    pub(crate) fn context(this: &OpenSpan) -> Option<String>;

    #[wasm_bindgen(method)]
    pub(crate) fn end(this: &OpenSpan);

    pub(crate) type Place;

    pub(crate) fn here() -> Option<Place>;

    #[wasm_bindgen(method, js_name = run)]
    pub(crate) fn run_there(this: &Place, work: &mut dyn FnMut());
}
