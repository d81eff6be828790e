//! What the operator bills by: one data point for each submission (interface §16).

use serde::Serialize;

/// A data point, in the form of Workers Analytics Engine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DataPoint {
    /// The one by which points are sampled.
    pub indexes: [String; 1],
    pub blobs: Vec<String>,
    pub doubles: Vec<f64>,
}
