//! The wire form of a response: the events of the Responses API in the live order.

use serde_json::{Value, json};

use super::reply::{Answer, Ending, Item};

/// A response in both of its forms: as it is streamed and as the service stores it.
pub struct RenderedResponse {
    /// One server-sent event each.
    pub events: Vec<String>,
    /// The response object in its final state.
    pub response: Value,
}

/// Renders a response under `id`. The calls take their ids from `call_ids` in order.
pub fn render(
    answer: &Answer,
    id: &str,
    mut call_ids: impl Iterator<Item = String>,
) -> RenderedResponse {
    let mut events = Vec::new();
    let mut send = |kind: &str, mut members: Value| {
        members["type"] = kind.into();
        members["sequence_number"] = events.len().into();
        events.push(format!("event: {kind}\ndata: {members}\n\n"));
    };
    let mut response = json!({
        "id": id, "object": "response", "created_at": 1, "status": "in_progress", "error": null,
        "incomplete_details": null, "model": "m", "output": [], "usage": answer.early_usage.map(usage),
    });
    send("response.created", json!({ "response": response }));
    send("response.in_progress", json!({ "response": response }));
    for (place, item) in answer.items.iter().enumerate() {
        let cut = matches!(answer.ending, Ending::Incomplete(_)) && place + 1 == answer.items.len();
        let status = if cut { "incomplete" } else { "completed" };
        let item_id = format!("item_{id}_{place}");
        let at = json!({ "item_id": item_id, "output_index": place, "content_index": 0 });
        let with = |extra: Value| {
            let mut members = at.clone();
            for (name, value) in extra.as_object().unwrap() {
                members[name] = value.clone();
            }
            members
        };
        let done = match item {
            Item::Text(pieces) | Item::Commentary(pieces) => {
                let message = |status: &str, content: Value| {
                    let mut message = json!({ "type": "message", "id": item_id, "status": status, "role": "assistant", "content": content });
                    if matches!(item, Item::Commentary(_)) {
                        message["phase"] = "commentary".into();
                    }
                    message
                };
                let empty = message("in_progress", json!([]));
                send("response.output_item.added", json!({ "output_index": place, "item": empty }));
                let part =
                    |text: &str| json!({ "type": "output_text", "annotations": [], "text": text });
                send("response.content_part.added", with(json!({ "part": part("") })));
                for piece in pieces {
                    send("response.output_text.delta", with(json!({ "delta": piece })));
                }
                let text = pieces.concat();
                send("response.output_text.done", with(json!({ "text": text })));
                send("response.content_part.done", with(json!({ "part": part(&text) })));
                message(status, json!([part(&text)]))
            }
            Item::Cited(text, annotations) => {
                let message = |content: Value| json!({ "type": "message", "id": item_id, "status": status, "role": "assistant", "content": content });
                let empty = message(json!([]));
                send("response.output_item.added", json!({ "output_index": place, "item": empty }));
                send("response.output_text.delta", with(json!({ "delta": text })));
                for (index, annotation) in annotations.iter().enumerate() {
                    let added = json!({ "annotation_index": index, "annotation": annotation });
                    send("response.output_text.annotation.added", with(added));
                }
                message(
                    json!([{ "type": "output_text", "annotations": annotations, "text": text }]),
                )
            }
            Item::Hosted(item) => {
                let mut item = item.clone();
                item["id"] = item_id.clone().into();
                let kind = item["type"].as_str().unwrap();
                let begun = json!({ "type": kind, "id": item_id, "status": "in_progress" });
                send("response.output_item.added", json!({ "output_index": place, "item": begun }));
                send(&format!("response.{kind}.in_progress"), with(json!({})));
                item
            }
            Item::Refusal(text) => {
                let empty = json!({ "type": "message", "id": item_id, "status": "in_progress", "role": "assistant", "content": [] });
                send("response.output_item.added", json!({ "output_index": place, "item": empty }));
                let part = |text: &str| json!({ "type": "refusal", "refusal": text });
                send("response.content_part.added", with(json!({ "part": part("") })));
                send("response.refusal.delta", with(json!({ "delta": text })));
                send("response.refusal.done", with(json!({ "refusal": text })));
                json!({ "type": "message", "id": item_id, "status": status, "role": "assistant", "content": [part(text)] })
            }
            Item::Call { name, arguments } => {
                let call_id = call_ids.next().unwrap();
                let call = |status: &str, arguments: &str| json!({ "type": "function_call", "id": item_id, "status": status, "call_id": call_id, "name": name, "arguments": arguments });
                send(
                    "response.output_item.added",
                    json!({ "output_index": place, "item": call("in_progress", "") }),
                );
                send("response.function_call_arguments.delta", with(json!({ "delta": arguments })));
                send(
                    "response.function_call_arguments.done",
                    with(json!({ "arguments": arguments })),
                );
                call(status, arguments)
            }
            Item::Compaction => {
                let compaction = json!({ "type": "compaction", "id": item_id, "encrypted_content": "sealed ".repeat(600) });
                send(
                    "response.output_item.added",
                    json!({ "output_index": place, "item": compaction }),
                );
                compaction
            }
            Item::Reasoning => {
                let thought = json!({ "type": "reasoning", "id": item_id, "summary": [], "encrypted_content": "sealed" });
                send(
                    "response.output_item.added",
                    json!({ "output_index": place, "item": thought }),
                );
                thought
            }
        };
        send("response.output_item.done", json!({ "output_index": place, "item": done }));
        response["output"].as_array_mut().unwrap().push(done);
    }
    response["usage"] = usage(answer.usage);
    let fail = |response: &mut Value, code: &str| {
        response["status"] = "failed".into();
        response["error"] = json!({ "code": code, "message": "The service broke." });
        if !answer.failing_usage {
            response["usage"] = Value::Null;
        }
    };
    match answer.ending {
        Ending::Completed => {
            response["status"] = "completed".into();
            send("response.completed", json!({ "response": response }));
        }
        Ending::Incomplete(reason) => {
            response["status"] = "incomplete".into();
            response["incomplete_details"] = json!({ "reason": reason });
            send("response.incomplete", json!({ "response": response }));
        }
        Ending::Failed(code) => {
            fail(&mut response, code);
            send("response.failed", json!({ "response": response }));
        }
        Ending::ErrorEvent { code, nested } => {
            fail(&mut response, code);
            let error = json!({ "type": "server_error", "code": code, "message": "The service broke.", "param": null });
            if nested {
                send("error", json!({ "error": error }));
                send("response.failed", json!({ "response": response }));
            } else {
                send(
                    "error",
                    json!({ "code": code, "message": "The service broke.", "param": null }),
                );
            }
        }
    }
    RenderedResponse { events, response }
}

fn usage([input, cached, output, reasoning]: [u64; 4]) -> Value {
    json!({
        "input_tokens": input, "input_tokens_details": { "cached_tokens": cached },
        "output_tokens": output, "output_tokens_details": { "reasoning_tokens": reasoning },
        "total_tokens": input + output,
    })
}
