//! The form of what is shown: objects whose members are written in Pascal case, and left out where there is nothing.

/// Declares objects that are shown. A member whose type is `Option` is left out where it is `None`.
macro_rules! shown {
    ($($(#[$about:meta])* $vis:vis struct $Name:ident $(<$life:lifetime>)? { $($members:tt)* })+) => {
        $($crate::contract::shown!(
            @of [$(#[$about])* $vis struct $Name $(<$life>)?] [] $($members)*
        );)+
    };
    (@of [$($head:tt)*] [$($members:tt)*]) => {
        #[derive(Debug, serde::Serialize)]
        #[serde(rename_all = "PascalCase")]
        $($head)* { $($members)* }
    };
    (@of $head:tt [$($members:tt)*]
        $(#[$about:meta])* $vis:vis $name:ident: Option<$Type:ty>, $($rest:tt)*) => {
        $crate::contract::shown!(@of $head [
            $($members)*
            $(#[$about])* #[serde(skip_serializing_if = "Option::is_none")]
            $vis $name: Option<$Type>,
        ] $($rest)*);
    };
    (@of $head:tt [$($members:tt)*]
        $(#[$about:meta])* $vis:vis $name:ident: $Type:ty, $($rest:tt)*) => {
        $crate::contract::shown!(
            @of $head [$($members)* $(#[$about])* $vis $name: $Type,] $($rest)*
        );
    };
}

pub(crate) use shown;
