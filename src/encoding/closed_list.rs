//! Closed lists of names, such as the operators of a scope, each written down once.
//!
//! The wire form, the name as text and the list in messages come from one table. A test holds the
//! published OpenAPI document against it.

/// A closed list of names.
pub trait ClosedList: Copy + 'static {
    /// Every name, in the order in which messages list them.
    const NAMES: &'static [&'static str];
    /// The members, in the same order.
    const MEMBERS: &'static [Self];

    /// The member of that name.
    fn of_name(name: &str) -> Option<Self> {
        let mut named = Self::NAMES.iter().zip(Self::MEMBERS);
        named.find(|(known, _)| **known == name).map(|(_, member)| *member)
    }
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
                $crate::encoding::ClosedList::of_name(name)
            }
        }

        impl $crate::encoding::ClosedList for $list {
            const NAMES: &'static [&'static str] = &[$($name),+];
            const MEMBERS: &'static [Self] = Self::ALL;
        }
    };
}

pub(crate) use closed_list;
