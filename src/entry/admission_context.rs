//! The settings and the catalog that a request is admitted under.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use crate::catalog::{Catalog, CatalogFault};
use crate::contract::{ErrorCode, Fault};
use crate::ports::{Deployment, KeptCatalog, Platform};

/// The time until the operator's catalog is read again, in milliseconds. KV itself takes up to a minute
/// to show a change everywhere.
const CATALOG_AGE_MS: u64 = 30_000;

/// The settings and the catalog that a request is admitted under.
#[derive(Clone, Debug)]
pub struct AdmissionContext {
    /// The catalog, or its fault. Stored turns can be shown, replayed and cancelled without one.
    pub catalog: Result<Rc<Catalog>, Fault>,
    /// The deployment's settings.
    pub deployment: Rc<Deployment>,
    /// Scheme and authority under which the client reached the deployment; empty for an alarm.
    pub origin: String,
}

impl AdmissionContext {
    /// The catalog, for what cannot be done without one.
    pub(super) fn catalog(&self) -> Result<&Rc<Catalog>, Fault> {
        self.catalog.as_ref().map_err(Fault::clone)
    }
}

/// The settings and the catalog as they were last read. All objects of an isolate share one.
#[derive(Debug, Default)]
pub struct ContextSource {
    deployment: OnceCell<Rc<Deployment>>,
    /// The time from which the catalog has to be read again, and the catalog.
    catalog: RefCell<Option<(u64, Rc<Catalog>)>>,
}

impl ContextSource {
    /// The context of a request that reached the deployment at `origin`.
    pub(super) async fn context<P: Platform>(
        &self,
        platform: &P,
        origin: &str,
    ) -> Result<AdmissionContext, Fault> {
        Ok(AdmissionContext {
            catalog: self.catalog(platform).await,
            deployment: self.deployment(platform)?,
            origin: origin.to_owned(),
        })
    }

    /// The deployment's settings; `internal` when a variable is malformed. Variables never change within
    /// an isolate.
    pub(super) fn deployment<P: Platform>(&self, platform: &P) -> Result<Rc<Deployment>, Fault> {
        if let Some(known) = self.deployment.get() {
            return Ok(Rc::clone(known));
        }
        let read = Rc::new(Deployment::from_variables(|name| platform.secret(name))?);
        Ok(Rc::clone(self.deployment.get_or_init(|| read)))
    }

    /// The operator's catalog, or the built-in one where KV holds none. Fails with `internal` when KV
    /// fails, with `catalog_invalid` and every fault in `Details.Faults` when the catalog is invalid.
    pub(super) async fn catalog<P: Platform>(&self, platform: &P) -> Result<Rc<Catalog>, Fault> {
        let now = platform.now_ms();
        if let Some((until, known)) = self.catalog.borrow().as_ref()
            && now < *until
        {
            return Ok(Rc::clone(known));
        }
        let (until, parsed) = match platform.kept_catalog().await.map_err(|_| unreadable())? {
            KeptCatalog::NoPlace => (u64::MAX, Catalog::builtin()),
            KeptCatalog::Absent => (now + CATALOG_AGE_MS, Catalog::builtin()),
            KeptCatalog::Document(text) => (now + CATALOG_AGE_MS, Catalog::parse(&text)),
        };
        let catalog = Rc::new(parsed.map_err(invalid)?);
        self.catalog.replace(Some((until, Rc::clone(&catalog))));
        Ok(catalog)
    }
}

fn unreadable() -> Fault {
    Fault::internal("The catalog could not be read from the KV namespace CATALOG.")
}

fn invalid(faults: Vec<CatalogFault>) -> Fault {
    let faults = serde_json::to_value(&faults).unwrap_or_default();
    let message = "The catalog in KV is invalid; Details.Faults names every fault.";
    Fault::new(ErrorCode::CatalogInvalid, message).with("Faults", faults)
}
