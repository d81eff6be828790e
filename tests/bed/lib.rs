//! A test bed for whole turns ([`Bed`]): the product's own front door and objects over SQLite, a
//! virtual clock and a strict model service. [`LoneStep`] runs a single step of a turn.
//!
//! Only the two seams `Platform` and `Database` are doubles. Nothing waits for real time or depends
//! on the machine: the same seed gives the same run. An *instance* is one life of a session's
//! Durable Object; a crash ends it with all its tasks and keeps its durable writes.

mod background;
mod bill;
mod catalog;
mod conversation;
mod database;
mod embeddings_service;
mod executor;
mod gateway;
mod heard;
mod instance;
mod lies;
mod lone_step;
mod mcp_lists;
mod mcp_service;
mod model_service;
mod object;
mod pairing;
mod placed;
mod planned_model;
mod platform;
mod published_schema;
mod reply;
mod requests;
mod response_body;
mod response_stream;
mod rules;
mod scripted_service;
mod seeds;
mod session;
mod spans;
mod streams;
mod told;
mod tool_service;
mod walk;
mod webhook_receiver;
mod world;

pub use background::{BackgroundResponses, CancelReply, ReadAgain};
pub use bill::{Bill, CallEnd};
pub use conversation::{Conversation, ConversationItem, Said};
pub use database::{Disk, SqliteDatabase, Statement};
pub use embeddings_service::{EmbeddingsFault, EmbeddingsRequest, EmbeddingsService, embedding};
pub use executor::Random;
pub use heard::Heard;
pub use instance::{Crash, Instance};
pub use lies::Lies;
pub use lone_step::LoneStep;
pub use mcp_service::{McpRequest, McpState, tool as mcp_tool};
pub use model_service::ModelService;
pub use object::TestObject;
pub use placed::AskedObject;
pub use planned_model::{is_record, planned};
pub use platform::TestPlatform;
pub use published_schema::assert_published;
pub use reply::{
    Answer, Ending, Item, Recording, Reply, call, error_event, failed, http_error, incomplete,
    incomplete_without_items, raw, say, says,
};
pub use requests::{artifacts, results, steer, turn, with};
pub use rules::Rules;
pub use scripted_service::{HttpReply, Piece};
pub use seeds::run_seeds;
pub use session::{Bed, Pending};
pub use spans::Spans;
pub use streams::{Exchange, own_streams, recorded_exchanges};
pub use tool_service::ToolAnswer;
pub use walk::Walk;
pub use webhook_receiver::{WebhookAnswer, WebhookMessage, WebhookReceiver};
pub use world::{Player, RequestLine, SessionObject, UserObject, Workspace, World};
