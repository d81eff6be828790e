//! Reading the body of `POST /sessions/{SessionId}/turns/{TurnId}/steer` (interface §14).
//!
//! A steer adds words and changes no setting of its turn, so the settings of a User Turn are forbidden here. The rules
//! of its words are those of a User Turn.

use super::reader::Reader;
use super::request_object::request_object;
use super::user_turn::forbidden_in_others;
use crate::contract::{Fault, SteerContent, SteerId};
use crate::json::ForbiddenMembers;

const FORBIDDEN: [ForbiddenMembers; 5] = forbidden_in_others(
    "has no place in a steer, which adds words and changes no setting of its turn; remove it",
);

request_object! {
    /// The body of `POST …/steer`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SteerRequest as STEER forbidding FORBIDDEN, fn steer(reader, node) {
        /// The steer; also the request's idempotency key.
        "SteerId" required => steer_id: SteerId = identifier(SteerId::parse),
        "Instruction" -> instruction = instruction(),
        "InputArtifacts" -> input_artifacts = artifacts() or Vec::new(),
        "ClipboardImages" -> clipboard_images = images() or Vec::new(),
        /// Whether a model call that is under way is dropped and made again with the steer.
        "Interrupt" => interrupt: bool = flag() or false,
    } with {
        content: SteerContent = SteerContent { instruction, input_artifacts, clipboard_images },
    }
}

/// Reads a steer.
pub fn parse_steer(body: &[u8]) -> Result<SteerRequest, Vec<Fault>> {
    Reader::read_body(body, |reader, node| {
        let steer = reader.steer(node);
        reader.refuse_without_input("The steer");
        steer
    })
}
