//! Base64 as the contract accepts it: the standard alphabet, with or without padding.
//!
//! It checks and pads without decoding: a request's data goes on as text.

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
