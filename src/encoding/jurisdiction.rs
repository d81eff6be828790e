//! The jurisdictions of the platform, by their names.

/// A region to which the platform holds objects and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jurisdiction {
    Eu,
    Us,
    FedRamp,
    FedRampHigh,
}

impl Jurisdiction {
    pub const ALL: [Self; 4] = [Self::Eu, Self::Us, Self::FedRamp, Self::FedRampHigh];

    /// The platform's own name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Eu => "eu",
            Self::Us => "us",
            Self::FedRamp => "fedramp",
            Self::FedRampHigh => "fedramp-high",
        }
    }

    /// The jurisdiction of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }
}
