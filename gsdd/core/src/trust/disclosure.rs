//! What a capability would do on this machine, collected from its manifest for a person to read.
//!
//! Five classes in three groups (decision D-07): *executable* (hooks, command modules, MCP servers, a reviewer lane,
//! gates that run a command), *instructing* (skills, agents, slash commands, fragments: the agent is the
//! interpreter, nothing scans them), *inert* (the rest). Collecting is total: a bad shape becomes less to show,
//! never an error, and nothing that would run is left out because something else is broken.
//!
//! Source: ADR-1244 D5 rule 2, ADR-2363 (instruction surfaces), decision D-07, threats T104 to T121.

use std::collections::{BTreeMap, BTreeSet};

use super::destination::Destination;
use super::lines::FileFacts;
use crate::bundle::RelPath;

/// Everything that a manifest declares, by class, in the order of the manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disclosure {
    /// Scripts that a host runs on its events.
    pub hooks: Vec<HookSurface>,
    /// Command families with code of the bundle behind them.
    pub modules: Vec<CommandSurface>,
    /// Servers that a host starts or talks to.
    pub servers: Vec<McpSurface>,
    /// A reviewer that receives plans.
    pub lane: Option<LaneSurface>,
    /// Gates whose check runs a shell command.
    pub gate_commands: Vec<GateCommand>,
    /// Skills by name.
    pub skills: Vec<String>,
    /// Agents by name.
    pub agents: Vec<String>,
    /// Slash commands: those that steps refer to, and the documents of the bundle that become one
    /// ([`Disclosure::add_documents`]).
    pub commands: Vec<String>,
    /// Prompt fragments: the file, or where the inline text stands.
    pub fragments: Vec<String>,
    /// Size in bytes of those that stand inline.
    pub inline_bytes: BTreeMap<String, u64>,
    /// What neither runs nor instructs.
    pub inert: InertSurfaces,
}

/// A hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSurface {
    /// Event name as declared; may be empty.
    pub event: String,
    /// Script as declared: a bundle-relative path.
    pub script: String,
    /// Matcher as declared, JSON text when it is not a string; `None` means every tool.
    pub matcher: Option<String>,
}

/// A command family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSurface {
    /// The family name.
    pub family: String,
    /// What runs.
    pub runs: CommandCode,
}

/// The two ways of giving a command family its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandCode {
    /// A module loaded by a launcher; `router` is the function.
    Module {
        /// Bundle-relative path.
        module: String,
        /// Name of the function.
        router: String,
    },
    /// An executable file of the bundle.
    Exec {
        /// Bundle-relative path.
        exec: String,
    },
}

/// An MCP server.
#[derive(Clone, Debug, PartialEq)]
pub struct McpSurface {
    /// Its name in the host.
    pub name: String,
    /// `type`, else `transport`, else empty (a local process).
    pub transport: String,
    /// The program.
    pub command: String,
    /// Every argument: strings as they are, anything else as JSON text, so that none is hidden.
    pub args: Vec<String>,
    /// The endpoint of a remote server.
    pub url: String,
    /// Names of the headers that are sent; values may be secrets and are not collected.
    pub header_names: Vec<String>,
    /// Environment of the process.
    pub env: Vec<(String, String)>,
    /// Working directory.
    pub cwd: String,
    /// Names of configuration members beyond these; the host may act on them.
    pub other_fields: Vec<String>,
    /// Names of environment variables that make other programs run code or change what is loaded.
    pub env_warnings: Vec<String>,
}

/// A reviewer lane: a program or service that receives plan text, requirements, research findings and decisions.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneSurface {
    /// Its slug.
    pub slug: String,
    /// `spawn` or `openai-http`.
    pub transport: String,
    /// The program.
    pub binary: String,
    /// Every argument, as in [`McpSurface::args`].
    pub args: Vec<String>,
    /// The configuration key that names the destination.
    pub host_config_key: String,
    /// The destination that the author proposes when the key is not set.
    pub default_host: String,
    /// Where it sends to with the configuration as it is ([`Disclosure::send_to`]); `None` when it names no address.
    pub destination: Option<Destination>,
    /// How the prompt reaches the program.
    pub prompt_channel: String,
    /// Name of the built-in handler.
    pub handler: String,
    /// The program that is run to find out whether the lane is available.
    pub probe_binary: String,
    /// Every member of the lane beyond these, as canonical JSON, for the digest.
    pub rest: String,
}

/// A gate that runs a shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateCommand {
    /// The loop point.
    pub point: String,
    /// The exact command text.
    pub command: String,
    /// The time limit as written, empty when there is none.
    pub timeout: String,
}

/// What neither runs nor instructs, by count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InertSurfaces {
    /// Configuration keys.
    pub config_keys: usize,
    /// Gates without a command.
    pub gates: usize,
}

impl Disclosure {
    /// Adds the slash commands that the bundle holds as documents (`commands/**/*.md`), which no manifest lists.
    pub fn add_documents<'p>(&mut self, paths: impl IntoIterator<Item = &'p str>) {
        let documents =
            paths.into_iter().filter(|path| path.starts_with("commands/") && path.ends_with(".md"));
        self.commands.extend(documents.map(str::to_owned));
    }

    /// Says where the lane sends to: `configured` is what its configuration key is set to; without that it is the
    /// author's default.
    pub fn send_to(&mut self, configured: Option<&str>) {
        if let Some(lane) = &mut self.lane {
            lane.destination =
                configured.and_then(Destination::parse).or_else(|| Destination::parse(&lane.default_host));
        }
    }

    /// The configuration key that decides where the lane sends to.
    #[must_use]
    pub fn destination_key(&self) -> Option<&str> {
        self.lane.as_ref().map(|lane| lane.host_config_key.as_str()).filter(|key| !key.is_empty())
    }

    /// Whether anything in it runs.
    #[must_use]
    pub fn has_executable(&self) -> bool {
        !self.hooks.is_empty()
            || !self.modules.is_empty()
            || !self.servers.is_empty()
            || self.lane.is_some()
            || !self.gate_commands.is_empty()
    }

    /// Whether anything in it instructs the agent.
    #[must_use]
    pub fn has_instructions(&self) -> bool {
        !self.skills.is_empty()
            || !self.agents.is_empty()
            || !self.commands.is_empty()
            || !self.fragments.is_empty()
    }

    /// The files of the bundle that are declared to run, each once, sorted: hook scripts and command code. They must
    /// exist. Names that the member rules refuse are left out; see [`Disclosure::unusable_files`].
    #[must_use]
    pub fn executable_files(&self) -> Vec<String> {
        let files: BTreeSet<String> = self.declared_files().filter_map(bundle_file).collect();
        files.into_iter().collect()
    }

    /// The files of the bundle that would run, each once, sorted: the declared ones, and every command or argument
    /// of a server or lane that names a file which is there.
    #[must_use]
    pub fn files_that_run(&self, files: &FileFacts) -> Vec<String> {
        let mut found: BTreeSet<String> = self.executable_files().into_iter().collect();
        let servers =
            self.servers.iter().flat_map(|server| std::iter::once(&server.command).chain(&server.args));
        let lanes = self
            .lane
            .iter()
            .flat_map(|lane| [&lane.binary, &lane.probe_binary].into_iter().chain(&lane.args));
        found.extend(servers.chain(lanes).filter_map(|part| file_named_by(part, files)));
        found.into_iter().collect()
    }

    /// Declared scripts, modules and executables that can't be files of a bundle: absolute, with `..`, or refused by
    /// another member rule. Any of them blocks an install.
    #[must_use]
    pub fn unusable_files(&self) -> Vec<String> {
        self.declared_files().filter(|file| bundle_file(file).is_none()).map(str::to_owned).collect()
    }

    fn declared_files(&self) -> impl Iterator<Item = &str> {
        let code = self.modules.iter().map(|command| match &command.runs {
            CommandCode::Module { module, .. } => module.as_str(),
            CommandCode::Exec { exec } => exec.as_str(),
        });
        self.hooks.iter().map(|hook| hook.script.as_str()).chain(code)
    }
}

/// A declared file as the path in the bundle.
fn bundle_file(declared: &str) -> Option<String> {
    RelPath::parse(declared).ok().map(|path| path.as_str().to_owned())
}

/// The file of the bundle that a command or argument names: as it is, behind one `${…}/` that a host replaces by the
/// bundle's folder, or behind the `=` of an option.
#[must_use]
pub fn file_named_by(part: &str, files: &FileFacts) -> Option<String> {
    let value = part.strip_prefix('-').and_then(|option| option.split_once('=')).map(|(_, value)| value);
    [Some(part), value].into_iter().flatten().find_map(|text| {
        let behind = text.strip_prefix("${").and_then(|rest| rest.split_once("}/")).map(|(_, file)| file);
        bundle_file(behind.unwrap_or(text)).filter(|file| files.files.contains_key(file))
    })
}
