//! The keys that are understood, and what each of them decides.

use super::surface_class::SurfaceClass;

/// What a key decides, and so what is closed when its value can't be honoured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// A whole file: sources outside this machine, agreements without looking, updates without a person, and new things
    /// that run. What runs already goes on: a guard that falls silent looks like one that has no objection.
    File,
    /// Sources outside this machine.
    External,
    /// Every source.
    Sources,
    /// Agreements without looking.
    Blanket,
    /// Updates without a person.
    Unattended,
    /// These classes, at installs and at each use.
    Executable(&'static [SurfaceClass]),
    /// Nothing: the safe side of "must stay installed" is that it can be removed.
    Nothing,
}

macro_rules! keys {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $door:expr;)+) => {
        /// A key of a policy.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Key {
            $($(#[$doc])* $variant,)+
        }

        impl Key {
            /// Every key, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// As it is written, with dots.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it decides.
            #[must_use]
            pub const fn door(self) -> Door {
                match self { $(Self::$variant => $door,)+ }
            }
        }
    };
}

const HOOKS: &[SurfaceClass] = &[SurfaceClass::Hooks];
const SERVERS: &[SurfaceClass] = &[SurfaceClass::McpServers];
const HOOKS_AND_SERVERS: &[SurfaceClass] = &[SurfaceClass::Hooks, SurfaceClass::McpServers];

keys! {
    /// The file as a whole.
    File = "(file)", Door::File;
    /// The sources that are allowed; every other one is not.
    SourcesAllow = "sources.allow", Door::Sources;
    /// Sources that are not.
    SourcesDeny = "sources.deny", Door::Sources;
    /// Whether a repository has to be named with a commit.
    RequireCommit = "sources.require_commit", Door::Sources;
    /// How well it has to be known where a content comes from.
    MinLevel = "sources.min_level", Door::Sources;
    /// Whether `--yes` counts as an agreement.
    ConsentYes = "consent.yes", Door::Blanket;
    /// Whether updates are made without a person.
    UpdateAuto = "update.auto", Door::Unattended;
    /// Classes that neither get in nor run.
    ExecutableForbid = "executable.forbid", Door::Executable(&SurfaceClass::ALL);
    /// Capabilities that have to be there.
    Required = "required", Door::Nothing;
    /// Hosts that may be reached although they are not public.
    PrivateHosts = "network.private_hosts", Door::External;
    /// Upstream's list, in the configuration of a project.
    KnownRegistries = "capabilities.strict_known_registries", Door::External;
    /// Of a host's managed settings: as `sources.allow`.
    StrictKnownMarketplaces = "strictKnownMarketplaces", Door::Sources;
    /// Of a host's managed settings: as `sources.deny`.
    BlockedMarketplaces = "blockedMarketplaces", Door::Sources;
    /// Of a host's managed settings: no hook of a capability.
    AllowManagedHooksOnly = "allowManagedHooksOnly", Door::Executable(HOOKS);
    /// Of a host's managed settings: no hook at all.
    DisableAllHooks = "disableAllHooks", Door::Executable(HOOKS);
    /// Of a host's managed settings; has no equal here.
    AllowManagedMcpServersOnly = "allowManagedMcpServersOnly", Door::Executable(SERVERS);
    /// Of a host's managed settings; has no equal here.
    AllowedMcpServers = "allowedMcpServers", Door::Executable(SERVERS);
    /// Of a host's managed settings; has no equal here.
    DeniedMcpServers = "deniedMcpServers", Door::Executable(SERVERS);
    /// Of a host's managed settings; has no equal here.
    StrictPluginOnlyCustomization = "strictPluginOnlyCustomization", Door::Executable(HOOKS_AND_SERVERS);
    /// Of a host's managed settings; has no equal here.
    DisableBypassPermissionsMode = "disableBypassPermissionsMode", Door::Blanket;
    /// Of a host's managed settings; has no equal here.
    AllowManagedPermissionRulesOnly = "allowManagedPermissionRulesOnly", Door::Blanket;
}
