//! `gsdctl install`, `gsdctl remove`: stage, show, ask, commit.

use std::fmt::Write as _;
use std::io::{BufRead as _, IsTerminal as _, Write as _};

use gsd_proto::api::capability::{
    Commit, CommitParams, Consent, Discard, DiscardParams, Outcome as Done, Remove, RemoveParams, Stage,
    StageParams, StageResult, Stop,
};
use gsd_proto::api::registry::{List, ListParams};
use gsd_proto::{Code, WireError};
use serde_json::json;

use super::Outcome;
use super::acceptance;
use super::disclosure::{self, changes, not_wired};
use crate::args::{Global, InstallArgs, RemoveArgs, RollbackArgs, Scope, UpdateArgs, WishArgs};
use crate::connect::{self, Connection, Options};
use crate::output::{Report, clean, say};

/// Installs from a source.
pub(super) fn install(global: &Global, options: &Options, args: &InstallArgs) -> Outcome {
    attempt(global, options, &Wish::install(args)).outcome
}

/// Updates one capability, or all.
pub(super) fn update(global: &Global, options: &Options, args: &UpdateArgs) -> Outcome {
    match &args.id {
        Some(id) => attempt(global, options, &Wish::update(id, global.scope, args)).outcome,
        None => update_all(global, options, args),
    }
}

/// Agrees to what is installed.
pub(super) fn grant(global: &Global, options: &Options, id: &str, args: &WishArgs) -> Outcome {
    let wish = Wish {
        verb: Verb::Grant,
        what: id,
        scope: None,
        allow_downgrade: false,
        auto: false,
        link: false,
        integrity: None,
        to: None,
        args,
    };
    attempt(global, options, &wish).outcome
}

/// Brings back a content that an update replaced.
pub(super) fn rollback(global: &Global, options: &Options, args: &RollbackArgs) -> Outcome {
    let to = args.to.as_deref();
    let wish = Wish {
        verb: Verb::Rollback,
        what: &args.id,
        scope: None,
        allow_downgrade: false,
        auto: false,
        link: false,
        integrity: None,
        to,
        args: &args.wish,
    };
    attempt(global, options, &wish).outcome
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Install,
    Update,
    Grant,
    Rollback,
}

impl Verb {
    /// Name of the command in the envelope.
    fn name(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Update => "update",
            Self::Grant => "consent-grant",
            Self::Rollback => "rollback",
        }
    }

    /// In a sentence before id and version.
    fn deed(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Update => "update",
            Self::Grant => "agree to",
            Self::Rollback => "go back to",
        }
    }

    /// As it is typed.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Install => &["install"],
            Self::Update => &["update"],
            Self::Grant => &["consent", "grant"],
            Self::Rollback => &["rollback"],
        }
    }
}

/// What to install, to update or to agree to.
pub(super) struct Wish<'a> {
    verb: Verb,
    /// The source, or the id.
    what: &'a str,
    scope: Option<Scope>,
    allow_downgrade: bool,
    /// Nobody watches.
    auto: bool,
    /// The folder is followed.
    link: bool,
    /// For a rollback: the version.
    to: Option<&'a str>,
    integrity: Option<&'a str>,
    args: &'a WishArgs,
}

impl<'a> Wish<'a> {
    pub(super) fn install(args: &'a InstallArgs) -> Self {
        let integrity = args.integrity.as_deref();
        Self {
            verb: Verb::Install,
            what: &args.spec,
            scope: None,
            allow_downgrade: false,
            auto: false,
            link: args.link,
            to: None,
            integrity,
            args: &args.wish,
        }
    }

    pub(super) fn update(id: &'a str, scope: Option<Scope>, args: &'a UpdateArgs) -> Self {
        let allow_downgrade = args.allow_downgrade;
        Self {
            verb: Verb::Update,
            what: id,
            scope,
            allow_downgrade,
            auto: args.auto,
            link: false,
            integrity: None,
            to: None,
            args: &args.wish,
        }
    }

    /// The source or id, when this is what `verb` needs it for.
    fn only_for(&self, verb: Verb) -> Option<String> {
        (self.verb == verb).then(|| self.what.to_owned())
    }
}

/// What was staged, as far as it came to that, and what came of it.
pub(super) struct Attempt {
    pub(super) staged: Option<StageResult>,
    pub(super) outcome: Outcome,
}

/// Stages, shows, asks, commits.
pub(super) fn attempt(global: &Global, options: &Options, wish: &Wish<'_>) -> Attempt {
    let failed = |outcome| Attempt { staged: None, outcome: Err(outcome) };
    let mut connection = match connect::connect(options) {
        Ok(connection) => connection,
        Err(error) => return failed(error),
    };
    let staged = connection.call_shown::<Stage>(global, |ctx| StageParams {
        ctx,
        spec: wish.only_for(Verb::Install).unwrap_or_default(),
        update: wish.only_for(Verb::Update),
        grant: wish.only_for(Verb::Grant),
        rollback: wish.only_for(Verb::Rollback),
        to: wish.to.map(ToOwned::to_owned),
        allow_downgrade: wish.allow_downgrade,
        auto: wish.auto,
        link: wish.link,
        scope: wish.scope.or(global.scope).map(|scope| scope.word().to_owned()),
        runtimes: (!global.runtime.is_empty()).then(|| global.runtime.clone()),
        shared_files: wish.args.shared_file.clone(),
        offline: connect::offline(global),
        integrity: wish.integrity.map(str::to_owned),
        full: global.verbose > 0,
        preview: global.dry_run,
    });
    let staged = match staged {
        Ok(staged) => staged,
        Err(error) => return failed(error),
    };
    let outcome = settle(global, &mut connection, wish, &staged);
    Attempt { staged: Some(staged), outcome }
}

/// What would be asked for, without doing it.
pub(super) fn preview(global: &Global, options: &Options, what: &str, integrity: Option<&str>) -> Outcome {
    let mut connection = connect::connect(options)?;
    let is_source = what.contains(['/', ':', '@', '.', '\\']);
    let staged = connection.call_shown::<Stage>(global, |ctx| StageParams {
        ctx,
        spec: if is_source { what.to_owned() } else { String::new() },
        update: (!is_source).then(|| what.to_owned()),
        scope: global.scope.map(|scope| scope.word().to_owned()),
        runtimes: (!global.runtime.is_empty()).then(|| global.runtime.clone()),
        offline: connect::offline(global),
        integrity: integrity.map(str::to_owned),
        full: global.verbose > 0,
        preview: true,
        // Whether it is older is for the update to refuse.
        allow_downgrade: true,
        ..StageParams::default()
    })?;
    discard(&mut connection, &staged);
    show(global, &staged);
    let text = if staged.requires_consent {
        format!("agree to exactly this with --consent {}\n", staged.consent_digest)
    } else {
        "nobody has to agree to anything\n".to_owned()
    };
    let mut warnings = if global.json { staged.warnings.clone() } else { Vec::new() };
    warnings.extend(connection.warnings());
    let mut data = disclosed(&staged);
    data["reasons"] = json!(staged.reasons);
    data["current"] = json!(staged.current);
    Ok(Report { command: "consent-preview", data, text, warnings, ..Report::default() })
}

/// What is agreed to, for programs.
fn disclosed(staged: &StageResult) -> serde_json::Value {
    json!({
        "id": staged.id,
        "version": staged.version,
        "scope": staged.scope,
        "requires_consent": staged.requires_consent,
        "level": staged.level,
        "signer": acceptance::row(staged.signer.as_ref()),
        "stops": acceptance::stop_rows(&staged.stops),
        "differs": staged.differs,
        "disclosure": staged.disclosure,
        "executable": staged.executable,
        "instructing": staged.instructing,
        "tokens": staged.tokens,
        "consent_digest": staged.consent_digest,
        "content_hash": staged.content_hash,
        "disclosure_signature": staged.signature,
    })
}

fn settle(global: &Global, connection: &mut Connection, wish: &Wish<'_>, staged: &StageResult) -> Outcome {
    if global.dry_run {
        discard(connection, staged);
        return Ok(planned(global, connection, wish, staged));
    }
    let agreed = accepted(global, wish, staged)
        .and_then(|accepted| Ok((consent(global, wish, staged, !accepted.is_empty())?, accepted)));
    let (consent, accepted) = match agreed {
        Ok(agreed) => agreed,
        Err(refusal) => {
            discard(connection, staged);
            return Err(*refusal);
        }
    };
    let value = |flag: &str| accepted.iter().find(|stop| stop.flag == flag).map(|stop| stop.value.clone());
    let given = &wish.args.accept;
    let params = CommitParams {
        ctx: connection.context(),
        ticket: staged.ticket.clone(),
        consent,
        accept_signer: given.accept_signer.clone().or_else(|| value("--accept-signer")),
        accept_level: given.accept_level.clone().or_else(|| value("--accept-level")),
    };
    let mut done = connection.call::<Commit>(&params).map_err(|error| {
        discard(connection, staged);
        if &*error.code != Code::PolicyYesForbidden.name() {
            return error;
        }
        let command = proceeding_command(global, wish, staged);
        let argv: Vec<&str> = command.iter().map(String::as_str).collect();
        error.with_fix("after reading what is listed above, agree to exactly that", &argv)
    })?;
    if global.json {
        // People were told with the disclosure.
        done.warnings.splice(0..0, staged.warnings.iter().cloned());
    }
    if wish.verb == Verb::Grant && done.changed {
        "granted".clone_into(&mut done.status);
    }
    Ok(finished(wish.verb.name(), connection, done, installed_text(staged)))
}

/// One row per capability; the others go on when one fails.
fn update_all(global: &Global, options: &Options, args: &UpdateArgs) -> Outcome {
    let mut connection = connect::connect(options)?;
    let listed = connection.call::<List>(&ListParams {
        ctx: connection.context(),
        scope: global.scope.map(|scope| scope.word().to_owned()),
    })?;
    let mut report = Report { command: "update", ..Report::default() };
    let mut rows = Vec::new();
    for item in &listed.items {
        let scope = match item.scope.as_str() {
            "global" => Scope::Global,
            "project" => Scope::Project,
            _ => continue,
        };
        let attempt = attempt(global, options, &Wish::update(&item.id, Some(scope), args));
        let from = item.version.clone();
        match attempt.outcome {
            Ok(done) => {
                report.changed |= done.changed;
                report.text.push_str(&done.text);
                let mut row = done.data;
                if let Some(row) = row.as_object_mut() {
                    row.insert("from_version".to_owned(), json!(from));
                }
                rows.push(row);
            }
            Err(error) => {
                let _ = writeln!(report.text, "{}: {}", clean(&item.id), clean(&error.message));
                // What waits for a person by design is no failure.
                let status = match &*error.code {
                    code if code == Code::UpdateWaits.name() => "waiting",
                    code if [Code::UpdateAutoOff, Code::PolicyAutoForbidden]
                        .iter()
                        .any(|off| off.name() == code) =>
                    {
                        "off"
                    }
                    _ => "failed",
                };
                if status == "failed" {
                    report.exit = Code::BatchPartial.exit();
                }
                rows.push(json!({
                    "status": status, "id": item.id, "scope": item.scope, "from_version": from,
                    "error": {"code": error.code, "message": error.message},
                }));
            }
        }
    }
    report.data = json!({ "items": rows });
    report.warnings = listed.warnings;
    report.warnings.extend(connection.warnings());
    Ok(report)
}

/// Removes a capability.
pub(super) fn remove(global: &Global, options: &Options, args: &RemoveArgs) -> Outcome {
    let mut connection = connect::connect(options)?;
    let done = connection.call::<Remove>(&RemoveParams {
        ctx: connection.context(),
        id: args.id.clone(),
        scope: global.scope.map(|scope| scope.word().to_owned()),
        purge_data: args.purge_data,
        cascade: args.cascade,
        dry_run: global.dry_run,
    })?;
    let text = if done.status == "planned" {
        let mut text = format!("would remove {} ({} scope):\n", clean(&done.id), done.scope);
        changes(&mut text, &done.changes);
        text
    } else {
        format!("removed {} ({} scope)\n", clean(&done.id), done.scope)
    };
    Ok(finished("remove", &connection, done, text))
}

fn discard(connection: &mut Connection, staged: &StageResult) {
    let params = DiscardParams { ctx: connection.context(), ticket: staged.ticket.clone() };
    // A bundle that stays staged is forgotten after a quarter of an hour.
    drop(connection.call::<Discard>(&params));
}

fn show(global: &Global, staged: &StageResult) {
    disclosure::show(global, staged);
    acceptance::show(staged);
}

/// Obtains what is accepted besides: by flags, or from the person, one question each; an agreement to what runs and
/// `--yes` are none. The answer has what was asked for; the person has seen everything then.
fn accepted<'a>(
    global: &Global,
    wish: &Wish<'_>,
    staged: &'a StageResult,
) -> Result<Vec<&'a Stop>, Box<WireError>> {
    let open = acceptance::open(&staged.stops, &wish.args.accept);
    if open.is_empty() {
        return Ok(open);
    }
    show(global, staged);
    if !may_ask(global) || global.yes {
        let command = proceeding_command(global, wish, staged);
        let argv: Vec<&str> = command.iter().map(String::as_str).collect();
        return Err(Box::new(acceptance::refusal(staged, &open, &argv)));
    }
    match open.iter().all(|stop| acceptance::ask(staged, stop)) {
        true => Ok(open),
        false => Err(Box::new(declined(staged))),
    }
}

/// Obtains the agreement: by digest, by a blanket flag, or from the person; never by assuming it.
fn consent(
    global: &Global,
    wish: &Wish<'_>,
    staged: &StageResult,
    is_shown: bool,
) -> Result<Option<Consent>, Box<WireError>> {
    let show = |global: &Global, staged: &StageResult| {
        if !is_shown {
            show(global, staged);
        }
    };
    if let Some(digest) = &wish.args.consent {
        return Ok(Some(Consent { digest: digest.clone(), blanket: false }));
    }
    if !staged.requires_consent {
        if !global.quiet && !staged.current {
            show(global, staged);
        }
        return Ok(None);
    }
    if global.yes {
        show(global, staged);
        say(&format!("agreed to without looking (--yes): {}", staged.consent_digest));
        return Ok(Some(Consent { digest: staged.consent_digest.clone(), blanket: true }));
    }
    show(global, staged);
    if !may_ask(global) {
        let command = proceeding_command(global, wish, staged);
        let argv: Vec<&str> = command.iter().map(String::as_str).collect();
        return Err(Box::new(
            WireError::new(
                Code::ConsentRequired,
                format!("{} can run things on this machine, and nobody is there to ask", clean(&staged.id)),
            )
            .with_fix("after reading what is listed above, agree to exactly that", &argv),
        ));
    }
    match ask(staged) {
        true => Ok(Some(Consent { digest: staged.consent_digest.clone(), blanket: false })),
        false => Err(Box::new(declined(staged))),
    }
}

fn declined(staged: &StageResult) -> WireError {
    let mut error = WireError::new(
        Code::ConsentDeclined,
        format!("{} was not installed; nothing was changed", clean(&staged.id)),
    );
    error.exit = 13;
    error
}

/// A question is only asked where somebody can see it and answer.
fn may_ask(global: &Global) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    !global.no_input
        && !global.json
        && !set("GSD_NO_INPUT")
        && !set("CI")
        && std::io::stdin().is_terminal()
        && std::io::stderr().is_terminal()
}

fn ask(staged: &StageResult) -> bool {
    let mut stderr = std::io::stderr();
    drop(write!(
        stderr,
        "\nInstall {} and let it run what is listed above? Type `yes` in full to agree: ",
        clean(&staged.id)
    ));
    drop(stderr.flush());
    let mut line = String::new();
    // End of input is not consent.
    matches!(std::io::stdin().lock().read_line(&mut line), Ok(count) if count > 0) && line.trim() == "yes"
}

/// The command that would proceed, bound to what was shown.
fn proceeding_command(global: &Global, wish: &Wish<'_>, staged: &StageResult) -> Vec<String> {
    let mut words = vec!["gsdctl".to_owned()];
    words.extend(wish.verb.words().iter().map(ToString::to_string));
    words.push(wish.what.to_owned());
    if let Some(scope) = wish.scope.or(global.scope) {
        words.extend(["--scope".to_owned(), scope.word().to_owned()]);
    }
    for runtime in &global.runtime {
        words.extend(["--runtime".to_owned(), runtime.clone()]);
    }
    for file in &wish.args.shared_file {
        words.extend(["--shared-file".to_owned(), file.clone()]);
    }
    if let Some(to) = wish.to {
        words.extend(["--to".to_owned(), to.to_owned()]);
    }
    if wish.allow_downgrade {
        words.push("--allow-downgrade".to_owned());
    }
    if wish.link {
        words.push("--link".to_owned());
    }
    if let Some(pin) = wish.integrity {
        words.extend(["--integrity".to_owned(), pin.to_owned()]);
    }
    for (flag, folder) in [("--cwd", &global.cwd), ("--home", &global.home)] {
        if let Some(folder) = folder {
            words.extend([flag.to_owned(), folder.to_string_lossy().into_owned()]);
        }
    }
    for stop in &staged.stops {
        words.extend([stop.flag.clone(), stop.value.clone()]);
    }
    words.extend(["--consent".to_owned(), staged.consent_digest.clone()]);
    words
}

fn planned(global: &Global, connection: &Connection, wish: &Wish<'_>, staged: &StageResult) -> Report {
    show(global, staged);
    let mut text = if staged.current {
        format!("{} {} is current; nothing would be done\n", clean(&staged.id), clean(&staged.version))
    } else {
        format!("would {} {} {}:\n", wish.verb.deed(), clean(&staged.id), clean(&staged.version))
    };
    changes(&mut text, &staged.plan);
    // People were told with the disclosure.
    let mut warnings = if global.json { staged.warnings.clone() } else { Vec::new() };
    warnings.extend(connection.warnings());
    let mut data = disclosed(staged);
    data["status"] = json!("planned");
    data["wired"] = json!(staged.wired);
    data["not_wired"] = json!(staged.not_wired);
    data["changes"] = json!(staged.plan);
    Report { command: wish.verb.name(), data, text, warnings, ..Report::default() }
}

fn installed_text(staged: &StageResult) -> String {
    format!("{} {} ({} scope)\n", clean(&staged.id), clean(&staged.version), staged.scope)
}

fn finished(command: &'static str, connection: &Connection, done: Done, text: String) -> Report {
    let mut full = match done.status.as_str() {
        "installed" => format!("installed {text}"),
        "upgraded" => format!("upgraded to {text}"),
        "granted" => format!("agreed to {text}"),
        "current" => format!("current: {text}"),
        "rolled_back" => format!("went back to {text}"),
        "incomplete" if command == "rollback" => format!("went back, not everywhere, to {text}"),
        "incomplete" => format!("installed, not everywhere: {text}"),
        _ => text,
    };
    let verb = if command == "remove" { "taken out" } else { "wired" };
    if !done.wired.is_empty() && done.status != "planned" {
        let _ = writeln!(full, "{verb}: {}", clean(&done.wired.join(", ")));
    }
    if command == "remove" {
        for row in &done.not_wired {
            let _ = writeln!(full, "left: {} ({})", clean(&row.surface), clean(&row.reason));
        }
    } else {
        not_wired(&mut full, &done.not_wired);
    }
    let mut warnings = done.warnings;
    warnings.extend(connection.warnings());
    Report {
        command,
        changed: done.changed,
        data: json!({
            "status": done.status,
            "id": done.id,
            "version": done.version,
            "scope": done.scope,
            "wired": done.wired,
            "not_wired": done.not_wired,
            "stripped_edits": done.stripped_edits,
            "changes": done.changes,
            "consent": done.consent,
        }),
        text: full,
        warnings,
        ..Report::default()
    }
}

impl Scope {
    /// Word on the wire.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Project => "project",
        }
    }
}
