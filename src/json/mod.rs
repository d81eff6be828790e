//! Reading JSON in place: objects of a known shape, and values with their places and problems.
//!
//! It owns the rules that hold for every object of every document: known, missing, repeated and
//! forbidden members, and the nearest known name of an unknown one. It knows no document: its
//! callers own the meaning of a member and the words in which a [`Problem`] is reported.
//!
//! Values are slices of the document, so nothing is built for a value without a reader.
//!
//! Architecture Invariant: this folder names nobody else in the crate.

mod canonical;
mod declared_object;
mod nearest_name;
mod node;
mod object;
mod object_shape;
mod place;
mod problems;
mod reading;
mod schema;
mod string_text;
mod walk;
mod well_formed;

pub use canonical::canonical_json;
pub(crate) use declared_object::declared_object;
pub use nearest_name::{NearestName, nearest_name};
pub use node::{Kind, Node};
pub use object::{BorrowedText, Object, from_object};
pub use object_shape::{ForbiddenMembers, ObjectShape};
pub use place::{Location, Place};
pub use problems::{Problem, Problems};
pub use reading::named_values;
pub use schema::schema_problem;
pub use string_text::{text_of, with_whole_characters};
pub use walk::{any_text, first_member, for_each_element, for_each_member};
pub use well_formed::{
    DEPTH_LIMIT, Malformed, check, is_ambiguous, is_json, nests_deeper_than, not_json,
    position_after, repeats_a_member,
};
