//! Bytes and SHA-256 hashes as lower-case hex.

use sha2::{Digest, Sha256};

/// Bytes as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// SHA-256 of bytes in lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// What stands outside of the product for the id of a session or a workspace: 32 hex digits, from which neither tenant nor id
/// can be read. Two users may have sessions of one id.
pub fn hashed_id(tenant: &str, user: Option<&str>, id: &str) -> String {
    let owner = user.map(|user| format!("~{user}\n")).unwrap_or_default();
    let mut hash = sha256_hex(format!("{tenant}\n{owner}{id}").as_bytes());
    hash.truncate(32);
    hash
}

/// Whether the text is 32 bytes in lower-case hex.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The 32 bytes of a text in lower-case hex; `None` for any other text.
pub fn sha256_from_hex(text: &str) -> Option<Vec<u8>> {
    if !is_sha256(text) {
        return None;
    }
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_and_read_in_lower_case() {
        let bytes: Vec<u8> = (0..32).map(|n| n * 8 + 7).collect();
        let text = hex(&bytes);
        assert_eq!(text, "070f171f272f373f474f575f676f777f878f979fa7afb7bfc7cfd7dfe7eff7ff");
        assert_eq!(sha256_from_hex(&text), Some(bytes));
        for wrong in [
            "",
            &text.replacen("07", "", 1),
            &text.to_uppercase(),
            &format!("{text}00"),
            &text.replace('f', "ä"),
        ] {
            assert_eq!(sha256_from_hex(wrong), None);
        }
    }
}
