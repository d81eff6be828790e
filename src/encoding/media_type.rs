//! Media types as the contract accepts them: `type/subtype`, with optional parameters such as
//! `; charset=utf-8`.

/// Whether the text is a media type.
pub fn is_media_type(text: &str) -> bool {
    let is_token = |token: &str| {
        !token.is_empty()
            && token.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    !text.chars().any(char::is_control)
        && essence(text)
            .split_once('/')
            .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// A media type without its parameters.
pub fn essence(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim_end()
}
