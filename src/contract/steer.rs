//! What a steer adds, and what has become of it: words of a user to a turn that runs or waits (interface §14).
//!
//! It owns the form in which a steer waits in the storage. It checks nothing itself.

use serde::{Deserialize, Serialize};

use super::validation::{ClipboardImage, InputArtifact};
use crate::encoding::{closed_list, sparse_object};

sparse_object! {
    /// What a steer adds to the conversation; at least one of instruction, artifacts and images is present.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase")]
    pub struct SteerContent {
        /// Markdown; never blank.
        pub instruction?: Option<String>,
        /// Files, in the client's order.
        pub input_artifacts?: Vec<InputArtifact>,
        /// Pasted images, in the client's order.
        pub clipboard_images?: Vec<ClipboardImage>,
    }
}

closed_list! {
    /// What has become of a steer that was accepted.
    pub enum SteerState {
        /// The turn lives, and its next model call takes the steer.
        Pending = "pending",
        /// A model call of the turn took it.
        Delivered = "delivered",
        /// The turn ended before a model call of it took the steer, which the next turn's model sees.
        Kept = "kept",
        /// The model service refused it, so no call sends it any more.
        Refused = "refused",
    }
}
