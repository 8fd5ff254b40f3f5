//! The methods, one file per namespace.
//!
//! A method is a unit type that implements [`Method`](crate::Method); its parameters and result are plain structs
//! with camelCase names. Every parameter object carries `ctx`; every result carries `snapshot` and `warnings`.

use serde::{Deserialize, Serialize};

pub mod daemon;

/// Something that did not stop a call but that the caller should know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Warning {
    /// Dotted name.
    pub code: String,
    /// One line.
    pub message: String,
    /// The command that would settle it, if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fix: Vec<crate::Fix>,
}
