//! What may be inside a bundle: names, amounts, twins.
//!
//! The same rules judge members of an archive and files of a local folder, before anything is written. They look at
//! names and sizes only; entry types (links, devices, sparse files) are known to the reader of the container, which
//! refuses everything but regular files and directories.
//!
//! Source: ADR-1244 D5 rule 1 and 5, decision D-19, threats T01 to T33.

pub mod budget;
pub mod member;
pub mod pax;
pub mod twins;
pub mod unstaged;

pub use budget::{Budget, BudgetExceeded};
pub use member::{MemberRefusal, RelPath, check_member};
pub use twins::{TwinGuard, TwinRefusal};
pub use unstaged::{is_cache_entry, is_vcs_entry};
