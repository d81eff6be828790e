//! Objects of a request whose members are declared: each has one row, from which the object is read. A test holds the
//! published shapes to what is read.

/// Declares an object of a request, as a method of the reader that reads it:
///
/// ```text
/// request_object! {
///     pub(super) fn rag_scope(reader, node) -> RagScope as SCOPE {
///         "Conditions" required => conditions = list(limits::CONDITIONS, Reader::condition),
///     }
/// }
/// ```
///
/// A row is: the name, whether it must be there, the field that gets its value, and the reader's method, which is called
/// with the arguments of the row and the member's node. `or` says what the field holds without the member. A row with `->`
/// gives its value to a name, of which fields are made behind `with`, or the whole result behind `=>`. A row without either
/// is read for its faults alone. A member that is `asked` for must be there by this shape, and need not be by another.
///
/// `pub struct RagScope as SCOPE,` before the method declares the object as well: each field has its type behind its name.
macro_rules! request_object {
    (
        $(#[$about:meta])*
        pub struct $Object:ident as $SHAPE:ident $(forbidding $forbidden:ident)? $(by $shape:ident)?,
        $vis:vis fn $method:ident($reader:ident, $node:ident $(, $parameter:ident: $Parameter:ty)*) {
            $(
                $(#[doc = $said:literal])*
                $name:literal $($need:ident)? $(-> $local:ident)? $(=> $field:ident: $Type:ty)?
                    = $read:ident ($($argument:expr),*) $(or $default:expr)?,
            )*
        }
        $(with { $($more:ident: $More:ty = $made:expr,)* })?
    ) => {
        $(#[$about])*
        pub struct $Object {
            $($(pub $field: $Type,)?)*
            $($(pub $more: $More,)*)?
        }

        request_object! {
            $vis fn $method($reader, $node $(, $parameter: $Parameter)*) -> $Object
            as $SHAPE $(forbidding $forbidden)? $(by $shape)? {
                $(
                    $name $($need)? $(=> $field)? $(-> $local)?
                        = $read($($argument),*) $(or $default)?,
                )*
            }
            $(with { $($more: $made,)* })?
        }
    };
    (
        $(#[$about:meta])*
        $vis:vis fn $method:ident($reader:ident, $node:ident $(, $parameter:ident: $Parameter:ty)*) -> $Object:ty
        as $SHAPE:ident $(forbidding $forbidden:ident)? $(by $shape:ident)? {
            $($name:literal $($need:ident)? $(=> $field:ident)? $(-> $local:ident)?
                = $read:ident ($($argument:expr),*) $(or $default:expr)?,)*
        }
        $(with { $($more:ident: $made:expr,)* })? $(=> $value:expr)?
    ) => {
        pub(super) const $SHAPE: $crate::json::ObjectShape = $crate::json::ObjectShape::new(
            &[$($name),*],
            &[$($(request_object!(@name $name $need),)?)*],
        )$(.forbidding(&$forbidden))?;

        impl Reader {
            $(#[$about])*
            $vis fn $method(
                &mut self,
                $node: $crate::json::Node<'_, '_>
                $(, $parameter: $Parameter)*
            ) -> Option<$Object> {
                let ($reader, shape) = (self, request_object!(@first [$($shape)?] [$SHAPE]));
                $($(let mut $field = None;)? $(let mut $local = None;)?)*
                shape.read($node, $reader, |name, node, reader| match name {
                    $($name => request_object!(
                        @set [$($field)? $($local)?] reader.$read($($argument,)* node)
                    ),)*
                    _ => {}
                });
                $(request_object!(@take [$($field)? $($local)?] [$($need)?] [$($default)?]);)*
                request_object!(@made [$($value)?] $Object { $($($field: $field,)?)* $($($more: $made,)*)? })
            }
        }
    };
    (@name $name:literal required) => { $name };
    (@name $name:literal asked) => { $name };
    (@first [] [$other:expr]) => { $other };
    (@first [$first:expr] [$other:expr]) => { $first };
    (@set [] $value:expr) => {{ let _ = $value; }};
    (@set [$place:ident] $value:expr) => { $place = $value };
    (@take [] $need:tt $default:tt) => {};
    (@take [$place:ident] [required] []) => { let $place = $place?; };
    (@take [$place:ident] [$($asked:ident)?] []) => {};
    (@take [$place:ident] [] [$default:expr]) => { let $place = $place.unwrap_or($default); };
    (@made [$value:expr] $Object:ty { $($field:ident: $taken:expr,)* }) => { Some($value) };
    (@made [] $Object:ty { $($field:ident: $taken:expr,)* }) => {{
        type Read = $Object;
        Some(Read { $($field: $taken),* })
    }};
}

pub(super) use request_object;
