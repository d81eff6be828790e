//! JSON in the canonical form of RFC 8785, for hashes of values.

use serde_json::{Map, Value};

/// A value in the form of RFC 8785: no white space, members in the order of their names' UTF-16 code units,
/// numbers as ECMAScript writes them.
pub fn canonical_json(value: Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.into_iter().enumerate() {
                separate(place, text);
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            // A map has its members in the order of their names' characters.
            let ordered: Map<_, _> =
                members.into_iter().map(|(name, value)| (units_of(&name), value)).collect();
            text.push('{');
            for (place, (name, value)) in ordered.into_iter().enumerate() {
                separate(place, text);
                // Strings are escaped there as the RFC demands.
                text.push_str(&Value::from(text_of(&name)).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Number(number) => text.push_str(&ecmascript(number.as_f64().unwrap_or_default())),
        plain => text.push_str(&plain.to_string()),
    }
}

fn separate(place: usize, text: &mut String) {
    if place > 0 {
        text.push(',');
    }
}

/// The UTF-16 code units of a text, each as the character that has its number beyond U+FFFF, where none is a surrogate.
fn units_of(text: &str) -> String {
    text.encode_utf16().filter_map(|unit| char::from_u32(0x1_0000 + u32::from(unit))).collect()
}

/// The text of such units.
fn text_of(units: &str) -> String {
    let units = units.chars().map(|unit| (u32::from(unit) - 0x1_0000) as u16);
    char::decode_utf16(units).flatten().collect()
}

/// A finite number as ECMAScript's `Number::toString` writes it.
fn ecmascript(number: f64) -> String {
    // The digits are those of ECMAScript, the shortest that read back as the number; the layout is another one.
    let written = Value::from(number.abs()).to_string();
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    // The position of the decimal point, counted from the first digit that is not 0.
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let point = exponent + length(whole) - (length(&digits) - length(significant));
    let digits = significant.trim_end_matches('0');
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let split_at = |place: i32| {
        let place = usize::try_from(place).unwrap_or_default();
        digits.split_at_checked(place).unwrap_or((digits, ""))
    };
    let unsigned = match point {
        _ if digits.is_empty() => return "0".to_owned(),
        22.. | ..=-6 => {
            let (first, rest) = split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            format!("{first}{dot}{rest}e{:+}", point - 1)
        }
        ..=0 => format!("0.{}{digits}", zeros(-point)),
        _ if length(digits) <= point => format!("{digits}{}", zeros(point - length(digits))),
        _ => {
            let (whole, fraction) = split_at(point);
            format!("{whole}.{fraction}")
        }
    };
    if number < 0.0 { format!("-{unsigned}") } else { unsigned }
}

fn length(digits: &str) -> i32 {
    i32::try_from(digits.len()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_the_appendix_of_the_rfc() {
        for (bits, text) in [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            assert_eq!(ecmascript(f64::from_bits(bits)), text);
        }
    }

    #[test]
    fn a_value_is_written_as_in_the_sections_of_the_rfc() {
        for (json, canonical) in [
            (
                r#"{ "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
                     "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false] }"#,
                r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#,
            ),
            (
                r#"{ "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
                     "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis" }"#,
                "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
            ),
            (r#" [ { } , [ ] , -0 , 18446744073709551615 ] "#, "[{},[],0,18446744073709552000]"),
        ] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(canonical_json(value), canonical);
        }
    }
}
