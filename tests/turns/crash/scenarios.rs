//! The scenarios of the crash tests: every kind of turn, as the acts of a client and of the model service.

use serde_json::{Value, json};

/// An act of a client, or of the model service.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// A user turn, with other members as well.
    Turn(&'static str, &'static str, Value),
    /// The workspace `w` gets a document about alpha.
    Index,
    /// From here on a human is asked before `fragile` runs, and says yes for Ann alone.
    Gate,
    /// From here on server tools that stand beside each other run at once.
    AtOnce,
    /// Sends the tool results that the turn waits for.
    Results(&'static str),
    /// Cancels a turn that is paused.
    Cancel(&'static str),
    /// Begins a user turn and cancels it after this many calls of the model service.
    CancelRunning(&'static str, &'static str, usize),
    /// The service forgets all responses.
    Forget,
    /// From here on the service keeps no response.
    KeepNothing,
    /// From here on the service refuses to store responses.
    RefuseStorage,
    /// From here on the service refuses, in words that say nothing, whatever continues a response.
    RefuseChains,
    /// The service fails once, after this many successful calls.
    Spoil(usize),
    /// The service's context window has so many bytes.
    Narrow(usize),
}

pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) acts: Vec<Act>,
}

pub(crate) fn scenarios() -> Vec<Scenario> {
    let turn = |id, words| Act::Turn(id, words, json!({}));
    let replay = || json!({ "ConversationContextId": "replay" });
    let searching = |words| Act::Turn("t1", words, json!({ "WorkspaceId": "w" }));
    let scenario = |name, acts| Scenario { name, acts };
    let long = |words: &str| -> &'static str { format!("{words} {}", "word ".repeat(300)).leak() };
    let compacted = |members: Value| {
        vec![
            Act::Narrow(3_700),
            Act::Turn("t1", long("One [plan: server]"), members),
            turn("t2", long("Two [plan: server, client]")),
            Act::Results("t2"),
        ]
    };
    vec![
        scenario("plain", vec![turn("t1", "One")]),
        scenario(
            "a refusal that nobody understands",
            vec![
                turn("t1", "One [plan: server]"),
                Act::RefuseChains,
                turn("t2", "Two [plan: server]"),
                turn("t3", "Three"),
            ],
        ),
        scenario("two plain turns", vec![turn("t1", "One"), turn("t2", "Two")]),
        scenario(
            "streamed, with latched texts",
            vec![Act::Turn(
                "t1",
                "One",
                json!({ "Streaming": true, "SolutionContextText": "S", "ToolsJson": "[]" }),
            )],
        ),
        scenario("server tool", vec![turn("t1", "One [plan: server]")]),
        scenario(
            "server tools",
            vec![turn("t1", "One [plan: two-servers, server]"), turn("t2", "Two")],
        ),
        scenario("client tool", vec![turn("t1", "One [plan: client]"), Act::Results("t1")]),
        scenario(
            "client tools twice",
            vec![turn("t1", "One [plan: client, client]"), Act::Results("t1"), Act::Results("t1")],
        ),
        scenario(
            "mixed",
            vec![
                turn("t1", "One [plan: mixed, server, mixed]"),
                Act::Results("t1"),
                Act::Results("t1"),
            ],
        ),
        scenario(
            "server tools at once",
            vec![
                Act::AtOnce,
                turn("t1", "One [plan: two-servers, mixed, two-servers]"),
                Act::Results("t1"),
                turn("t2", "Two"),
            ],
        ),
        scenario(
            "an answer in a form",
            vec![
                Act::Turn("t1", "One [plan: server, client]", json!({ "OutputSchema": "{}" })),
                Act::Results("t1"),
                turn("t2", "Two"),
            ],
        ),
        scenario(
            "approval",
            vec![
                Act::Gate,
                turn("t1", "One [plan: gated, server, gated]"),
                Act::Results("t1"),
                Act::Results("t1"),
            ],
        ),
        scenario(
            "cancel of a turn that waits for an approval",
            vec![Act::Gate, turn("t1", "One [plan: gated]"), Act::Cancel("t1"), turn("t2", "Two")],
        ),
        scenario("mode change", vec![turn("t1", "One [plan: mode:ddr]"), turn("t2", "Two")]),
        scenario(
            "mode changes",
            vec![turn("t1", "One [plan: modes, unoffered]"), turn("t2", "Two")],
        ),
        scenario(
            "cancel of a paused turn",
            vec![turn("t1", "One [plan: mixed]"), Act::Cancel("t1"), turn("t2", "Two")],
        ),
        scenario(
            "cancel of a running turn",
            vec![Act::CancelRunning("t1", "One [plan: server, server]", 2), turn("t2", "Two")],
        ),
        scenario(
            "retry after a failure",
            vec![Act::Spoil(1), turn("t1", "One [plan: server]"), turn("t1", "One [plan: server]")],
        ),
        scenario(
            "retry of an older turn",
            vec![
                Act::Spoil(1),
                turn("t1", "One [plan: server]"),
                turn("t2", "Two"),
                turn("t1", "One [plan: server]"),
            ],
        ),
        scenario(
            "a failed turn with open calls, then another",
            vec![
                Act::Spoil(1),
                turn("t1", "One [plan: client, server]"),
                Act::Results("t1"),
                turn("t2", "Two"),
            ],
        ),
        scenario(
            "rebuild of a lost chain",
            vec![
                turn("t1", "One [plan: mixed]"),
                Act::Forget,
                Act::Results("t1"),
                turn("t2", "Two"),
            ],
        ),
        scenario(
            "a service that forgets every chain",
            vec![
                Act::KeepNothing,
                turn("t1", "One [plan: server, mixed]"),
                Act::Results("t1"),
                turn("t2", "Two"),
            ],
        ),
        scenario(
            "a service that comes to refuse storage",
            vec![
                turn("t1", "One [plan: mixed]"),
                Act::RefuseStorage,
                Act::Results("t1"),
                turn("t2", "Two"),
            ],
        ),
        scenario(
            "retrieval",
            vec![Act::Index, searching("One: alpha [plan: server]"), turn("t2", "Two")],
        ),
        scenario(
            "retry of an older turn that retrieved",
            vec![
                Act::Index,
                Act::Spoil(1),
                searching("One: alpha [plan: server]"),
                turn("t2", "Two"),
                searching("One: alpha [plan: server]"),
            ],
        ),
        scenario("compaction", compacted(json!({}))),
        scenario("compaction in replay mode", compacted(replay())),
        scenario(
            "replay mode",
            vec![
                Act::Turn("t1", "One [plan: mixed, mode:ddr]", replay()),
                Act::Results("t1"),
                turn("t2", "Two"),
            ],
        ),
    ]
}
