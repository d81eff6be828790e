//! The problems of a value, before a caller puts them into words.

use super::nearest_name::NearestName;
use super::node::Node;

/// A problem of a value. It holds texts of the crate and names of members, and never a value.
#[derive(Clone, Copy, Debug)]
pub enum Problem<'p> {
    /// The object lacks this member.
    Missing(&'static str),
    /// The object's shape has no such member.
    Unknown {
        name: &'p str,
        /// The nearest known name.
        nearest: Option<NearestName<'static>>,
        /// All known names of the shape.
        known: &'static [&'static str],
    },
    /// The object must not have this member, for this reason.
    Forbidden(&'static str),
    /// An earlier member of the object has the same name.
    Repeated,
    /// The value must be of this kind, and is of another.
    WrongKind(&'static str),
    /// The value breaks a rule; these words follow its name in the message.
    Invalid(&'p str),
}

/// Records problems, in the words of the caller.
pub trait Problems {
    /// Whether `null` counts as absent, for members that may be absent.
    const NULL_IS_ABSENT: bool;

    /// Records one problem. A [`Problem::Missing`] stands at the object.
    fn add(&mut self, at: Node<'_, '_>, problem: Problem<'_>);

    /// Whether no further problem can change the report; the rest of the document is then skipped.
    fn is_full(&self) -> bool {
        false
    }
}
