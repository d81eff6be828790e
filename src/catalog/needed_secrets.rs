//! Which secrets a catalog document names, and where: what an operator has to set before it serves.
//!
//! It looks at the document as it was written, so that the answer is there beside the faults of a
//! wrong one. It knows names only; no value of a secret is ever in a catalog. What is malformed is
//! left out: [`super::Catalog::parse`] names it.

use super::faults::pointer;
use super::names::is_secret_name;
use super::secret_template::SecretTemplate;
use crate::json::{Node, check, for_each_element, for_each_member};

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
    let mut needed = Vec::new();
    if check(text).is_err() {
        return needed;
    }
    let root = Node::root(text);
    // What is of another kind names no secret, and is a fault for the whole check to name.
    if let Some(contexts) = root.find("AgentContexts") {
        let _ = for_each_member(contexts.json, |id, json| {
            let context = contexts.member(&id, json);
            if let Some(key) = context.find("ApiKeySecret")
                && let Some(name) = key.as_text().filter(|name| is_secret_name(name))
            {
                needed.push(named(&name, key));
            }
            if let Some(retrieval) = context.find("Retrieval") {
                headers(retrieval, &mut needed);
            }
        });
    }
    if let Some(tools) = root.find("ServerTools") {
        let mut index = 0;
        let _ = for_each_element(tools.json, |json| {
            headers(tools.element(index, json), &mut needed);
            index += 1;
        });
    }
    needed
}

/// The secrets in `Http.Headers` of an object that may have them.
fn headers(object: Node<'_, '_>, needed: &mut Vec<NeededSecret>) {
    let Some(http) = object.find("Http") else { return };
    let Some(headers) = http.find("Headers") else { return };
    let _ = for_each_member(headers.json, |name, json| {
        let value = headers.member(&name, json);
        let template = value.as_text().map(|text| SecretTemplate::parse(&text));
        if let Some(Ok(template)) = template {
            needed.extend(template.secrets().map(|name| named(name, value)));
        }
    });
}

fn named(name: &str, at: Node<'_, '_>) -> NeededSecret {
    NeededSecret { name: name.to_owned(), path: pointer(&at.place) }
}
