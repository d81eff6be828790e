//! Objects whose JSON leaves members out that say nothing, as a transcript leaves out what has not happened.

/// Declares such objects. A member that is written `name?: Type` is left out where it holds the default of its type, and
/// has that default where it is absent; all others are always written, but for those that stand last as `unwritten`.
macro_rules! sparse_object {
    ($($(#[$about:meta])* $vis:vis struct $Name:ident $(<$life:lifetime>)? { $($members:tt)* })+) => {
        $($crate::encoding::sparse_object!(
            @of [$(#[$about])* $vis struct $Name $(<$life>)?] [] $($members)*
        );)+
    };
    (@of [$($head:tt)*] [$($members:tt)*]) => {
        $($head)* { $($members)* }
    };
    (@of [$($head:tt)*] [$($members:tt)*]
        unwritten { $($(#[$about:meta])* $vis:vis $name:ident: $Type:ty,)* }) => {
        $($head)* { $($members)* $($(#[$about])* #[serde(skip)] $vis $name: $Type,)* }
    };
    (@of $head:tt $members:tt
        $(#[$about:meta])* $vis:vis $name:ident?: Option<$Type:ty>, $($rest:tt)*) => {
        $crate::encoding::sparse_object!(@sparse $head $members
            [$(#[$about])* #[serde(default, skip_serializing_if = "Option::is_none")]]
            [$vis $name: Option<$Type>,] $($rest)*);
    };
    (@of $head:tt $members:tt
        $(#[$about:meta])* $vis:vis $name:ident?: Vec<$Type:ty>, $($rest:tt)*) => {
        $crate::encoding::sparse_object!(@sparse $head $members
            [$(#[$about])* #[serde(default, skip_serializing_if = "Vec::is_empty")]]
            [$vis $name: Vec<$Type>,] $($rest)*);
    };
    (@of $head:tt $members:tt
        $(#[$about:meta])* $vis:vis $name:ident?: $Type:ty, $($rest:tt)*) => {
        $crate::encoding::sparse_object!(@sparse $head $members
            [$(#[$about])* #[serde(default, skip_serializing_if = "crate::encoding::is_default")]]
            [$vis $name: $Type,] $($rest)*);
    };
    (@of $head:tt $members:tt
        $(#[$about:meta])* $vis:vis $name:ident: $Type:ty, $($rest:tt)*) => {
        $crate::encoding::sparse_object!(
            @sparse $head $members [$(#[$about])*] [$vis $name: $Type,] $($rest)*
        );
    };
    (@sparse $head:tt [$($members:tt)*] [$($about:tt)*] [$($member:tt)*] $($rest:tt)*) => {
        $crate::encoding::sparse_object!(
            @of $head [$($members)* $($about)* $($member)*] $($rest)*
        );
    };
}

pub(crate) use sparse_object;

/// Whether a value is the default of its type.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
