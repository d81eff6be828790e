//! The chunks of its workspace that a user turn receives besides its own artifacts (interface §7), before its first
//! model call.
//!
//! A retrieval that fails is a warning to the user; the turn goes on.

use serde::{Deserialize, Serialize};

use super::Chunk;
use super::index::SCOPE_KEY_UNKNOWN;
use crate::catalog::{Retrieval, RetrievalSource};
use crate::contract::{RagScope, UserId, Warning, relative_path_problem};
use crate::encoding::{language_of, sparse_object};
use crate::json::{Object, first_member, from_object, with_whole_characters};
use crate::object::asked_again;
use crate::outbound::post;
use crate::ports::{ObjectQuestion, Platform, object_name};

/// The longest response of a retrieval service, in bytes.
const MAX_RESPONSE_BYTES: usize = 1_000_000;

/// The result of a turn's retrieval.
#[derive(Debug, Default)]
pub struct Retrieved {
    /// In rank order, within the agent context's limits.
    pub chunks: Vec<Chunk>,
    /// The chunks that the turn does not receive.
    pub omitted: Vec<OmittedChunk>,
    /// The index or the service failed.
    pub failed: bool,
    /// The index ranked by words alone, although embeddings are configured.
    pub by_words_alone: bool,
    /// What the client should know about its scope.
    pub warnings: Vec<Warning>,
}

/// A chunk that the index or the service returned and the turn does not receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OmittedChunk {
    /// The chunk's path, where it may be shown.
    pub path: Option<String>,
    /// For the composition trace.
    pub reason: &'static str,
}

sparse_object! {
    /// The query that a retrieval service receives, and with fewer members a workspace's index.
    #[derive(Clone, Copy, Debug, Default, Serialize)]
    #[serde(rename_all = "PascalCase")]
    pub struct RetrievalQuery<'a> {
        /// The user's own words.
        pub query: &'a str,
        pub rag_scope?: Option<&'a RagScope>,
        /// For a service that keeps many workspaces.
        pub workspace_id?: Option<&'a str>,
        pub repo?: Option<&'a str>,
        pub language?: Option<&'a str>,
        /// The most chunks. `None` leaves it to the agent context.
        pub limit: Option<u32>,
    }
}

/// What is retrieved from, and for whom.
#[derive(Clone, Copy, Debug)]
pub struct RetrievalTarget<'a> {
    pub workspace: &'a str,
    pub agent_context: &'a str,
    /// `None` for the tenant itself. A workspace, which is the tenant's, searches for users, too.
    pub user: Option<&'a UserId>,
}

/// Asks for chunks of a workspace, for a turn with an agent context.
pub async fn retrieve<P: Platform>(
    platform: &P,
    retrieval: &Retrieval,
    target: RetrievalTarget<'_>,
    query: RetrievalQuery<'_>,
) -> Retrieved {
    if retrieval.source == RetrievalSource::None {
        return Retrieved::default();
    }
    let limit = query.limit.unwrap_or(retrieval.limit);
    let query = RetrievalQuery { limit: Some(limit), ..query };
    match request(platform, &retrieval.source, target, query).await {
        Some(found) => within_limits(found, limit as usize, retrieval.max_bytes as usize),
        None => Retrieved { failed: true, ..Retrieved::default() },
    }
}

/// All that the index or the service finds; `None` when it fails.
async fn request<P: Platform>(
    platform: &P,
    source: &RetrievalSource,
    target: RetrievalTarget<'_>,
    query: RetrievalQuery<'_>,
) -> Option<Retrieved> {
    let RetrievalTarget { workspace, agent_context, user } = target;
    match source {
        RetrievalSource::None => None,
        RetrievalSource::Index => {
            let search = RetrievalQuery { repo: None, language: None, ..query };
            let body = serde_json::to_string(&TurnSearch { agent_context, search }).ok()?;
            let name = object_name(platform.tenant()?, None, workspace);
            // Without a response the turn goes on without its documents.
            let ask =
                async || platform.ask_object(&name, ObjectQuestion::Search, body.clone()).await;
            let response = asked_again(ask).await;
            response_of_index(&response.ok()?)
        }
        RetrievalSource::Http(http) => {
            let query = RetrievalQuery { workspace_id: Some(workspace), ..query };
            let body = serde_json::to_string(&query).ok()?;
            let (user, own) = (user.map(UserId::as_str), Vec::new());
            let response = post(platform, user, http, own, body, MAX_RESPONSE_BYTES).await.ok()?;
            Some(Retrieved { chunks: chunks_of_service(&response)?, ..Retrieved::default() })
        }
    }
}

/// The search that a session asks of a workspace.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TurnSearch<'a> {
    agent_context: &'a str,
    search: RetrievalQuery<'a>,
}

/// The agent context, and the search as JSON, that a session asks of a workspace; `None` for any other body.
pub fn read_turn_search(body: &[u8]) -> Option<(String, &str)> {
    let body = str::from_utf8(body).ok()?;
    let agent_context = serde_json::from_str(first_member(body, "AgentContext")?).ok()?;
    Some((agent_context, first_member(body, "Search")?))
}

/// Leaves the best chunks within the limits. A chunk that is too long is skipped, and the next may fit.
fn within_limits(found: Retrieved, limit: usize, max_bytes: usize) -> Retrieved {
    let mut retrieved = Retrieved { chunks: Vec::new(), ..found };
    let mut room = max_bytes;
    for mut chunk in found.chunks {
        let may_be_shown = relative_path_problem(&chunk.path).is_none();
        let reason = if !may_be_shown {
            "its path is not a relative one"
        } else if retrieved.chunks.len() >= limit {
            "the limit of chunks is reached"
        } else if chunk.text.len() > room {
            "it does not fit the budget of bytes"
        } else {
            room -= chunk.text.len();
            chunk.language = language_of(Some(&chunk.language), &chunk.path);
            retrieved.chunks.push(chunk);
            continue;
        };
        let path = may_be_shown.then_some(chunk.path);
        retrieved.omitted.push(OmittedChunk { path, reason });
    }
    retrieved
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FoundChunks {
    chunks: Vec<Object<Chunk>>,
}

fn chunks_of_service(response: &str) -> Option<Vec<Chunk>> {
    let FoundChunks { chunks } = from_object(&with_whole_characters(response)).ok()?;
    Some(chunks.into_iter().map(|Object(chunk)| chunk).collect())
}

/// The response in an index's `InvokeResult`; `None` when it was not successful. Its warnings are about the scope, the
/// others about embeddings.
fn response_of_index(result: &str) -> Option<Retrieved> {
    let chunks = chunks_of_service(first_member(result, "Result")?)?;
    let warnings: Vec<Warning> = serde_json::from_str(first_member(result, "Warnings")?).ok()?;
    let of_scope = |warning: &Warning| warning.code == SCOPE_KEY_UNKNOWN;
    let (warnings, of_embeddings): (Vec<_>, Vec<_>) = warnings.into_iter().partition(of_scope);
    let by_words_alone = !of_embeddings.is_empty();
    Some(Retrieved { chunks, by_words_alone, warnings, ..Retrieved::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(path: &str, bytes: usize) -> Chunk {
        Chunk {
            path: path.to_owned(),
            start_line: 1,
            end_line: 2,
            language: String::new(),
            text: "x".repeat(bytes),
            ..Chunk::default()
        }
    }

    #[test]
    fn the_best_chunks_that_fit_are_kept_and_the_others_are_named() {
        let found = vec![
            chunk("a.rs", 60),
            chunk("long.rs", 50),
            chunk("b.md", 40),
            chunk("../c", 0),
            chunk("d.rs", 0),
        ];
        let found = Retrieved { chunks: found, ..Retrieved::default() };
        let retrieved = within_limits(found, 2, 100);
        let kept: Vec<_> = retrieved
            .chunks
            .iter()
            .map(|chunk| (chunk.path.as_str(), chunk.language.as_str()))
            .collect();
        assert_eq!(kept, [("a.rs", "rust"), ("b.md", "markdown")]);
        let omitted: Vec<_> = retrieved
            .omitted
            .iter()
            .map(|omitted| (omitted.path.as_deref(), omitted.reason))
            .collect();
        assert_eq!(
            omitted,
            [
                (Some("long.rs"), "it does not fit the budget of bytes"),
                (None, "its path is not a relative one"),
                (Some("d.rs"), "the limit of chunks is reached"),
            ]
        );
    }

    #[test]
    fn only_a_well_formed_response_has_chunks() {
        let chunk = r#"{"Path":"a","StartLine":1,"EndLine":2,"Text":"t","Score":3}"#;
        let without_language =
            r#"{"Path":"a","StartLine":1,"EndLine":2,"Language":null,"Text":"t"}"#;
        let chunks = format!(r#"{{"Chunks":[{chunk},{without_language}]}}"#);
        assert_eq!(chunks_of_service(&chunks).map(|found| found.len()), Some(2));
        // A service that cuts texts by UTF-16 may cut a character.
        let cut = chunks.replace(r#""Text":"t""#, r#""Text":"t\ud83d""#);
        assert_eq!(chunks_of_service(&cut).unwrap()[0].text, "t\u{fffd}");
        let wrapped = format!(r#"{{"Result":{chunks},"Warnings":[]}}"#);
        let response = response_of_index(&wrapped).unwrap();
        assert_eq!((response.chunks.len(), response.by_words_alone), (2, false));
        for wrong in ["", "[]", "{}", r#"{"Chunks":[{}]}"#, r#"{"Chunks":{"Path":"a"}}"#] {
            assert_eq!(chunks_of_service(wrong), None, "{wrong}");
            assert!(response_of_index(wrong).is_none(), "{wrong}");
        }
    }
}
