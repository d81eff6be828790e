//! Objects whose members are declared: each has one row, from which the object is read, and with which a published schema
//! is compared.

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
///
/// `pub struct` before the name declares the fields as well, each with its type behind its name. Those that no member
/// fills by itself stand in a `with` behind the rows.
macro_rules! declared_object {
    (
        $(#[doc = $description:literal])*
        $(#[derive($Derived:ident)])?
        pub struct $Object:ident by $Report:ty {
            $(
                $(#[doc = $about:literal])*
                $name:literal $($required:ident)? $(=> $field:ident $(. $inner:ident)* $(: $Type:ty)?)?
                    = $($read:ident)::+ ($($argument:expr),*) $(or $default:expr)?,
            )*
        } $(with { $($more:tt)* })?
    ) => {
        $(#[doc = $description])*
        #[derive(Clone, Debug, Default, PartialEq $(, $Derived)?)]
        pub struct $Object {
            $($($(pub $field: $Type,)?)?)*
            $($($more)*)?
        }

        $crate::json::declared_object! {
            $Object by $Report {
                $(
                    $name $($required)? $(=> $field $(. $inner)*)?
                        = $($read)::+ ($($argument),*) $(or $default)?,
                )*
            }
        }
    };
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
    };
    (@name $name:literal required) => { $name };
    (@default $object:ident [$($field:tt)*] []) => {};
    (@default $object:ident [$($field:ident).+] [$default:expr]) => { $object.$($field).+ = $default };
    (@set $object:ident [] $value:expr) => {{ let _ = $value; }};
    (@set $object:ident [$($field:ident).+] $value:expr) => { $object.$($field).+ = $value.into() };
}

pub(crate) use declared_object;
