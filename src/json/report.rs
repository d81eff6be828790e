//! What can be wrong with a value, before anyone has words for it.

use super::nearest_name::NearestName;
use super::node::Node;

/// What is wrong with a value. Only the reader's own texts and names are in it, never a value.
#[derive(Clone, Copy, Debug)]
pub enum Problem<'p> {
    /// The object lacks this member.
    Missing(&'static str),
    /// The member is none that its object has.
    Unknown {
        /// Its name.
        name: &'p str,
        /// The known name that is nearest to it.
        nearest: Option<NearestName<'static>>,
        /// The names that its object has.
        known: &'static [&'static str],
    },
    /// The member is known and has no place here, for this reason.
    Forbidden(&'static str),
    /// An earlier member of the object has the same name.
    Repeated,
    /// The value must be this, and is of another kind.
    WrongKind(&'static str),
    /// The value breaks a rule, which is said in words that follow its name.
    Invalid(&'p str),
}

/// Takes down what is wrong, in the words of whoever reads the document.
pub trait Report {
    /// Whether `null` is as good as absent, for members that may be absent.
    const NULL_IS_ABSENT: bool;

    /// Takes down one problem. A [`Problem::Missing`] is reported at the object.
    fn add(&mut self, at: Node<'_, '_>, problem: Problem<'_>);

    /// Whether nothing that is found can change the report any more; then the rest of the document
    /// is not worth looking at.
    fn is_full(&self) -> bool {
        false
    }
}
