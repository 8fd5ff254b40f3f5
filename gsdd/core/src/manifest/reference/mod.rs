//! The reference of the manifest, written by the code that judges it: the page of rules, the schema for editors, and
//! which members are read at all.
//!
//! The committed copies below `docs/reference` are compared with these in a test.

mod not_in_schema;
mod rules_page;
mod schema;
mod unknown_members;

pub use not_in_schema::{NOT_IN_SCHEMA, NotInSchema};
pub use rules_page::rules_page;
pub use schema::schema;
pub use unknown_members::unknown_members;
