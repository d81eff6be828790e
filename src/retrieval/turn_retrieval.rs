//! The chunks of its workspace that a user turn receives besides its own artifacts (interface §7).
//! The turn asks for them before its first model call.
//!
//! A retrieval that fails is a warning to the user; the turn goes on.

use serde::{Deserialize, Serialize};

use super::Chunk;
use crate::catalog::{Retrieval, RetrievalSource};
use crate::contract::{RagScope, UserTurn, relative_path_problem};
use crate::encoding::language_of;
use crate::json::{Object, first_member, from_object};
use crate::outbound::post;
use crate::ports::{ObjectQuestion, Platform};

/// The longest response of a retrieval service, in bytes.
const MAX_RESPONSE_BYTES: usize = 1_000_000;

/// What was found for a turn.
#[derive(Debug, Default)]
pub struct Retrieved {
    /// In rank order, within the agent context's limits.
    pub chunks: Vec<Chunk>,
    /// Found, and not given to the turn.
    pub left_out: Vec<LeftOut>,
    /// The index or the service failed.
    pub failed: bool,
    /// The index ranked by words alone, although embeddings are configured.
    pub by_words_alone: bool,
}

/// A chunk that was found and is not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The chunk's path, where it may be shown.
    pub path: Option<String>,
    /// The reason, for the composition trace.
    pub why: &'static str,
}

/// The search that a retrieval service receives, and with fewer members a workspace's index.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Question<'a> {
    /// The user's own words.
    pub query: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rag_scope: Option<&'a RagScope>,
    /// For a service that keeps many workspaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<&'a str>,
    /// The most chunks. `None` leaves it to the agent context.
    pub limit: Option<u32>,
}

/// The workspace and the search of a turn; `None` without a workspace or an instruction.
pub fn question_of(turn: &UserTurn) -> Option<(&str, Question<'_>)> {
    let question = Question {
        query: turn.instruction.as_deref()?,
        rag_scope: turn.rag_scope.as_ref(),
        repo: turn.repo.as_deref(),
        language: turn.language.as_deref(),
        ..Question::default()
    };
    Some((turn.workspace_id.as_deref()?, question))
}

/// Asks for chunks of a workspace, for a turn with an agent context.
pub async fn retrieve<P: Platform>(
    platform: &P,
    retrieval: &Retrieval,
    (workspace, agent_context): (&str, &str),
    question: Question<'_>,
) -> Retrieved {
    if retrieval.source == RetrievalSource::None {
        return Retrieved::default();
    }
    let limit = question.limit.unwrap_or(retrieval.limit);
    let question = Question { limit: Some(limit), ..question };
    match found(platform, &retrieval.source, (workspace, agent_context), question).await {
        Some((found, by_words_alone)) => Retrieved {
            by_words_alone,
            ..within(found, limit as usize, retrieval.max_bytes as usize)
        },
        None => Retrieved { failed: true, ..Retrieved::default() },
    }
}

/// The chunks that the index or the service responds with, and whether words alone found them; `None` when it
/// fails.
async fn found<P: Platform>(
    platform: &P,
    source: &RetrievalSource,
    (workspace, agent_context): (&str, &str),
    question: Question<'_>,
) -> Option<(Vec<Chunk>, bool)> {
    match source {
        RetrievalSource::None => None,
        RetrievalSource::Index => {
            let question = Question { repo: None, language: None, ..question };
            let asked = TurnSearch { agent_context, search: question };
            let body = serde_json::to_string(&asked).ok()?;
            let name = format!("{}/{workspace}", platform.tenant()?);
            let asked = platform.ask_object(&name, ObjectQuestion::Search, body);
            chunks_of_index(&asked.await.ok()?)
        }
        RetrievalSource::Http(service) => {
            let question = Question { workspace_id: Some(workspace), ..question };
            let body = serde_json::to_string(&question).ok()?;
            let response = post(platform, service, body, MAX_RESPONSE_BYTES).await.ok()?;
            Some((chunks_of_service(&response)?, false))
        }
    }
}

/// The search that a session asks of a workspace.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TurnSearch<'a> {
    agent_context: &'a str,
    search: Question<'a>,
}

/// The agent context and the search that a session asks of a workspace; `None` of any other text.
pub fn search_question(asked: &[u8]) -> Option<(String, &str)> {
    let asked = str::from_utf8(asked).ok()?;
    let agent_context = serde_json::from_str(first_member(asked, "AgentContext")?).ok()?;
    Some((agent_context, first_member(asked, "Search")?))
}

/// Keeps the best chunks within the limits. One that is too long makes room for the next.
fn within(found: Vec<Chunk>, limit: usize, max_bytes: usize) -> Retrieved {
    let mut retrieved = Retrieved::default();
    let mut room = max_bytes;
    for mut chunk in found {
        let may_be_shown = relative_path_problem(&chunk.path).is_none();
        let why = if !may_be_shown {
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
        retrieved.left_out.push(LeftOut { path: may_be_shown.then_some(chunk.path), why });
    }
    retrieved
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    chunks: Vec<Object<Chunk>>,
}

fn chunks_of_service(response: &str) -> Option<Vec<Chunk>> {
    let Found { chunks } = from_object(response).ok()?;
    Some(chunks.into_iter().map(|Object(chunk)| chunk).collect())
}

/// The chunks in an index's `InvokeResult`, and whether it warns; `None` when it was not successful.
fn chunks_of_index(response: &str) -> Option<(Vec<Chunk>, bool)> {
    let chunks = chunks_of_service(first_member(response, "Result")?)?;
    Some((chunks, first_member(response, "Warnings") != Some("[]")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(path: &str, bytes: usize) -> Chunk {
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
            given("a.rs", 60),
            given("long.rs", 50),
            given("b.md", 40),
            given("../c", 0),
            given("d.rs", 0),
        ];
        let retrieved = within(found, 2, 100);
        let kept: Vec<_> = retrieved
            .chunks
            .iter()
            .map(|chunk| (chunk.path.as_str(), chunk.language.as_str()))
            .collect();
        assert_eq!(kept, [("a.rs", "rust"), ("b.md", "markdown")]);
        let left_out: Vec<_> = retrieved
            .left_out
            .iter()
            .map(|left_out| (left_out.path.as_deref(), left_out.why))
            .collect();
        assert_eq!(
            left_out,
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
        let wrapped = format!(r#"{{"Result":{chunks},"Warnings":[]}}"#);
        let found = chunks_of_index(&wrapped).map(|(found, warns)| (found.len(), warns));
        assert_eq!(found, Some((2, false)));
        for wrong in ["", "[]", "{}", r#"{"Chunks":[{}]}"#, r#"{"Chunks":{"Path":"a"}}"#] {
            assert_eq!(chunks_of_service(wrong), None, "{wrong}");
            assert_eq!(chunks_of_index(wrong), None, "{wrong}");
        }
    }
}
