//! One file per noun, one function per verb, with the same names as the daemon's handlers.

mod acceptance;
mod audit;
mod capability;
mod config;
mod consent;
mod daemon;
mod disclosure;
mod explain;
mod hook;
mod install;
mod launch;
mod ledger;
mod loop_hooks;
mod outdated;
mod policy;
mod registry;
mod reviewer;
mod runtime;
mod source;
mod state;
mod switch;
mod validate;

use std::process::ExitCode;

use gsd_proto::WireError;

use crate::args::{Cli, Command, McpVerb, ReviewerVerb};
use crate::connect::{Options, Surroundings};
use crate::output::Report;
use crate::{error, output};

type Outcome = Result<Report, WireError>;

/// Runs the command and gives its exit status.
pub(crate) fn run(cli: &Cli) -> ExitCode {
    let global = &cli.global;
    let surroundings = match Surroundings::of_process(global) {
        Ok(surroundings) => surroundings,
        Err(failure) => return error::print(global, "usage", &failure),
    };
    let options = Options::new(global, &surroundings);
    let (name, outcome) = match &cli.command {
        Command::Install(args) => ("install", install::install(global, &options, args)),
        Command::Remove(args) => ("remove", install::remove(global, &options, args)),
        Command::Update(args) => ("update", install::update(global, &options, args)),
        Command::Rollback(args) => ("rollback", install::rollback(global, &options, args)),
        Command::Enable(args) => ("enable", switch::enable(global, &options, args)),
        Command::Disable(args) => ("disable", switch::disable(global, &options, args)),
        Command::Set(args) => ("set", switch::set(global, &options, args)),
        Command::Ledger { verb } => ledger::run(global, &options, verb),
        Command::Reconcile => ("reconcile", ledger::reconcile(global, &options)),
        Command::Capability { verb } => return capability::run(global, &options, verb),
        Command::State(args) => ("state", state::state(global, &options, args)),
        Command::List(args) => ("list", registry::list(global, &options, args)),
        Command::Validate(args) => ("validate", validate::validate(global, &options, args)),
        Command::Audit { verb } => audit::run(global, &options, verb),
        Command::Consent { verb } => consent::run(global, &options, verb),
        Command::Registry { verb } => registry::run(global, &options, verb),
        Command::Loop { verb } => loop_hooks::run(global, &options, verb),
        Command::Hook { verb } => hook::run(&options, verb),
        Command::Source { verb } => source::run(global, &options, verb),
        Command::Inspect(args) => ("inspect", source::inspect(global, &options, args)),
        Command::Outdated(args) => ("outdated", outdated::outdated(global, &options, *args)),
        Command::Hash(args) => ("hash", source::hash(&options, args)),
        Command::Policy { verb } => policy::run(&options, verb),
        Command::Config { verb } => config::run(global, &options, verb),
        Command::Runtime { verb } => runtime::run(&options, verb),
        Command::Daemon(args) => daemon::run(global, &options, &args.verb),
        Command::Reviewer { verb: ReviewerVerb::Exec(args) } => {
            return launched(global, "reviewer-exec", reviewer::exec(&options, args));
        }
        Command::Reviewer { verb: ReviewerVerb::List } => ("reviewer-list", reviewer::list(global, &options)),
        Command::Reviewer { verb: ReviewerVerb::Resolve { id } } => {
            ("reviewer-resolve", reviewer::resolve(&options, id))
        }
        Command::Run(args) => return launched(global, "run", launch::run(&options, args)),
        Command::Mcp { verb: McpVerb::Exec(args) } => {
            return launched(global, "mcp-exec", launch::mcp_exec(&options, args));
        }
    };
    match outcome {
        Ok(report) => output::print(global, report),
        Err(failure) => error::print(global, name, &failure),
    }
}

fn launched(global: &crate::args::Global, name: &str, outcome: Result<ExitCode, WireError>) -> ExitCode {
    outcome.unwrap_or_else(|failure| error::print(global, name, &failure))
}
