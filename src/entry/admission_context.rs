//! What holds for every request that is admitted now: the deployment's settings and the catalog, as
//! the runtime's bindings hold them.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use crate::catalog::{Catalog, CatalogFault};
use crate::contract::{ErrorCode, Fault};
use crate::ports::{Deployment, KeptCatalog, Platform};

/// How long a catalog of the operator's is used before it is read again, in milliseconds. KV itself
/// takes up to a minute to show a change everywhere.
const CATALOG_AGE_MS: u64 = 30_000;

/// What holds for every turn that is admitted now.
#[derive(Clone, Debug)]
pub struct AdmissionContext {
    /// The catalog, or what is wrong with it: what is stored can be seen, replayed and cancelled
    /// without one.
    pub catalog: Result<Rc<Catalog>, Fault>,
    /// The deployment's settings.
    pub deployment: Rc<Deployment>,
    /// Where the client reached the deployment, scheme and authority. An alarm admits nothing.
    pub origin: String,
}

impl AdmissionContext {
    /// The catalog, where nothing can be done without it.
    pub(super) fn catalog(&self) -> Result<&Rc<Catalog>, Fault> {
        self.catalog.as_ref().map_err(Fault::clone)
    }
}

/// Settings and catalog as they were read last: one for all objects of an isolate.
#[derive(Debug, Default)]
pub struct ContextSource {
    deployment: OnceCell<Rc<Deployment>>,
    /// The catalog, and when it has to be read again.
    catalog: RefCell<Option<(u64, Rc<Catalog>)>>,
}

impl ContextSource {
    /// What holds now for a request that reached the deployment at `origin`.
    ///
    /// # Errors
    /// `internal` when a variable is malformed.
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

    /// The deployment's settings. Variables never change within an isolate.
    ///
    /// # Errors
    /// `internal` when a variable is malformed.
    pub(super) fn deployment<P: Platform>(&self, platform: &P) -> Result<Rc<Deployment>, Fault> {
        if let Some(known) = self.deployment.get() {
            return Ok(Rc::clone(known));
        }
        let read = Rc::new(Deployment::from_variables(|name| platform.secret(name))?);
        Ok(Rc::clone(self.deployment.get_or_init(|| read)))
    }

    /// The operator's catalog where there is one, else the built-in one.
    ///
    /// # Errors
    /// `internal` when it cannot be read, `catalog_invalid` with every fault in `Details.Faults`.
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
    Fault::new(ErrorCode::Internal, "The catalog could not be read from the KV namespace CATALOG.")
}

fn invalid(faults: Vec<CatalogFault>) -> Fault {
    let faults = serde_json::to_value(&faults).unwrap_or_default();
    let message = "The catalog in KV is invalid; Details.Faults names every fault.";
    Fault::new(ErrorCode::CatalogInvalid, message).with("Faults", faults)
}
