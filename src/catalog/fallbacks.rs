//! `Fallbacks` of an agent context (interface §6): the agent contexts whose services take calls over, in order. Who may
//! be one depends on the whole document, so that is checked when all of it was read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::definitions::{AgentContext, Catalog};
use super::findings::Findings;
use super::names::quoted;
use super::values::{each_once, undeclared_problem};
use crate::json::{Node, for_each_element, for_each_member};

/// A turn that has asked so many services in vain is not helped by another one.
const MOST: usize = 3;

impl Catalog {
    /// The agent contexts whose services the sessions of one call, with their ids: itself, and behind it its fall-backs in
    /// their order. Empty where the catalog lacks it.
    pub fn services(&self, id: &str) -> Vec<(&str, &AgentContext)> {
        let named = |id: &str| self.agent_contexts.get_key_value(id);
        let Some((id, own)) = named(id) else { return Vec::new() };
        let fallbacks = own.fallbacks.iter().filter_map(|id| named(id));
        let services = [(id, own)].into_iter().chain(fallbacks);
        services.map(|(id, agent)| (id.as_str(), agent)).collect()
    }
}

/// Reads the names, each once.
pub(super) fn fallbacks(node: Node<'_, '_>, findings: &mut Findings) -> Vec<String> {
    let (names, count) = each_once(node, "agent context", findings, |node, findings| {
        node.text(findings).map(Cow::into_owned)
    });
    if count.is_some_and(|count| !(1..=MOST).contains(&count)) {
        findings.fault(node, "must name one to three agent contexts; leave it out for none");
    }
    names
}

/// Checks that each name is another agent context of the document, and one with a model.
pub(super) fn check_fallbacks(
    document: Node<'_, '_>,
    contexts: &BTreeMap<String, AgentContext>,
    findings: &mut Findings,
) {
    let Some(list) = document.find("AgentContexts") else { return };
    let declared: Vec<String> = contexts.keys().cloned().collect();
    // What is no object or no list has its own fault.
    let _ = for_each_member(list.json, |id, json| {
        let context = list.member(&id, json);
        let Some(names) = context.find("Fallbacks") else { return };
        let mut place = 0;
        let _ = for_each_element(names.json, |json| {
            let node = names.element(place, json);
            place += 1;
            let Some(name) = node.as_text() else { return };
            if let Some(problem) = problem_of(&id, &name, contexts, &declared) {
                findings.fault(node, problem);
            }
        });
    });
}

/// What is wrong with a fall-back of the agent context `id`.
fn problem_of(
    id: &str,
    name: &str,
    contexts: &BTreeMap<String, AgentContext>,
    declared: &[String],
) -> Option<String> {
    if name == id {
        return Some("is the agent context itself; name another one".to_owned());
    }
    match contexts.get(name) {
        None => undeclared_problem("agent context", name, declared),
        Some(AgentContext { model: None, .. }) => Some(format!(
            "the agent context {} names no \"Model\", which a fall-back needs; name one there",
            quoted(name)
        )),
        Some(_) => None,
    }
}
