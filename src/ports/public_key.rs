//! A public key, with which the machine checks a signature (interface §13).

/// A public key. Its members are those of a JWK (RFC 7517): numbers as bytes in base64url.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// For RSASSA-PKCS1-v1_5 with SHA-256: modulus and exponent.
    Rsa { n: String, e: String },
    /// For ECDSA with SHA-256: a point of the curve P-256.
    P256 { x: String, y: String },
    /// For Ed25519.
    Ed25519 { x: String },
}

impl PublicKey {
    /// The members of its JWK, without the braces around them.
    pub fn jwk_members(&self) -> String {
        // Base64url needs no escapes.
        match self {
            Self::Rsa { n, e } => format!(r#""kty":"RSA","n":"{n}","e":"{e}""#),
            Self::P256 { x, y } => format!(r#""kty":"EC","crv":"P-256","x":"{x}","y":"{y}""#),
            Self::Ed25519 { x } => format!(r#""kty":"OKP","crv":"Ed25519","x":"{x}""#),
        }
    }
}
