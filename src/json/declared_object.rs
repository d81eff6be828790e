//! Objects whose members are declared: each has one row, from which the object is read, and with which a published schema
//! is compared.

use serde_json::Value;

/// What an object is, and its members in their order.
pub struct Declaration {
    /// The sentence of a schema.
    pub description: &'static str,
    pub members: Vec<DeclaredMember>,
}

/// A member of an object.
pub struct DeclaredMember {
    pub name: &'static str,
    pub is_required: bool,
    /// The sentence of a schema; empty where the kind of the value says all.
    pub description: &'static str,
    /// The schema of its value, where the row says all of it.
    pub value: Option<Value>,
}

/// An object that is declared.
pub trait DeclaredObject {
    /// Its description and its members, for a schema.
    fn declaration() -> Declaration;
}

/// Declares the members of an object:
///
/// ```text
/// declared_object! {
///     /// What the schema says of the object.
///     Embeddings by Findings {
///         /// What the schema says of the member.
///         "Model" required => model = model(),
///         "Weight" => weight = thousandths() or 430,
///     }
/// }
/// ```
///
/// A row is: the name, whether it must be there, the field that gets its value, and the function that reads it, which is
/// called with the node, the arguments of the row and the report. `or` says what the field holds without the member, if
/// that is not what the object's `Default` says. A row without a field is read for its faults alone.
macro_rules! declared_object {
    (
        $(#[doc = $description:literal])*
        $Object:ident by $Report:ty {
            $(
                $(#[doc = $about:literal])*
                $name:literal $($required:ident)? $(=> $($field:ident).+)?
                    = $($read:ident)::+ ($($argument:expr),*) $(or $default:expr)?,
            )*
        }
    ) => {
        impl $Object {
            const SHAPE: $crate::json::ObjectShape = $crate::json::ObjectShape::new(
                &[$($name),*],
                &[$($($crate::json::declared_object!(@name $name $required),)?)*],
            );

            /// Reads the object.
            pub(super) fn read(node: $crate::json::Node<'_, '_>, report: &mut $Report) -> Self {
                Self::read_as(Self::SHAPE, node, report)
            }

            fn read_as(
                shape: $crate::json::ObjectShape,
                node: $crate::json::Node<'_, '_>,
                report: &mut $Report,
            ) -> Self {
                let mut object = Self::default();
                $($crate::json::declared_object!(@default object [$($($field).+)?] [$($default)?]);)*
                shape.read(node, report, |name, node, report| match name {
                    $($name => $crate::json::declared_object!(
                        @set object [$($($field).+)?] $($read)::+ (node, $($argument,)* report)
                    ),)*
                    _ => {}
                });
                object
            }
        }

        impl $crate::json::DeclaredObject for $Object {
            fn declaration() -> $crate::json::Declaration {
                $crate::json::Declaration {
                    description: concat!($($description),*),
                    members: vec![$($crate::json::DeclaredMember {
                        name: $name,
                        is_required: Self::SHAPE.requires($name),
                        description: concat!($($about),*),
                        value: $crate::json::declared_object!(@value $($read)::+ ($($argument),*)),
                    }),*],
                }
            }
        }
    };
    (@name $name:literal required) => { $name };
    (@default $object:ident [$($field:tt)*] []) => {};
    (@default $object:ident [$($field:ident).+] [$default:expr]) => { $object.$($field).+ = $default };
    (@set $object:ident [] $value:expr) => {{ let _ = $value; }};
    (@set $object:ident [$($field:ident).+] $value:expr) => { $object.$($field).+ = $value.into() };
    (@value flag()) => { Some(serde_json::json!({ "type": "boolean" })) };
    (@value integer($bounds:expr)) => {
        Some(serde_json::json!({
            "type": "integer", "minimum": $bounds.start(), "maximum": $bounds.end()
        }))
    };
    (@value choice($choices:expr)) => {
        Some(serde_json::json!({ "enum": $choices.map(|(word, _)| word) }))
    };
    (@value word($all:expr)) => {
        Some(serde_json::json!({ "enum": $all.iter().map(|word| word.as_str()).collect::<Vec<_>>() }))
    };
    (@value prose($most:expr)) => {
        Some(serde_json::json!({ "type": "string", "maxLength": $most }))
    };
    (@value filled_prose($most:expr)) => {
        Some(serde_json::json!({ "type": "string", "maxLength": $most, "pattern": "\\S" }))
    };
    (@value $($reader:tt)*) => { None };
}

pub(crate) use declared_object;
