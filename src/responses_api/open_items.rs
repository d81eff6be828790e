//! Which output item an event without an index concerns: the unfinished one of its kind with its id, else the last
//! unfinished one of its kind.
//!
//! A service may begin a thousand items and then send small events that each look for one of them. So a search looks
//! at few of the items, however many are open. Nothing here knows what an item holds.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::output_item::ItemKind;

/// Items by kind and output index.
type Places = BTreeSet<(ItemKind, u64)>;

/// The items that are not whole yet.
#[derive(Debug, Default)]
pub(super) struct OpenItems {
    all: Places,
    by_id: BTreeMap<Rc<str>, Places>,
}

impl OpenItems {
    pub(super) fn add(&mut self, kind: ItemKind, index: u64, id: Option<&Rc<str>>) {
        self.all.insert((kind, index));
        if let Some(id) = id {
            self.by_id.entry(Rc::clone(id)).or_default().insert((kind, index));
        }
    }

    /// Takes an item out, by what it was added with.
    pub(super) fn remove(&mut self, kind: ItemKind, index: u64, id: Option<&Rc<str>>) {
        self.all.remove(&(kind, index));
        if let Some(id) = id
            && let Some(same_id) = self.by_id.get_mut(id)
        {
            same_id.remove(&(kind, index));
            if same_id.is_empty() {
                self.by_id.remove(id);
            }
        }
    }

    /// The index of the item that an event for this kind and id concerns; `None` for a new item.
    pub(super) fn find(&self, kind: ItemKind, id: Option<&str>) -> Option<u64> {
        let same_id = id.and_then(|id| self.by_id.get(id));
        same_id.and_then(|places| last(places, kind)).or_else(|| last(&self.all, kind))
    }

    /// The bytes that a search for an id compares at most: ids may be long and differ at their ends.
    pub(super) fn compared(&self, id: Option<&str>) -> usize {
        let comparisons = usize::BITS - self.by_id.len().leading_zeros();
        id.map_or(0, str::len).saturating_mul(comparisons as usize)
    }
}

fn last(places: &Places, kind: ItemKind) -> Option<u64> {
    places.range((kind, 0)..=(kind, u64::MAX)).next_back().map(|(_, index)| *index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ItemKind::{FunctionCall, Message};

    #[test]
    fn the_id_decides_within_a_kind_and_else_the_last_one_of_the_kind_is_meant() {
        let (a, b): (Rc<str>, Rc<str>) = ("a".into(), "b".into());
        let mut open = OpenItems::default();
        assert_eq!(open.find(Message, Some("a")), None);
        open.add(Message, 1, Some(&a));
        open.add(FunctionCall, 2, Some(&a));
        open.add(Message, 3, Some(&a));
        open.add(Message, 4, Some(&b));
        open.add(Message, 5, None);
        for (kind, id, index) in [
            (Message, Some("a"), 3),
            (Message, Some("b"), 4),
            (Message, Some("rotated"), 5),
            (Message, None, 5),
            (FunctionCall, Some("b"), 2),
        ] {
            assert_eq!(open.find(kind, id), Some(index), "{kind:?} {id:?}");
        }
        open.remove(Message, 3, Some(&a));
        open.remove(Message, 5, None);
        assert_eq!(open.find(Message, Some("a")), Some(1));
        assert_eq!(open.find(Message, None), Some(4));
        open.remove(FunctionCall, 2, Some(&a));
        assert_eq!(open.find(FunctionCall, Some("a")), None);
    }
}
