//! Variables, secrets and other bindings of the deployment.

use wasm_bindgen::JsValue;
use worker::Env;
use worker::js_sys::{JSON, Reflect};

/// A variable or a secret, as text. A variable that is no string in `[vars]` is returned as JSON.
pub(super) fn variable(env: &Env, name: &str) -> Option<String> {
    let value = binding(env, name)?;
    match value.as_string() {
        Some(text) => Some(text),
        // A binding that is no variable, such as a namespace, has the JSON `{}`.
        None => JSON::stringify(&value).ok()?.as_string().filter(|json| json != "{}"),
    }
}

/// The deployment's binding of a name.
pub(super) fn binding(env: &Env, name: &str) -> Option<JsValue> {
    let value = Reflect::get(env.as_ref(), &JsValue::from_str(name)).ok()?;
    (!value.is_undefined() && !value.is_null()).then_some(value)
}
