//! Whether a composed capability and each of its hooks is active: configuration, install profile, surface.
//!
//! Stages 3 and 4 of the activation chain; stage 2, composition, is over when anything here is asked.
//!
//! Source: overlay model, "The activation chain".

mod config;
mod surface;
mod switch;

pub use config::{ConfigLayers, ConfigOrigin, ConfigView, is_truthy};
pub use surface::{EnabledSkills, SkillUniverse, SurfaceFile};
pub use switch::{Switch, SwitchFacts, SwitchWish, plan_switch};
