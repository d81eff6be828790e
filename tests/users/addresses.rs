//! Pictures and files in the results of a client's tools: the model service would fetch an address, so a ticket's client
//! sends contents, or addresses at hosts that the agent context lists. A key may send any.

use bed::*;
use serde_json::{Value, json};

use super::people::{Asking, people};

const INSIDE: &str = "http://169.254.169.254/latest/meta-data/";
const PICTURE: &str = "data:image/png;base64,iVBORw0KGgo=";

/// A session of alice's that waits for a tool of its client, and the id of the call.
fn waiting(bed: &Bed) -> String {
    bed.say("alice", "a", "t", "Look [plan: client]").calls().remove(0)
}

fn answer(call: &str, result: &Value) -> String {
    let results =
        json!([{ "ToolCallId": call, "ExecutionMs": 1, "ResultJson": result.to_string() }]);
    json!({ "SessionId": "a", "TurnId": "t", "ToolResults": results }).to_string()
}

fn image(url: &str) -> Value {
    json!({ "type": "input_image", "image_url": url })
}

#[test]
fn a_ticket_s_client_hands_on_contents_and_no_address_or_id() {
    let bed = people();
    let (ticket, call) = (bed.ticket("alice"), waiting(&bed));
    let calls = bed.world.model.requests();
    let text = json!({ "type": "input_text", "text": "See:" });
    for part in [
        image(INSIDE),
        json!({ "type": "input_file", "file_url": "http://127.0.0.1:9000/admin" }),
        json!({ "type": "input_file", "file_data": INSIDE }),
        json!({ "type": "input_file", "file_id": "file-of-the-operator" }),
        json!({ "type": "input_image", "file_id": "file-of-the-operator" }),
    ] {
        let body = answer(&call, &json!([text, part]));
        let refused = bed.ask_with(&ticket, "POST", "/execute", &body);
        assert_eq!(refused.failure(), (400, "invalid_field"), "{part}");
        let fault = &refused.body["Errors"][0];
        assert_eq!(fault["Path"], "/ToolResults/0/ResultJson");
        assert!(fault["Message"].as_str().unwrap().ends_with("; send it as a data: URL."));
    }
    assert_eq!(bed.world.model.requests(), calls, "the turn still waits");
    let given = json!([text, image(PICTURE)]);
    bed.ask_with(&ticket, "POST", "/execute", &answer(&call, &given)).final_text();
    let sent = bed.world.model.bodies().pop().unwrap().to_string();
    assert!(sent.contains(PICTURE), "{sent}");
}

#[test]
fn an_address_in_data_is_read_by_the_model_and_fetched_by_nobody() {
    let bed = people();
    let (ticket, call) = (bed.ticket("alice"), waiting(&bed));
    let data = json!({ "found": [image(INSIDE)] });
    bed.ask_with(&ticket, "POST", "/execute", &answer(&call, &data)).final_text();
    let body = bed.world.model.bodies().pop().unwrap();
    let output = body["input"].as_array().unwrap().last().unwrap()["output"].clone();
    assert_eq!(output, data.to_string(), "it is sent as text");
}

#[test]
fn hosts_of_the_agent_context_are_open_to_a_ticket_and_everything_is_to_a_key() {
    let bed = people();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["FileHosts"] = json!(["files.example"]);
    });
    let ticket = bed.ticket("alice");
    let listed = image("https://files.example/a.png");
    let call = waiting(&bed);
    let refused =
        bed.ask_with(&ticket, "POST", "/execute", &answer(&call, &json!([image(INSIDE)])));
    assert_eq!(refused.failure(), (400, "invalid_field"));
    bed.ask_with(&ticket, "POST", "/execute", &answer(&call, &json!([listed]))).final_text();
    let sent = bed.world.model.bodies().pop().unwrap().to_string();
    assert!(sent.contains("https://files.example/a.png"), "{sent}");

    let bed = people();
    let call = waiting(&bed);
    let any = json!([image(INSIDE), { "type": "input_file", "file_id": "file-1" }]);
    bed.ask_as("alice", "POST", "/execute", &answer(&call, &any)).final_text();
    let sent = bed.world.model.bodies().pop().unwrap().to_string();
    assert!(sent.contains(INSIDE) && sent.contains("file-1"), "{sent}");
}
