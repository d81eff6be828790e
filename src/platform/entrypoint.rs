//! The Worker's events: its start, and a request.

use std::cell::OnceCell;
use std::rc::Rc;

use wasm_bindgen::JsValue;
use worker::js_sys::{Reflect, global};
use worker::{Context, Env, event, web_sys};

use super::clock::stepwise;
use super::gateway::WorkerGateway;
use super::request_head::ReceivedHead;
use super::response::{runtime_response, with_headers};
use crate::contract::VERSION;
use crate::entry::{FrontDoor, FrontResponse, RequestHead, warm_up};

thread_local! {
    /// Variables and secrets never change within an isolate.
    static FRONT_DOOR: OnceCell<Rc<FrontDoor>> = const { OnceCell::new() };
}

#[event(start)]
fn start() {
    warm_up();
    wake_tasks_by_promises();
}

/// Deletes the global `queueMicrotask`, so that `wasm-bindgen-futures` wakes its tasks by
/// `Promise.then`: the runtime's `queueMicrotask` costs several times as much.
fn wake_tasks_by_promises() {
    let _ = Reflect::set(&global(), &JsValue::from_str("queueMicrotask"), &JsValue::UNDEFINED);
}

#[event(fetch)]
async fn fetch(
    request: web_sys::Request,
    env: Env,
    _context: Context,
) -> worker::Result<web_sys::Response> {
    let response = stepwise(async {
        let received = ReceivedHead::of(&request);
        let gateway = WorkerGateway { env: &env, request: &request, head: &received };
        let front_door = FRONT_DOOR.with(|door| {
            Rc::clone(door.get_or_init(|| Rc::new(FrontDoor::new(&gateway, VERSION))))
        });
        let header = |name: &str| received.header(name).map(str::to_owned);
        let head = RequestHead { method: received.method(), url: received.url(), header: &header };
        match front_door.response(&head, &gateway).await {
            FrontResponse::Own(response) => runtime_response(&response),
            FrontResponse::OfObject(response, headers) => with_headers(response, &headers),
        }
    });
    response.await.map_err(worker::Error::from)
}
