//! What a fork did behind the turns that it has of its parent, done again while its export runs.

use aptix_edge::persistence::EntryKind;
use bed::Bed;

use super::bundle::{Bundle, BundledParent};
use super::player::Services;

/// Before the first turn of the fork's own: its tokens count anew, it may have begun a new chain, and may have got
/// another boot prompt.
pub fn fork_before(bed: &Bed, bundle: &Bundle, services: &Services, place: usize) {
    let last = place.checked_sub(1).and_then(|last| bundle.turns.get(last));
    let is_last = |parent: &BundledParent| last.is_some_and(|turn| turn.turn_id == parent.turn_id);
    if !bundle.parent.as_ref().is_some_and(is_last) {
        return;
    }
    let coming = services.coming();
    let next = coming.first().map(|(turn, call)| &bundle.turns[*turn].model_calls[*call]);
    set(bed, "$.total_tokens", "0");
    if let Some(call) = next {
        // The parent's later turns have had numbers, too.
        set(bed, "$.model_calls", &call.number.saturating_sub(1).to_string());
    }
    if next.is_some_and(|call| call.previous_response_id.is_none() && !call.rebuilt) {
        bed.disk.write(
            "UPDATE session SET chain_head = NULL;
             UPDATE turns SET session_after = json_set(session_after, '$.chain_head', NULL)",
        );
    }
    let window = bed.disk.session().map(|session| session["state"]["window"].clone());
    let sends_earlier = |from: u64| {
        let mut sent = next.into_iter().flat_map(|call| &call.input);
        sent.any(|run| run.last.0 > 1 && run.first.0 < from)
    };
    if window.and_then(|window| window["from"].as_u64()).is_some_and(sends_earlier) {
        // Another agent context is sent what an item of the parent's service stands for.
        set(bed, "$.window.from", "0");
    }
    let first = bundle.turns.first();
    let entries = first.into_iter().flat_map(|turn| &turn.conversation);
    for prompt in entries.filter(|entry| entry.kind == EntryKind::System).skip(1) {
        let (seq, items) = (prompt.sequence.0, prompt.items.get().replace('\'', "''"));
        bed.disk.write(&format!(
            "INSERT INTO conversation (seq, turn, kind, entry_state, items)
             VALUES ({seq}, 1, 'system', 'kept', '{items}')"
        ));
        set(bed, "$.window.system_message", &seq.to_string());
    }
    bed.restart();
}

/// Sets a member of the session's state, which stands in the session's row and may stand in a turn's.
fn set(bed: &Bed, member: &str, value: &str) {
    let of_turns = member.replacen('$', "$.state", 1);
    bed.disk.write(&format!(
        "UPDATE session SET state = json_set(state, '{member}', {value});
         UPDATE turns SET session_after = json_set(session_after, '{of_turns}', {value})"
    ));
}

/// Has a turn's next entry stand at its place: a fork lacks the entries of its parent's later turns.
pub fn leave_gap(bed: &Bed, bundle: &Bundle, place: usize) {
    if bundle.parent.is_none() {
        return;
    }
    let newest = bed.disk.read("SELECT MAX(seq) AS seq FROM conversation");
    let newest = newest.first().and_then(|row| row["seq"].as_u64()).unwrap_or(0);
    let places = bundle.turns[place].conversation.iter().map(|entry| entry.sequence.0);
    let next = places.filter(|place| *place > newest).min();
    if let Some(before) = next.map(|next| next - 1).filter(|before| *before > newest) {
        // It belongs to no turn: nothing shows it, and nothing sends it.
        bed.disk.write(&format!(
            "INSERT INTO conversation (seq, turn, kind, entry_state, items)
             VALUES ({before}, 0, 'user', 'forgotten', '[]')"
        ));
        bed.restart();
    }
}
