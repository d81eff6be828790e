//! Base64 as the contract accepts it: the standard alphabet, with or without padding.
//!
//! It checks and pads without decoding: a request's data goes on as text. Short texts are written here, too: the
//! encoder of the `base64` crate, which is made for long ones, is 3 KB of the Worker.
//!
//! Signed texts have base64url (RFC 7515, section 2) of one form only.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// The text in its canonical, padded form. `None` when it is not base64: another alphabet, white space,
/// a `data:` prefix, an impossible length, or stray bits after the last byte.
pub fn canonical_base64(mut text: String) -> Option<String> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    let missing = match digits.len() % 4 {
        0 => 0,
        2 => 2,
        3 => 1,
        _ => return None,
    };
    let last_fits = match (missing, digits.bytes().last()) {
        // Only the upper two or four bits of the last digit belong to a byte; the others must be 0.
        (2, Some(last)) => b"AQgw".contains(&last),
        (1, Some(last)) => b"AEIMQUYcgkosw048".contains(&last),
        _ => true,
    };
    let alphabet = digits.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'));
    if !last_fits || !alphabet || (padding != 0 && padding != missing) {
        return None;
    }
    if padding == 0 {
        text.reserve_exact(missing);
        text.extend(std::iter::repeat_n('=', missing));
    }
    Some(text)
}

/// Bytes in base64, padded.
pub fn base64_of(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let [first, second, third] = [0, 1, 2].map(|at| group.get(at).copied().unwrap_or(0));
        let bits = u32::from_be_bytes([0, first, second, third]);
        for (digit, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let value = (bits >> shift) as usize % ALPHABET.len();
            let byte = ALPHABET.get(value).filter(|_| digit <= group.len());
            text.push(byte.map_or('=', |byte| char::from(*byte)));
        }
    }
    text
}

/// The bytes of a text in canonical base64; `None` for any other text.
pub fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Bytes in base64url, without padding.
pub fn base64url_of(bytes: &[u8]) -> String {
    let digit = |digit| match digit {
        '+' => '-',
        '/' => '_',
        digit => digit,
    };
    base64_of(bytes).chars().filter(|digit| *digit != '=').map(digit).collect()
}

/// The bytes of a text in base64url. `None` for any other form than the one: the other alphabet, padding, white space,
/// an impossible length, or stray bits after the last byte.
pub fn base64url_bytes(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_are_written_as_others_write_them(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            prop_assert_eq!(base64_of(&bytes), STANDARD.encode(&bytes));
            prop_assert_eq!(base64url_of(&bytes), URL_SAFE_NO_PAD.encode(&bytes));
        }
    }

    #[test]
    fn padding_may_be_left_out_and_nothing_else() {
        for (given, canonical) in [
            ("", ""),
            ("QUJD", "QUJD"),
            ("QQ==", "QQ=="),
            ("QQ", "QQ=="),
            ("QUI=", "QUI="),
            ("QUI", "QUI="),
            ("+/+/", "+/+/"),
        ] {
            assert_eq!(canonical_base64(given.to_owned()).as_deref(), Some(canonical));
        }
        for bad in [
            "Q",
            "QQ=",
            "QQ===",
            "=",
            "====",
            "QUJD=",
            "QR==",
            "QUJ=",
            "QU=I",
            "-_-_",
            "QUJD\n",
            "QU JD",
            "data:image/png;base64,QUJD",
            "ÄÖÜß",
        ] {
            assert_eq!(canonical_base64(bad.to_owned()), None, "{bad}");
        }
    }

    #[test]
    fn base64url_has_one_form() {
        for (text, bytes) in
            [("", &b""[..]), ("QQ", b"A"), ("QUI", b"AB"), ("-_-_", b"\xfb\xff\xbf")]
        {
            assert_eq!(base64url_bytes(text).as_deref(), Some(bytes));
        }
        for bad in [
            "Q", "QQ=", "QQ==", "QUJD=", "QR", "QUJ", "+/+/", "QUJD\n", " QUJD", "QU JD", "Q-U=",
            "ÄÖÜß", "QUJ\0",
        ] {
            assert_eq!(base64url_bytes(bad), None, "{bad:?}");
        }
    }
}
