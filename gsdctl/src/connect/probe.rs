//! One attempt to connect, and the greeting.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use gsd_proto::api::daemon::{
    Hello, HelloParams, HelloResult, ProtocolRange, Shutdown, ShutdownParams, Status, StatusParams, When,
};
use gsd_proto::client::{self, CallError, Client};
use gsd_proto::private_dir::{self, NotPrivate};
use gsd_proto::{Code, WireError, is_newer_build};

use super::{ConnectError, Options, sibling};

/// An older daemon is asked to make room at most once in this time, so that two installations do not fight.
const REPLACE_COOL_DOWN: Duration = Duration::from_secs(60);

/// What one attempt found.
pub(super) enum Attempt {
    /// Somebody of ours listens.
    Connected(Client),
    /// Nobody listens: no socket, or one that refuses.
    Nobody,
}

/// Tries to connect, once. Nothing is removed, whatever is found: that is for the daemon that holds the lock.
pub(super) fn attempt(options: &Options) -> Result<Attempt, ConnectError> {
    let socket = &options.endpoint.socket;
    match private_dir::check_socket(socket) {
        Ok(()) => {}
        Err(NotPrivate::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(Attempt::Nobody);
        }
        Err(error) => return Err(error.into()),
    }
    let channel = match client::connect(socket, options.budget) {
        Ok(channel) => channel,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(Attempt::Nobody),
                io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Err(ConnectError::Silent),
                _ => Err(ConnectError::Unusable(error)),
            };
        }
    };
    // A server of another user could answer anything (threat T173).
    if channel.peer().uid.is_some_and(|uid| uid != private_dir::our_uid()) {
        return Err(ConnectError::NotOurs("another user listens on it".to_owned()));
    }
    Ok(Attempt::Connected(Client::new(channel)))
}

/// Agrees on a protocol number and proves that the daemon serves our home.
pub(super) fn greet(options: &Options, mut client: Client) -> Result<Client, ConnectError> {
    client.set_timeout(Some(options.hello_timeout));
    let forged = options.protocol.map(|number| ProtocolRange { min: number, max: number });
    let range = forged.unwrap_or(ProtocolRange::OURS);
    match client.call::<Hello>(&hello(options, range)) {
        Ok(answer) => {
            check_home(options, &answer)?;
            make_room_for_newer_build(options, &mut client, &answer);
            client.set_timeout(Some(options.call_timeout));
            Ok(client)
        }
        Err(CallError::Remote { error, .. }) => {
            if &*error.code == Code::DaemonProtocol.name() {
                make_room_for_newer_protocol(options, &mut client, range);
            }
            Err(ConnectError::Protocol(error))
        }
        Err(CallError::Timeout) => Err(ConnectError::Silent),
        Err(CallError::Closed) => Err(ConnectError::Closed),
        Err(CallError::Io(error)) => Err(ConnectError::Unusable(error)),
        Err(other) => Err(ConnectError::Protocol(Box::new(other.into_wire()))),
    }
}

/// The greeting of this program.
pub(super) fn hello(options: &Options, protocol: ProtocolRange) -> HelloParams {
    HelloParams {
        ctx: options.context.clone(),
        client: "gsdctl".to_owned(),
        version: gsd_proto::VERSION.to_owned(),
        build: String::new(),
        protocol,
        required: Vec::new(),
    }
}

/// The name of the socket holds a short hash of the home only.
fn check_home(options: &Options, answer: &HelloResult) -> Result<(), ConnectError> {
    if answer.home == options.places.served_home() {
        return Ok(());
    }
    let message = format!("the daemon serves another home, {}", answer.home.display());
    Err(ConnectError::Protocol(Box::new(WireError::new(Code::DaemonNotOurs, message))))
}

/// Newer client, older daemon: it is asked to end when nobody needs it. The other way round it is left alone.
fn make_room_for_newer_protocol(options: &Options, client: &mut Client, ours: ProtocolRange) {
    let Ok(status) = client.call::<Status>(&StatusParams { ctx: options.context.clone() }) else { return };
    if status.protocol.is_some_and(|theirs| ours.min > theirs.max) {
        ask_to_make_room(options, client);
    }
}

/// The program was replaced since the daemon was started.
fn make_room_for_newer_build(options: &Options, client: &mut Client, answer: &HelloResult) {
    let build = sibling::program().ok().and_then(|program| std::fs::metadata(program).ok());
    if build.is_some_and(|found| is_newer_build(&gsd_proto::build_of(&found), &answer.build)) {
        ask_to_make_room(options, client);
    }
}

fn ask_to_make_room(options: &Options, client: &mut Client) {
    if !may_replace(&options.endpoint.replaced_file()) {
        return;
    }
    let params = ShutdownParams { ctx: options.context.clone(), when: When::Idle };
    // If it does not hear us, the next client will ask.
    drop(client.call::<Shutdown>(&params));
}

/// True, and stamped, when the last replacement is long enough ago.
fn may_replace(stamp: &Path) -> bool {
    let recent = std::fs::symlink_metadata(stamp)
        .and_then(|found| found.modified())
        .is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age < REPLACE_COOL_DOWN));
    if recent {
        return false;
    }
    let touched = OpenOptions::new().write(true).create(true).truncate(true).open(stamp);
    touched.and_then(|file: File| file.set_modified(SystemTime::now())).is_ok()
}
