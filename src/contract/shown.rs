//! The form of what is shown: objects whose members are written in Pascal case.

/// Declares objects that are shown. A member that is written `name?: Type` is left out where it says nothing.
macro_rules! shown {
    ($($(#[$about:meta])* $vis:vis struct $Name:ident $(<$life:lifetime>)? { $($members:tt)* })+) => {
        $crate::encoding::sparse_object! {
            $(
                #[derive(Debug, serde::Serialize)]
                #[serde(rename_all = "PascalCase")]
                $(#[$about])* $vis struct $Name $(<$life>)? { $($members)* }
            )+
        }
    };
}

pub(crate) use shown;
