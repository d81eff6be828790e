//! What a secret of the deployment is in the words of a service that it was sent to (interface §6).

/// A shorter secret, in characters, is found in texts that have nothing to do with it. To replace it
/// there would garble them, and hide nothing that could not be guessed.
const SHORTEST: usize = 4;

/// The text by which a service would repeat a secret that it got in a header, where white space at the
/// ends is lost; `None` for one that is too short to be told from other text.
pub fn as_repeated(secret: &str) -> Option<&str> {
    Some(secret.trim_matches([' ', '\t'])).filter(|text| text.len() >= SHORTEST)
}
