//! `writeDataPoint` of a data set of Workers Analytics Engine.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    pub(crate) type DataSet;

    #[wasm_bindgen(method, catch, js_name = writeDataPoint)]
    pub(crate) fn write_data_point(this: &DataSet, point: &JsValue) -> Result<(), JsValue>;
}
