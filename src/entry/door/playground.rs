//! The playground's page (interface §1, `GET /`; §6, `PLAYGROUND`): which file a request means, and the
//! headers that a browser gets with it. The files themselves are `clients/playground/`, built and bundled.

use crate::entry::response::Header;

/// The page, among its files.
const PAGE: &str = "/index.html";

/// What the page may talk to besides its own origin where `AUTH` is `none`: a back end on this machine that gives
/// tickets, as `make dev` brings one.
const THIS_MACHINE: &str = " http://127.0.0.1:*";

/// The page runs its own scripts and styles, talks to its own origin, and loads nothing else: the address of
/// an image in a model's text could carry the conversation to a stranger. Pasted pictures are `data:` and `blob:`.
fn policy(is_open: bool) -> String {
    let more = if is_open { THIS_MACHINE } else { "" };
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self'{more}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// The file's path, by the target of the request.
pub(super) fn page_path(target: &str) -> &str {
    match target.split('?').next() {
        None | Some("/") => PAGE,
        Some(path) => path,
    }
}

/// The headers of a file. All names but the page's hold a hash of the contents, so they may be kept.
/// `is_open`: `AUTH` is `none`.
pub(super) fn page_headers(path: &str, is_open: bool) -> Vec<Header> {
    let caching = if path == PAGE { "no-cache" } else { "public, max-age=31536000, immutable" };
    [
        ("Cache-Control", caching.to_owned()),
        ("Content-Security-Policy", policy(is_open)),
        ("Referrer-Policy", "no-referrer".to_owned()),
        ("X-Content-Type-Options", "nosniff".to_owned()),
    ]
    .into()
}
