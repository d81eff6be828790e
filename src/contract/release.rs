//! Which release this build is.

/// The version of the product, which its packages and clients share.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that the build was told, eight digits and `-dirty` where the checkout had changes of its own; `None` where it
/// was told none.
pub const COMMIT: Option<&str> = match option_env!("APTIX_COMMIT") {
    Some(told) if !told.is_empty() => Some(told),
    _ => None,
};

/// The version with the commit behind it, as in `0.2.0+c406094a`: how the build names itself in spans and to webhooks.
pub fn release() -> String {
    COMMIT.map_or_else(|| VERSION.to_owned(), |commit| format!("{VERSION}+{commit}"))
}
