//! The findings in a catalog document: its first faults, in an operator's words and in document order,
//! and the secrets that it names.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;

use serde::Serialize;

use super::names::{quoted, shortened};
use super::secret_template::USER;
use crate::json::{Kind, NearestName, Node, Problem, Problems, for_each_member};

/// The most faults that are listed before the note on the rest: a report must not grow with the
/// document.
const MOST_FAULTS: usize = 100;

/// The longest message, in characters.
const LONGEST_MESSAGE: usize = 1_000;

/// The longest path, in bytes.
const LONGEST_PATH: usize = 1_000;

/// The product's own secrets, besides those that continue `API_KEYS`: no service gets them.
const OWN_SECRETS: [&str; 3] = ["API_KEYS", "FILE_LINK_KEY", "TICKET_KEYS"];

/// One thing wrong with a catalog document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}: {message}", if .path.is_empty() { "the catalog" } else { .path.as_str() })]
#[serde(rename_all = "PascalCase")]
pub struct CatalogFault {
    /// JSON Pointer (RFC 6901) into the document; empty for the document itself. For a missing member
    /// it is the place where the member would stand, for a place with a very long path one above it.
    pub path: String,
    /// The fault and its remedy, for the operator.
    pub message: String,
}

/// Who gets a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recipient {
    /// A model service, as its key or in a header.
    ModelService,
    /// A service of the operator's: a tool, a search.
    OtherService,
    /// A webhook, in a header.
    Webhook,
    /// Nobody: it signs the messages of webhooks.
    Signature,
}

/// A secret that a catalog names. Its value is never in a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededSecret {
    pub name: String,
    /// JSON Pointer (RFC 6901) to the value that names it, or to a place above it, as in a fault.
    pub path: String,
}

/// The names that a document declares. A declaration with other faults counts, too, so that one mistake is reported once.
#[derive(Debug, Default)]
pub(super) struct DeclaredNames {
    pub(super) agent_contexts: Vec<String>,
    /// The agent contexts that name a model.
    pub(super) contexts_with_model: Vec<String>,
    pub(super) conversation_contexts: Vec<String>,
    /// The conversation contexts that have an `Instead`.
    pub(super) replaced_contexts: Vec<String>,
    pub(super) modes: Vec<String>,
    /// Server tools and built-in tools.
    pub(super) tools: Vec<String>,
    /// The keys of MCP servers.
    pub(super) mcp_servers: Vec<String>,
    pub(super) webhooks: Vec<String>,
}

/// What the readers have found in a document so far.
#[derive(Default)]
pub(super) struct Findings {
    /// The first ones in document order, each with the position of what is wrong.
    faults: Vec<(usize, CatalogFault)>,
    /// How many there are, those included that are not kept.
    fault_count: usize,
    secrets: Vec<(Recipient, usize, NeededSecret)>,
    /// The positions of values whose member is repeated, in document order.
    repeated: Vec<usize>,
    declared: Rc<DeclaredNames>,
}

/// The texts of a list, each of which may stand there once.
pub(super) type Seen<'d> = BTreeSet<Cow<'d, str>>;

impl Findings {
    /// Starts with the repeated members of all objects in the document, and the names that it declares.
    pub(super) fn of(document: Node<'_, '_>, declared: DeclaredNames) -> Self {
        let mut findings = Self { declared: declared.into(), ..Self::default() };
        findings.refuse_repeated_members(document);
        findings
    }

    /// The names that the document declares.
    pub(super) fn declared(&self) -> Rc<DeclaredNames> {
        Rc::clone(&self.declared)
    }

    /// Records that a value is wrong. The message says what it must be.
    pub(super) fn fault(&mut self, at: Node<'_, '_>, message: impl Into<String>) {
        self.record(position(at), || pointer(at), message);
    }

    fn record(
        &mut self,
        position: usize,
        path: impl FnOnce() -> String,
        message: impl Into<String>,
    ) {
        self.fault_count += 1;
        let place = self.faults.partition_point(|(other, _)| *other <= position);
        if place < MOST_FAULTS {
            let message = shortened(&message.into(), LONGEST_MESSAGE);
            self.faults.insert(place, (position, CatalogFault { path: path(), message }));
            self.faults.truncate(MOST_FAULTS);
        }
    }

    /// Whether an earlier member of the same object has the same name.
    fn is_repeated(&self, member: Node<'_, '_>) -> bool {
        self.repeated.binary_search(&position(member)).is_ok()
    }

    /// Records a text that an earlier value of its list already holds. Messages call it `kind`.
    pub(super) fn unique<'d>(&mut self, node: Node<'d, '_>, kind: &str, seen: &mut Seen<'d>) {
        if let Some(text) = node.as_text().and_then(|text| seen.replace(text)) {
            self.fault(node, format!("the {kind} {} is already taken above", quoted(&text)));
        }
    }

    /// Records that a value names a secret, and who gets it.
    pub(super) fn secret(&mut self, at: Node<'_, '_>, name: &str, recipient: Recipient) {
        if OWN_SECRETS.contains(&name) || name.starts_with("API_KEYS_") {
            let problem = "is the product's own and goes to no service; name another one";
            return self.fault(at, format!("the secret {name} {problem}"));
        }
        if name == USER {
            let problem =
                "no secret is called USER, which stands for the user in headers; name another one";
            return self.fault(at, problem);
        }
        let secret = NeededSecret { name: name.to_owned(), path: pointer(at) };
        self.secrets.push((recipient, position(at), secret));
    }

    /// Refuses a model service's key where another service would get it, a service's secret where a webhook would,
    /// and a signing secret in every other use.
    fn keep_secrets_apart(&mut self) {
        let secrets = std::mem::take(&mut self.secrets);
        let names = |wanted| {
            let of = secrets.iter().filter(move |(recipient, ..)| *recipient == wanted);
            of.map(|(.., secret)| secret.name.as_str()).collect::<BTreeSet<_>>()
        };
        let (keys, services) = (names(Recipient::ModelService), names(Recipient::OtherService));
        let signing = names(Recipient::Signature);
        for (recipient, position, NeededSecret { name, path }) in &secrets {
            let is_in = |names: &BTreeSet<&str>| names.contains(name.as_str());
            let problem = match recipient {
                Recipient::ModelService | Recipient::OtherService | Recipient::Webhook
                    if is_in(&signing) =>
                {
                    "signs the messages of a webhook, and is for nothing else; \
                     give this one a secret of its own"
                }
                Recipient::OtherService | Recipient::Webhook if is_in(&keys) => {
                    "goes to a model service (by ApiKeySecret or Headers) and to no other one; \
                     give this one a secret of its own"
                }
                Recipient::Webhook if is_in(&services) => {
                    "goes to a tool or a search, and to no webhook; \
                     give this one a secret of its own"
                }
                Recipient::ModelService
                | Recipient::OtherService
                | Recipient::Webhook
                | Recipient::Signature => continue,
            };
            self.record(*position, || path.clone(), format!("the secret {name} {problem}"));
        }
        self.secrets = secrets;
    }

    /// The first faults in document order, an object's own before those of its members, with a note on
    /// the rest, and all secrets.
    pub(super) fn in_document_order(mut self) -> (Vec<CatalogFault>, Vec<NeededSecret>) {
        self.keep_secrets_apart();
        let rest = self.fault_count - self.faults.len();
        let mut faults: Vec<CatalogFault> =
            self.faults.into_iter().map(|(_, fault)| fault).collect();
        if rest > 0 {
            let message =
                format!("has {rest} more faults than the {MOST_FAULTS} listed; mend these first");
            faults.push(CatalogFault { path: String::new(), message });
        }
        (faults, self.secrets.into_iter().map(|(.., secret)| secret).collect())
    }

    fn refuse_repeated_members(&mut self, node: Node<'_, '_>) {
        match node.kind() {
            Kind::Object => {
                let mut seen = BTreeSet::new();
                // The object's reader reports a name that is not valid Unicode.
                let _ = for_each_member(node.json, |name, json| {
                    let member = node.member(&name, json);
                    if seen.contains(&name) {
                        self.repeated.push(position(member));
                        let shown = quoted(&name);
                        self.fault(member, format!("the member {shown} is repeated; keep one"));
                    }
                    self.refuse_repeated_members(member);
                    seen.insert(name);
                });
            }
            Kind::Array => {
                node.elements(self, |node, findings| findings.refuse_repeated_members(node));
            }
            _ => {}
        }
    }
}

impl Problems for Findings {
    const NULL_IS_ABSENT: bool = false;

    fn add(&mut self, at: Node<'_, '_>, problem: Problem<'_>) {
        match problem {
            // `Findings::of` has reported every repeated member already.
            Problem::Repeated => {}
            Problem::Unknown { .. } if self.is_repeated(at) => {}
            Problem::Unknown { name, nearest, known } => {
                let remedy = match nearest {
                    Some(NearestName { name, is_likely: true }) => {
                        format!("did you mean {name:?}?")
                    }
                    _ => format!("the members here are {}", known.join(", ")),
                };
                self.fault(at, format!("unknown member {}; {remedy}", quoted(name)));
            }
            Problem::Missing(name) => {
                // At the position of its object, and at the place of the member.
                let absent = at.member(name, at.json);
                self.fault(absent, format!("the member {name:?} is missing; add it"));
            }
            Problem::WrongKind(wanted) => {
                self.fault(at, format!("must be {wanted}, not {}", at.kind().with_article()));
            }
            Problem::Forbidden(problem) | Problem::Invalid(problem) => self.fault(at, problem),
        }
    }
}

/// All values are slices of the document's text, so their addresses are their positions in it.
fn position(node: Node<'_, '_>) -> usize {
    node.json.as_ptr().addr()
}

/// A place as a JSON Pointer, with whole names; the nearest place above it where that is too long.
fn pointer(node: Node<'_, '_>) -> String {
    let mut pointer = node.place.location(usize::MAX).pointer;
    if pointer.len() > LONGEST_PATH {
        pointer.truncate(pointer.floor_char_boundary(LONGEST_PATH));
        pointer.truncate(pointer.rfind('/').unwrap_or_default());
    }
    pointer
}
