//! Background responses of a model service (interface §4, Background responses): whether one is made, read on behind the
//! events that came before a cut, read again from its first event, and cancelled.

use std::task::{Context, Poll};

use aptix_edge::catalog::AgentContext;
use aptix_edge::llm_call::{
    CallObserver, Endpoint, UsableOutput, call, cancel_response, delete_response, read_response,
};
use aptix_edge::ports::Deployment;
use aptix_edge::responses_api::{ResponseFacts, ResponseStream, StreamLimits, TextProgress};
use bed::LoneStep;
use serde_json::json;

use crate::network::{Network, Online};
use crate::probe::Outcome;

/// The events that come before the cut.
const EVENTS: usize = 3;

/// Nobody listens.
struct Nobody;

impl CallObserver for Nobody {
    fn on_text(&mut self, _: TextProgress) {}
    fn on_report(&mut self, _: &ResponseFacts) {}
    fn stores_reports(&self) -> bool {
        false
    }
    fn poll_watched(&self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

/// Tries them with a model of an agent context's service.
pub(crate) fn tried(online: &Online, agent: &AgentContext, model: &str) -> Outcome {
    let (step, network) = online.machine();
    let variable = |name: &str| online.secrets.value(name).map(str::to_owned);
    let deployment = Deployment::from_variables(&variable).unwrap_or_default();
    let endpoint = match Endpoint::of(&step.platform, &deployment, agent) {
        Ok(endpoint) => endpoint,
        Err(fault) => return Outcome::Failed(fault.message),
    };
    let mut asked = Vec::new();
    let outcome = read(&step, &network, &endpoint, model, &mut asked);
    for id in &asked {
        step.run(delete_response(&step.platform, &endpoint, id));
    }
    outcome
}

fn read(
    step: &LoneStep,
    network: &Network,
    endpoint: &Endpoint,
    model: &str,
    asked: &mut Vec<String>,
) -> Outcome {
    let request = |instruction: &str| {
        let body = json!({
            "model": model, "input": instruction, "background": true, "store": true, "stream": true,
        });
        body.to_string()
    };
    let begun = |network: &Network, instruction: &str| {
        network.cut_after(EVENTS);
        let mut stream = ResponseStream::resumable(StreamLimits::RESPONSE);
        let body = request(instruction);
        let _ = step.run(call(&step.platform, endpoint, body, &mut stream, &mut Nobody));
        let id = stream.reported().response_id.clone();
        (stream, id)
    };
    let (mut stream, id) = begun(network, "Respond with OK and nothing else.");
    let Some(id) = id else {
        return match network.latest_fault() {
            Some(refusal) if refusal.starts_with('4') => Outcome::No("refused"),
            Some(why) => Outcome::Failed(why),
            None => Outcome::No("no"),
        };
    };
    asked.push(id.clone());
    let read_on = |stream: &mut ResponseStream| -> Option<UsableOutput> {
        let mut nobody = Nobody;
        let reading = read_response(&step.platform, endpoint, &id, false, stream, &mut nobody);
        step.run(reading).ok()
    };
    let (Some(rest), Some(whole)) =
        (read_on(&mut stream), read_on(&mut ResponseStream::resumable(StreamLimits::RESPONSE)))
    else {
        return Outcome::No("not read again");
    };
    if rest.output.text != whole.output.text {
        return Outcome::No("not read on");
    }
    let (_, other) = begun(network, "Count from 1 to 500, each number on a line of its own.");
    let Some(other) = other else {
        return Outcome::Failed("it made no second response".to_owned());
    };
    step.run(cancel_response(&step.platform, endpoint, &other));
    let status = network.exchanges().last().and_then(|exchange| exchange.status);
    asked.push(other);
    match status {
        // One that has ended meanwhile cannot be cancelled.
        Some(200..=299 | 400 | 409) => Outcome::Yes,
        _ => Outcome::No("not cancelled"),
    }
}
