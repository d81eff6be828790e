//! `Fallbacks` of an agent context (interface §6): the agent contexts whose services take calls over, in order. Who may
//! be one depends on the whole document, so that is checked when all of it was read.

use std::collections::BTreeMap;

use super::agent_context::AgentContext;
use super::findings::Findings;
use super::names::quoted;
use super::values::undeclared_problem;
use crate::json::{Node, for_each_element, for_each_member};

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
