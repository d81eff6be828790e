//! The settings and the catalog that a request is admitted under.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use super::metering::Metering;
use super::request_id::RequestId;
use super::residence::refuse_elsewhere;
use crate::catalog::{AgentContext, Catalog, CatalogFault};
use crate::contract::{CatalogStamp, ErrorCode, Fault, Result, TraceContext};
use crate::encoding::{Jurisdiction, sha256_hex};
use crate::mcp::ToolListCache;
use crate::persistence::Session;
use crate::ports::{Deployment, OperatorCatalog, Platform};
use crate::reasoner::RestingServices;

/// The time until the operator's catalog is read again, in milliseconds. KV itself takes up to a minute
/// to show a change everywhere.
const CATALOG_AGE_MS: u64 = 30_000;

/// The length of what names a catalog: two documents of one operator never share as many digits.
const STAMP_DIGITS: usize = 16;

/// The settings and the catalog that a request is admitted under.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// The catalog, or its fault. Stored turns can be shown, replayed and cancelled without one.
    pub catalog: Result<Rc<Catalog>>,
    /// What names it in the records of turns; empty while nothing could be read.
    pub stamp: Rc<CatalogStamp>,
    pub deployment: Rc<Deployment>,
    /// Where links to files begin: `PUBLIC_URL`, else scheme and authority under which the client
    /// reached the deployment; empty for an alarm.
    pub origin: String,
    /// The id of the client's request; `None` for an alarm and for a question of another object.
    pub request_id: Option<RequestId>,
    /// Where the client's request stands in its trace.
    pub trace: Option<TraceContext>,
    /// The tenant's jurisdiction, if it has one.
    pub(super) jurisdiction: Option<Jurisdiction>,
    /// Shared by all objects of the isolate, as is what follows.
    pub(super) metering: Rc<Metering>,
    /// The model services that rest.
    pub(super) resting: Rc<RestingServices>,
}

impl RequestContext {
    /// The catalog, or the fault for which there is none.
    pub(super) fn catalog(&self) -> Result<&Rc<Catalog>> {
        self.catalog.as_ref().map_err(Fault::clone)
    }

    /// The model that a turn of a session calls. `service` is the agent context that the turn has fallen back to.
    pub(super) fn model_of(&self, session: &Session, service: Option<&str>) -> &str {
        let catalog = self.catalog.as_ref().ok();
        let agent = |id: &str| catalog.and_then(|catalog| catalog.agent_context(id));
        let conversation =
            catalog.and_then(|catalog| catalog.conversation_context(&session.conversation_context));
        let of_conversation = conversation.and_then(|known| known.model.as_deref());
        let named = match service.and_then(agent) {
            // The conversation context's names one of the first service.
            Some(service) => service.model.as_deref(),
            None => of_conversation.or_else(|| agent(&session.agent_context)?.model.as_deref()),
        };
        named.unwrap_or(&self.deployment.model)
    }

    /// The base URL of the model service that its agent context names.
    pub(super) fn base_url_of(&self, session: &Session) -> &str {
        let catalog = self.catalog.as_ref().ok();
        let agent = catalog.and_then(|catalog| catalog.agent_context(&session.agent_context));
        agent.and_then(|known| known.base_url.as_deref()).unwrap_or(&self.deployment.base_url)
    }

    /// Whether the services of an agent context are in the tenant's jurisdiction, where it has one.
    pub(super) fn refuse_elsewhere(&self, agent: &AgentContext) -> Result<()> {
        let catalog = self.catalog()?;
        refuse_elsewhere(self.jurisdiction, |needed| catalog.resides(agent, needed))
    }

    /// Whether a turn of the session can go on: `catalog_invalid` without a catalog, `context_not_found`
    /// when the catalog has lost a context that the session is bound to, or says no more that its services are in the
    /// tenant's jurisdiction. A turn that cannot go on waits for the operator.
    pub(super) fn contexts_of(&self, session: &Session) -> Result<()> {
        let catalog = self.catalog()?;
        let (agent, conversation) = (&session.agent_context, &session.conversation_context);
        let known = catalog.agent_context(agent);
        let (kind, id) = match known {
            None => ("AgentContext", agent),
            Some(_) if catalog.conversation_context(conversation).is_none() => {
                ("ConversationContext", conversation)
            }
            Some(known) => return self.refuse_elsewhere(known),
        };
        let message = format!(
            "The turn or its session is bound to the {kind} {id}, which the catalog no longer has, or only with an Instead. Nothing was changed: when the operator has put it back, the same request goes on."
        );
        Err(Fault::new(ErrorCode::ContextNotFound, message))
    }
}

/// The settings and the catalog as they were last read. All objects of an isolate share one.
#[derive(Debug, Default)]
pub struct IsolateSettings {
    pub(super) tool_lists: ToolListCache,
    metering: Rc<Metering>,
    resting: Rc<RestingServices>,
    deployment: OnceCell<Rc<Deployment>>,
    catalog: RefCell<Option<ReadCatalog>>,
}

/// The catalog as it was last read. An invalid catalog is kept as well, because finding its faults costs
/// the most.
#[derive(Clone, Debug)]
struct ReadCatalog {
    /// When it was read, in milliseconds since the epoch; `None` where it is never read again.
    read_at: Option<u64>,
    /// SHA-256 of the document.
    document: String,
    catalog: Result<Rc<Catalog>>,
    stamp: Rc<CatalogStamp>,
}

impl ReadCatalog {
    /// Reads a document, of which this is the SHA-256.
    fn of(text: &str, document: String) -> Self {
        let catalog = Catalog::parse(text).map(Rc::new).map_err(invalid);
        let stamp = CatalogStamp {
            sha256: document.chars().take(STAMP_DIGITS).collect(),
            version: catalog.as_ref().ok().and_then(|catalog| catalog.version.clone()),
        };
        Self { read_at: None, document, catalog, stamp: Rc::new(stamp) }
    }
}

impl IsolateSettings {
    /// The context of a request of that id, which reached the deployment at `origin`.
    pub(super) async fn context<P: Platform>(
        &self,
        platform: &P,
        origin: &str,
        request_id: Option<RequestId>,
    ) -> Result<RequestContext> {
        let deployment = self.deployment(platform)?;
        // The client chooses the header `Host`, and so the origin of its request.
        let origin = deployment.public_url.as_deref().unwrap_or(origin).to_owned();
        let (catalog, stamp) = match self.read_catalog(platform).await {
            Ok(ReadCatalog { catalog, stamp, .. }) => (catalog, stamp),
            Err(fault) => (Err(fault), Rc::default()),
        };
        Ok(RequestContext {
            catalog,
            stamp,
            deployment,
            origin,
            request_id,
            trace: None,
            jurisdiction: platform.jurisdiction(),
            metering: Rc::clone(&self.metering),
            resting: Rc::clone(&self.resting),
        })
    }

    /// The deployment's settings; `internal` when a variable is malformed. Variables never change within
    /// an isolate.
    pub(super) fn deployment<P: Platform>(&self, platform: &P) -> Result<Rc<Deployment>> {
        if let Some(known) = self.deployment.get() {
            return Ok(Rc::clone(known));
        }
        let read = Rc::new(Deployment::from_variables(&|name| platform.secret(name))?);
        Ok(Rc::clone(self.deployment.get_or_init(|| read)))
    }

    /// `TURN_ALARM_MS`: the time after which an object looks again at what it has to do. Its default where a variable is
    /// malformed, which must not cost a running turn its alarm.
    pub(super) fn alarm_interval_ms<P: Platform>(&self, platform: &P) -> u64 {
        self.deployment(platform).unwrap_or_default().turn_alarm_ms
    }

    /// How long an identity provider's keys serve when the provider fails, in milliseconds: not at all where a variable
    /// is malformed.
    pub fn jwks_stale_ms<P: Platform>(&self, platform: &P) -> u64 {
        self.deployment(platform)
            .map_or(0, |deployment| deployment.jwks_stale_s.saturating_mul(1000))
    }

    /// The operator's catalog, or the built-in one where KV holds none; while KV fails, the one that was read last. Fails
    /// with `internal` when KV fails before one was read, with `catalog_invalid` and the first faults in
    /// `Details.Faults` when the catalog is invalid. A document that has not changed is not parsed again.
    pub async fn catalog<P: Platform>(&self, platform: &P) -> Result<Rc<Catalog>> {
        self.read_catalog(platform).await?.catalog
    }

    async fn read_catalog<P: Platform>(&self, platform: &P) -> Result<ReadCatalog> {
        let now = platform.now_ms();
        if let Some(known) = self.catalog.borrow().as_ref()
            && known.read_at.is_none_or(|at| (at..at + CATALOG_AGE_MS).contains(&now))
        {
            return Ok(known.clone());
        }
        let (read_at, text) = match platform.operator_catalog().await {
            Ok(OperatorCatalog::NoNamespace) => (None, None),
            Ok(OperatorCatalog::Absent) => (Some(now), None),
            Ok(OperatorCatalog::Document(text)) => (Some(now), Some(text)),
            // KV fails for a moment or for hours, and what was read last is mostly what it still holds.
            Err(_) => {
                let mut known = self.catalog.borrow_mut();
                let known = known.as_mut().ok_or_else(kv_failed)?;
                known.read_at = Some(now);
                return Ok(known.clone());
            }
        };
        let text = text.as_deref().unwrap_or(Catalog::BUILTIN);
        let document = sha256_hex(text.as_bytes());
        let known = self.catalog.take().filter(|known| known.document == document);
        let read = known.unwrap_or_else(|| ReadCatalog::of(text, document));
        let read = ReadCatalog { read_at, ..read };
        self.catalog.replace(Some(read.clone()));
        Ok(read)
    }
}

fn kv_failed() -> Fault {
    Fault::internal("The catalog could not be read from the KV namespace CATALOG.")
}

fn invalid(faults: Vec<CatalogFault>) -> Fault {
    let faults = serde_json::to_value(&faults).unwrap_or_default();
    let message = "The catalog in KV is invalid; Details.Faults names its faults.";
    Fault::new(ErrorCode::CatalogInvalid, message).with("Faults", faults)
}
