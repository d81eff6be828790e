//! Reading the body of `POST /sessions/{SessionId}/turns/{TurnId}/steer` (interface §14).
//!
//! A steer adds words and changes no setting of its turn, so the settings of a User Turn are forbidden here. The rules
//! of its words are those of a User Turn.

use super::body::object_text;
use super::reader::Reader;
use super::user_turn::{self, UserInput};
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
    let (mut steer_id, mut input, mut interrupt) = (None, UserInput::default(), false);
    STEER.read(Node::root(body), &mut reader, |name, node, reader| match name {
        "SteerId" => steer_id = reader.identifier(SteerId::parse, node),
        "Interrupt" => interrupt = node.flag(reader).unwrap_or_default(),
        _ => input.read(name, node, reader),
    });
    input.refuse_none("The steer", &mut reader);
    let UserInput { instruction, artifacts, images, .. } = input;
    let content =
        SteerContent { instruction, input_artifacts: artifacts, clipboard_images: images };
    reader.settle(steer_id.map(|steer_id| SteerRequest { steer_id, content, interrupt }))
}
