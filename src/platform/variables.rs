//! Variables, secrets and other bindings of the deployment. What the variables say of tenants is read once for the isolate.

use std::cell::OnceCell;
use std::rc::Rc;

use wasm_bindgen::JsValue;
use worker::Env;
use worker::js_sys::{JSON, Reflect};

use crate::contract::Result;
use crate::identity::Tenants;

thread_local! {
    /// Variables never change within an isolate.
    static TENANTS: OnceCell<Rc<Result<Tenants>>> = const { OnceCell::new() };
}

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

/// What the operator says of tenants.
pub(super) fn tenants(env: &Env) -> Rc<Result<Tenants>> {
    let read = || Rc::new(Tenants::from_variables(&|name| variable(env, name)));
    TENANTS.with(|known| Rc::clone(known.get_or_init(read)))
}
