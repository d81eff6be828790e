//! The deployment's variables and its catalog, as the runtime's bindings hold them.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use worker::Env;

use super::runtime::{now_ms, variable};
use crate::catalog::{Catalog, CatalogFault};
use crate::contract::{ErrorCode, Fault};
use crate::entry::Environment;
use crate::ports::Deployment;

/// How long a catalog from KV is used before it is read again, in milliseconds. KV itself takes up
/// to a minute to show a change everywhere.
const CATALOG_AGE_MS: u64 = 30_000;

thread_local! {
    /// Variables never change within an isolate.
    static DEPLOYMENT: OnceCell<Rc<Deployment>> = const { OnceCell::new() };

    /// One per isolate: every object in it shares the parsed catalog.
    static CATALOG: RefCell<Option<(u64, Rc<Catalog>)>> = const { RefCell::new(None) };
}

/// Reads what holds for every turn that is admitted now; `origin` is where the client reached us.
pub(super) async fn environment(env: &Env, origin: String) -> Result<Environment, Fault> {
    Ok(Environment { catalog: catalog(env).await, deployment: deployment(env)?, origin })
}

/// Reads the deployment's variables.
pub(super) fn deployment(env: &Env) -> Result<Rc<Deployment>, Fault> {
    if let Some(known) = DEPLOYMENT.with(|known| known.get().cloned()) {
        return Ok(known);
    }
    let read = Rc::new(Deployment::from_variables(|name| variable(env, name))?);
    Ok(DEPLOYMENT.with(|known| Rc::clone(known.get_or_init(|| read))))
}

/// Reads the catalog: the one in KV where there is one, else the built-in one.
pub(super) async fn catalog(env: &Env) -> Result<Rc<Catalog>, Fault> {
    let now = now_ms();
    let known = CATALOG.with_borrow(|known| {
        known.as_ref().filter(|(until, _)| now < *until).map(|(_, catalog)| Rc::clone(catalog))
    });
    if let Some(catalog) = known {
        return Ok(catalog);
    }
    let (until, parsed) = match env.kv("CATALOG") {
        Err(_) => (u64::MAX, Catalog::builtin()),
        Ok(kv) => match kv.get("catalog").text().await.map_err(|_| unreadable())? {
            None => (now + CATALOG_AGE_MS, Catalog::builtin()),
            Some(text) => (now + CATALOG_AGE_MS, Catalog::parse(&text)),
        },
    };
    let catalog = Rc::new(parsed.map_err(invalid)?);
    CATALOG.with_borrow_mut(|known| *known = Some((until, Rc::clone(&catalog))));
    Ok(catalog)
}

fn unreadable() -> Fault {
    Fault::new(ErrorCode::Internal, "The catalog could not be read from the KV namespace CATALOG.")
}

fn invalid(faults: Vec<CatalogFault>) -> Fault {
    let faults = serde_json::to_value(&faults).unwrap_or_default();
    Fault::new(
        ErrorCode::CatalogInvalid,
        "The catalog in KV is invalid; Details.Faults names every fault.",
    )
    .with("Faults", faults)
}
