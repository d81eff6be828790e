//! The playground's page (interface §1, `GET /`; §6, `PLAYGROUND`): which file a request means, and the
//! headers that a browser gets with it. The files themselves are `clients/playground/`, built and bundled.

use crate::entry::response::Header;

/// The page, among its files.
const PAGE: &str = "/index.html";

/// The page runs its own scripts and styles, talks to its own origin, and loads nothing else: the address of
/// an image in a model's text could carry the conversation to a stranger. Pasted pictures are `data:` and `blob:`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Whether `PLAYGROUND` serves the page.
pub(super) fn is_on(variable: Option<&str>) -> bool {
    variable == Some("on")
}

/// The file's path, by the target of the request.
pub(super) fn page_path(target: &str) -> &str {
    match target.split('?').next() {
        None | Some("/") => PAGE,
        Some(path) => path,
    }
}

/// The headers of a file. All names but the page's hold a hash of the contents, so they may be kept.
pub(super) fn page_headers(path: &str) -> Vec<Header> {
    let caching = if path == PAGE { "no-cache" } else { "public, max-age=31536000, immutable" };
    [
        ("Cache-Control", caching),
        ("Content-Security-Policy", POLICY),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .into()
}
