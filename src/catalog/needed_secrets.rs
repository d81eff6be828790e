//! Which secrets a catalog document names, and where: what an operator has to set before it serves.
//!
//! It looks at the document as it was written, so that the answer is there beside the faults of a
//! wrong one. It knows names only; no value of a secret is ever in a catalog. What is malformed is
//! left out: [`super::Catalog::parse`] names it.

use super::SecretTemplate;
use super::document::Node;
use super::names::is_secret_name;
use super::place::{Faults, Place};

/// A secret that a catalog names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededSecret {
    /// The secret's name.
    pub name: String,
    /// Where it is named: a JSON Pointer (RFC 6901) into the document.
    pub path: String,
}

/// Every naming of a secret in a document, in document order within each of its lists; none in what
/// is not JSON.
#[must_use]
pub fn needed_secrets(text: &str) -> Vec<NeededSecret> {
    let Ok(document) = Node::parse(text) else {
        return Vec::new();
    };
    // Only for the places: faults are for the whole check to name.
    let unread = Faults::default();
    let root = Place::root(&document, &unread);
    let mut needed = Vec::new();
    for (_, context) in entries(root.member("AgentContexts")) {
        if let Some(key) = context.member("ApiKeySecret")
            && let Some(name) = key.node.as_text().filter(|name| is_secret_name(name))
        {
            needed.push(NeededSecret { name: name.to_owned(), path: key.pointer().to_owned() });
        }
        let retrieval = context.member("Retrieval");
        headers(retrieval.and_then(|retrieval| retrieval.member("Http")), &mut needed);
    }
    for tool in root.member("ServerTools").and_then(|tools| tools.items()).unwrap_or_default() {
        headers(tool.member("Http"), &mut needed);
    }
    needed
}

fn headers(http: Option<Place<'_>>, needed: &mut Vec<NeededSecret>) {
    for (_, value) in entries(http.and_then(|http| http.member("Headers"))) {
        let template = value.node.as_text().map(SecretTemplate::parse);
        if let Some(Ok(template)) = template {
            let path = value.pointer();
            let named = |name: &str| NeededSecret { name: name.to_owned(), path: path.to_owned() };
            needed.extend(template.secrets().map(named));
        }
    }
}

fn entries<'d>(place: Option<Place<'d>>) -> Vec<(&'d str, Place<'d>)> {
    place.and_then(|place| place.entries()).unwrap_or_default()
}
