//! The jurisdictions of the platform, by their names.

use super::closed_list::closed_list;

closed_list! {
    /// A region to which the platform holds objects and files.
    pub enum Jurisdiction {
        Eu = "eu",
        Us = "us",
        FedRamp = "fedramp",
        FedRampHigh = "fedramp-high",
    }
}
