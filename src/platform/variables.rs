//! Variables and secrets, as the deployment's bindings hold them.

use worker::Env;
use worker::js_sys::{JSON, Reflect};
use worker::wasm_bindgen::JsValue;

/// A variable or a secret, as text. A variable that is no text in `[vars]` is given as its JSON.
pub(super) fn variable(env: &Env, name: &str) -> Option<String> {
    let value = binding(env, name)?;
    match value.as_string() {
        Some(text) => Some(text),
        // A namespace or a service, which other names are bound to, has no JSON of its own.
        None => JSON::stringify(&value).ok()?.as_string().filter(|json| json != "{}"),
    }
}

/// Whatever the deployment binds to a name.
pub(super) fn binding(env: &Env, name: &str) -> Option<JsValue> {
    let value = Reflect::get(env.as_ref(), &JsValue::from_str(name)).ok()?;
    (!value.is_undefined() && !value.is_null()).then_some(value)
}
