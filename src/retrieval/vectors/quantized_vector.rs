//! A vector in one byte for each number: a quarter of the room that a service's numbers take, for a ranking that
//! differs only in near ties.

/// The bytes before the numbers: the inverse of the vector's length.
const HEAD: usize = 4;

/// The numbers that are multiplied at once.
const LANES: usize = 8;

/// A vector: the inverse of its length as a little-endian `f32`, then its numbers as `i8`, and zeros up to a
/// multiple of [`LANES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QuantizedVector(Vec<u8>);

impl QuantizedVector {
    /// The vector of a service's numbers; the empty one when the numbers have no direction.
    pub(super) fn of(numbers: &[f32]) -> Self {
        let largest = numbers.iter().fold(0_f32, |most, number| most.max(number.abs()));
        let scale = 127.0 / largest;
        if !scale.is_normal() || !numbers.iter().all(|number| number.is_finite()) {
            return Self::none();
        }
        let mut bytes = vec![0; HEAD];
        let mut square = 0;
        for number in numbers {
            let rounded = (number * scale).round_ties_even() as i8;
            square += i32::from(rounded) * i32::from(rounded);
            bytes.push(rounded as u8);
        }
        bytes.resize(HEAD + numbers.len().next_multiple_of(LANES), 0);
        if let Some(head) = bytes.first_chunk_mut::<HEAD>() {
            *head = (square as f32).sqrt().recip().to_le_bytes();
        }
        Self(bytes)
    }

    /// The empty vector, which stands for none.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// The stored form.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The cosines with stored vectors of the same length, in billionths.
    pub(super) fn similarities(&self, stored: &[u8]) -> impl Iterator<Item = i64> {
        let length = self.0.len().max(1);
        stored.chunks_exact(length).map(|other| similarity(&self.0, other))
    }
}

fn similarity(one: &[u8], other: &[u8]) -> i64 {
    let (Some((one_inverse, one)), Some((other_inverse, other))) =
        (one.split_first_chunk::<HEAD>(), other.split_first_chunk::<HEAD>())
    else {
        return 0;
    };
    let inverses = f32::from_le_bytes(*one_inverse) * f32::from_le_bytes(*other_inverse);
    (f64::from(inverses) * f64::from(product(one, other)) * 1e9) as i64
}

/// The sum of the products of numbers. A search of many vectors does little else, so it is done eight at once.
#[cfg(target_arch = "wasm32")]
#[target_feature(enable = "simd128")]
fn product(one: &[u8], other: &[u8]) -> i32 {
    use core::arch::wasm32::{
        i16x8_extend_low_i8x16, i32x4_add, i32x4_dot_i16x8, i32x4_extract_lane, i32x4_splat,
        i64x2_splat,
    };
    let wide =
        |bytes: &[u8; LANES]| i16x8_extend_low_i8x16(i64x2_splat(i64::from_le_bytes(*bytes)));
    let mut sum = i32x4_splat(0);
    for (one, other) in one.as_chunks().0.iter().zip(other.as_chunks().0) {
        sum = i32x4_add(sum, i32x4_dot_i16x8(wide(one), wide(other)));
    }
    i32x4_extract_lane::<0>(sum)
        + i32x4_extract_lane::<1>(sum)
        + i32x4_extract_lane::<2>(sum)
        + i32x4_extract_lane::<3>(sum)
}

/// The same where there are no such instructions.
#[cfg(not(target_arch = "wasm32"))]
fn product(one: &[u8], other: &[u8]) -> i32 {
    let number = |byte: u8| i32::from(byte as i8);
    one.iter().zip(other).map(|(one, other)| number(*one) * number(*other)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cosine_is_that_of_the_numbers_to_a_hundredth(
            one in prop::collection::vec(-1.0_f32..1.0, 70),
            other in prop::collection::vec(-1.0_f32..1.0, 70),
        ) {
            let dot = |a: &[f32], b: &[f32]| -> f64 {
                a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            let cosine = dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt();
            let (one, other) = (QuantizedVector::of(&one), QuantizedVector::of(&other));
            let twice = [other.bytes(), other.bytes()].concat();
            let cosines: Vec<i64> = one.similarities(&twice).collect();
            prop_assert_eq!(cosines.len(), 2);
            for quantized in cosines {
                prop_assert!((quantized as f64 / 1e9 - cosine).abs() < 0.01, "{} {}", quantized, cosine);
            }
        }
    }

    #[test]
    fn numbers_without_a_direction_are_no_vector() {
        for numbers in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0]] {
            assert_eq!(QuantizedVector::of(numbers), QuantizedVector::none(), "{numbers:?}");
        }
    }
}
