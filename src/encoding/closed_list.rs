//! Closed lists of names, such as the operators of a scope, each written down once.
//!
//! The wire form, the name as text and the list in messages come from one table. A test holds the
//! published OpenAPI document against it.

/// A closed list of names.
pub trait ClosedList {
    /// Every name, in the order in which messages list them.
    const NAMES: &'static [&'static str];
}

/// Declares an enum whose variants are the names of a closed list.
macro_rules! closed_list {
    ($(#[$doc:meta])* pub enum $list:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $list {
            $($(#[$variant_doc])* #[serde(rename = $name)] $variant,)+
        }

        impl $list {
            /// Every member of the list, in its order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The member of that name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|member| member.as_str() == name)
            }
        }

        impl $crate::contract::ClosedList for $list {
            const NAMES: &'static [&'static str] = &[$($name),+];
        }
    };
}

pub(crate) use closed_list;
