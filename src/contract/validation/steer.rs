//! Reading the body of `POST /sessions/{SessionId}/turns/{TurnId}/steer` (interface §14).
//!
//! A steer adds words and changes no setting of its turn, so the settings of a User Turn are forbidden here. The rules
//! of its words are those of a User Turn.

use super::body::object_text;
use super::reader::Reader;
use super::user_turn::{self, read_artifacts, read_images, read_instruction};
use crate::contract::error_code::ErrorCode;
use crate::contract::fault::Fault;
use crate::contract::identifiers::SteerId;
use crate::contract::steer::{SteerContent, SteerRequest};
use crate::json::{ForbiddenMembers, Node, ObjectShape};

const STEER: ObjectShape = ObjectShape::new(
    &["SteerId", "Instruction", "InputArtifacts", "ClipboardImages", "Interrupt"],
    &["SteerId"],
)
.forbidding(&FORBIDDEN);

const FORBIDDEN: [ForbiddenMembers; 5] = {
    let [mode, conversation_id, people, others] = user_turn::SERVER_OWNED;
    // A known member is never forbidden: the last group forbids the members that only a User Turn has.
    let of_user_turns = ForbiddenMembers {
        names: user_turn::MEMBERS,
        problem: "has no place in a steer, which adds words and changes no setting of its turn; remove it",
        unset_is_absent: true,
    };
    [mode, conversation_id, people, others, of_user_turns]
};

/// Reads a steer.
pub fn parse_steer(body: &[u8]) -> Result<SteerRequest, Vec<Fault>> {
    let body = object_text(body)?;
    let mut reader = Reader::default();
    let (mut steer_id, mut instruction, mut interrupt) = (None, None, false);
    let (mut input_artifacts, mut clipboard_images) = (Vec::new(), Vec::new());
    // Input that is wrong is not reported as missing as well.
    let mut has_input = false;
    STEER.read(Node::root(body), &mut reader, |name, node, reader| match name {
        "SteerId" => steer_id = reader.identifier(SteerId::parse, node),
        "Instruction" => {
            let is_blank;
            (instruction, is_blank) = read_instruction(node, reader);
            has_input |= !is_blank;
        }
        "InputArtifacts" => {
            has_input |= !node.is_empty_array();
            input_artifacts = read_artifacts(node, reader);
        }
        "ClipboardImages" => {
            has_input |= !node.is_empty_array();
            clipboard_images = read_images(node, reader);
        }
        "Interrupt" => interrupt = node.flag(reader).unwrap_or_default(),
        _ => {}
    });
    if !has_input {
        reader.record(ErrorCode::EmptyTurn, || {
            Fault::new(
                ErrorCode::EmptyTurn,
                "The steer has no input; send a non-empty Instruction, InputArtifacts or \
                 ClipboardImages.",
            )
        });
    }
    let content = SteerContent { instruction, input_artifacts, clipboard_images };
    reader.settle(steer_id.map(|steer_id| SteerRequest { steer_id, content, interrupt }))
}
