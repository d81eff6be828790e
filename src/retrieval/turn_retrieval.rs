//! What a user turn is given besides its own artifacts (the interface, section 7): chunks of its
//! workspace, asked for once, before the turn is composed.
//!
//! Whoever is asked, its failure is a warning to the user and never the turn's.

use serde::{Deserialize, Serialize};

use super::Chunk;
use super::language_of;
use crate::catalog::{Retrieval, RetrievalSource};
use crate::contract::validation::artifact_path::relative_path_problem;
use crate::contract::{RagScope, UserTurn};
use crate::outbound::post;
use crate::ports::Platform;

/// The largest answer of a retrieval service that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 1_000_000;

/// What was found for a turn.
#[derive(Debug, Default)]
pub struct Retrieved {
    /// In rank order, within the agent context's limits.
    pub chunks: Vec<Chunk>,
    /// What was found and left out, and why.
    pub left_out: Vec<LeftOut>,
    /// Whoever was asked failed; the turn goes on without it.
    pub failed: bool,
}

/// A chunk that was found and is not given, or the retrieval itself when it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The chunk's path, where it may be shown.
    pub path: Option<String>,
    /// Why.
    pub why: &'static str,
}

/// What a retrieval service is asked, and with fewer members a workspace's index.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Question<'a> {
    /// The user's own words.
    pub query: &'a str,
    /// Narrows the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rag_scope: Option<&'a RagScope>,
    /// For a service that keeps many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<&'a str>,
    /// Advisory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<&'a str>,
    /// Advisory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<&'a str>,
    /// The most chunks; before it is asked, only where the agent context does not decide.
    pub limit: Option<u32>,
}

/// The workspace that a turn asks, and what; nothing without a workspace or an instruction.
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

/// A chunk as an answer spells it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GivenChunk {
    path: String,
    start_line: usize,
    end_line: usize,
    #[serde(default)]
    language: Option<String>,
    text: String,
}

/// Asks for chunks of a workspace.
pub async fn retrieve<P: Platform>(
    platform: &P,
    retrieval: &Retrieval,
    workspace: &str,
    question: Question<'_>,
) -> Retrieved {
    let limit = question.limit.unwrap_or(retrieval.limit);
    let answer = match &retrieval.source {
        RetrievalSource::None => return Retrieved::default(),
        RetrievalSource::Index => {
            let asked = Question { repo: None, language: None, limit: Some(limit), ..question };
            let answer = match serde_json::to_string(&asked) {
                Ok(body) => platform.search_workspace(workspace, body).await.ok(),
                Err(_) => None,
            };
            answer.and_then(|answer| found_in(&answer))
        }
        RetrievalSource::Http(service) => {
            let asked = Question { workspace_id: Some(workspace), limit: Some(limit), ..question };
            let answer = match serde_json::to_string(&asked) {
                Ok(body) => post(platform, service, body, MAX_ANSWER_BYTES).await.ok(),
                Err(_) => None,
            };
            answer.and_then(|answer| chunks_in(&answer))
        }
    };
    match answer {
        Some(found) => within(found, limit as usize, retrieval.max_bytes as usize),
        None => Retrieved {
            failed: true,
            left_out: vec![LeftOut { path: None, why: "it failed" }],
            ..Retrieved::default()
        },
    }
}

/// Keeps the best chunks within the limits. One that is too long makes room for the next.
fn within(found: Vec<GivenChunk>, limit: usize, max_bytes: usize) -> Retrieved {
    let mut retrieved = Retrieved::default();
    let mut room = max_bytes;
    for given in found {
        let left_out = if relative_path_problem(&given.path).is_some() {
            // Such a path is no path to show.
            Some(LeftOut { path: None, why: "its path is not a relative one" })
        } else if retrieved.chunks.len() >= limit {
            Some(LeftOut { path: Some(given.path.clone()), why: "the limit of chunks is reached" })
        } else if given.text.len() > room {
            let why = "it does not fit the budget of bytes";
            Some(LeftOut { path: Some(given.path.clone()), why })
        } else {
            None
        };
        match left_out {
            Some(left_out) => retrieved.left_out.push(left_out),
            None => {
                room -= given.text.len();
                retrieved.chunks.push(Chunk {
                    start_line: given.start_line,
                    end_line: given.end_line,
                    language: language_of(given.language.as_deref(), &given.path),
                    path: given.path,
                    text: given.text,
                });
            }
        }
    }
    retrieved
}

/// The chunks of a service's answer; `None` when it is none.
fn chunks_in(answer: &str) -> Option<Vec<GivenChunk>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Answer {
        chunks: Vec<GivenChunk>,
    }
    serde_json::from_str::<Answer>(answer).ok().map(|answer| answer.chunks)
}

/// The chunks of an index's `InvokeResult`; `None` when it was not successful.
fn found_in(answer: &str) -> Option<Vec<GivenChunk>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Answered<'a> {
        #[serde(borrow)]
        result: &'a serde_json::value::RawValue,
    }
    let answered: Answered<'_> = serde_json::from_str(answer).ok()?;
    chunks_in(answered.result.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(path: &str, bytes: usize) -> GivenChunk {
        GivenChunk {
            path: path.to_owned(),
            start_line: 1,
            end_line: 2,
            language: None,
            text: "x".repeat(bytes),
        }
    }

    #[test]
    fn the_best_chunks_that_fit_are_kept_and_the_others_are_told() {
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
    fn only_a_right_answer_is_one() {
        let chunk = r#"{"Path":"a","StartLine":1,"EndLine":2,"Text":"t","Score":3}"#;
        assert_eq!(
            chunks_in(&format!(r#"{{"Chunks":[{chunk}]}}"#)).map(|found| found.len()),
            Some(1)
        );
        let wrapped = format!(r#"{{"Result":{{"Chunks":[{chunk}]}}}}"#);
        assert_eq!(found_in(&wrapped).map(|found| found.len()), Some(1));
        for wrong in ["", "[]", "{}", r#"{"Chunks":[{}]}"#, r#"{"Chunks":{"Path":"a"}}"#] {
            assert!(chunks_in(wrong).is_none() && found_in(wrong).is_none(), "{wrong}");
        }
    }
}
