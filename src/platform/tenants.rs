//! The deployment's variables on tenants as `identity::Tenants`, read once for the isolate.

use std::cell::OnceCell;
use std::rc::Rc;

use worker::Env;

use super::variables::variable;
use crate::contract::Result;
use crate::identity::Tenants;

thread_local! {
    /// Variables never change within an isolate.
    static TENANTS: OnceCell<Rc<Result<Tenants>>> = const { OnceCell::new() };
}

/// What the operator says of tenants.
pub(super) fn tenants(env: &Env) -> Rc<Result<Tenants>> {
    let read = || Rc::new(Tenants::from_variables(&|name| variable(env, name)));
    TENANTS.with(|known| Rc::clone(known.get_or_init(read)))
}
