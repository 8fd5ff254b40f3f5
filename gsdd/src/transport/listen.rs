//! Accepting connections: a Unix socket, or on Windows a named pipe, through the same interface.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gsd_proto::code::rpc;
use gsd_proto::message::RequestId;
use gsd_proto::readiness::StartFailure;
use interprocess::local_socket::tokio::{Listener as Inner, Stream};
use interprocess::local_socket::traits::StreamCommon as _;
use interprocess::local_socket::traits::tokio::Listener as _;
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName as _};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Peer, Service, serve_conn};
use crate::single_instance::{OwnSocket, failure};

/// Pause after a failed accept (no more file descriptors, above all).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often to look whether our socket is still in its place: a cleaner of temporary folders may have removed it, and
/// nobody would find us any more while we hold the lock.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Time for telling a client that there is no room.
const TURN_AWAY: Duration = Duration::from_millis(100);

/// A bound socket.
#[derive(Debug)]
pub struct Listener {
    inner: Inner,
    /// The file that is ours to remove; none if a service manager made it.
    own: Option<OwnSocket>,
    our_uid: u32,
}

impl Listener {
    /// Binds `socket`, readable and writable for us alone. The path must be free; links are not followed.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn bind(socket: &Path, our_uid: u32) -> Result<Self, StartFailure> {
        let bound = || -> io::Result<Inner> {
            let name = socket.to_fs_name::<GenericFilePath>()?;
            // Removing the file is our affair: the library would remove whatever is at the path by then.
            let inner =
                for_us_alone(ListenerOptions::new().name(name).reclaim_name(false))?.create_tokio()?;
            close_to_others(socket)?;
            Ok(inner)
        };
        let inner = bound().map_err(|error| failure("bind", socket, &error))?;
        Ok(Self { inner, own: Some(OwnSocket::at(socket)), our_uid })
    }

    /// Takes the socket that a service manager has bound for us, if there is one. It stays the manager's: it is not
    /// removed at the end.
    ///
    /// # Errors
    /// When what was handed over is not a listening Unix socket.
    #[cfg(unix)]
    pub fn inherited(our_uid: u32) -> Result<Option<Self>, StartFailure> {
        use interprocess::os::unix::uds_local_socket::tokio::Listener as Unix;
        let taken = || -> io::Result<Option<Inner>> {
            let Some(listener) = listenfd::ListenFd::from_env().take_unix_listener(0)? else {
                return Ok(None);
            };
            Unix::try_from(std::os::fd::OwnedFd::from(listener)).map(|unix| Some(Inner::from(unix)))
        };
        let inner = taken().map_err(|error| failure("inherited_socket", Path::new("LISTEN_FDS"), &error))?;
        Ok(inner.map(|inner| Self { inner, own: None, our_uid }))
    }

    /// There are no service managers that hand over sockets here.
    ///
    /// # Errors
    /// Never.
    #[cfg(not(unix))]
    pub fn inherited(_our_uid: u32) -> Result<Option<Self>, StartFailure> {
        Ok(None)
    }

    /// Completes when the socket has been removed or replaced by somebody else.
    async fn lost_our_place(own: Option<&OwnSocket>) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        while own.is_none_or(OwnSocket::is_in_place) {
            looks.tick().await;
        }
    }

    /// Serves clients until `stop`, or until the socket is no longer in its place, then removes the socket and waits until those that are connected are done.
    pub async fn serve(self, service: Arc<Service>, stop: CancellationToken) {
        let mut connections = JoinSet::new();
        let lost = Self::lost_our_place(self.own.as_ref());
        tokio::pin!(lost);
        loop {
            while let Some(done) = connections.try_join_next() {
                drop(done);
            }
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = &mut lost => {
                    tracing::error!("the socket was removed by somebody else");
                    stop.cancel();
                    break;
                }
                accepted = self.inner.accept() => accepted,
            };
            match accepted {
                Ok(stream) => self.admit(stream, &service, &stop, &mut connections),
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        // From here on new clients find no socket and start another daemon, which waits for our lock.
        if let Some(own) = &self.own {
            own.remove();
        }
        drop(self.inner);
        while connections.join_next().await.is_some() {}
    }

    fn admit(
        &self,
        stream: Stream,
        service: &Arc<Service>,
        stop: &CancellationToken,
        connections: &mut JoinSet<()>,
    ) {
        let peer = peer_of(&stream);
        if !peer.is_allowed(self.our_uid) {
            tracing::warn!(uid = peer.uid, "refused a connection of another user");
            return;
        }
        let Ok(permit) = Arc::clone(&service.connections).try_acquire_owned() else {
            tracing::warn!("refused a connection: too many are open");
            connections.spawn(turn_away(stream));
            return;
        };
        let (service, stop) = (Arc::clone(service), stop.clone());
        connections.spawn(async move {
            let watched = watch_handle(&stream);
            serve_conn(stream, service, peer, stop, move || hung_up(watched)).await;
            drop(permit);
        });
    }
}

/// The private folder and the mode of the file do it.
#[cfg(unix)]
fn for_us_alone(options: ListenerOptions<'_>) -> io::Result<ListenerOptions<'_>> {
    Ok(options)
}

/// Full access for the owner and nobody else; the default would let everyone read. Being the first instance and
/// refusing clients of other machines are defaults of the library (threat T174).
#[cfg(windows)]
fn for_us_alone(options: ListenerOptions<'_>) -> io::Result<ListenerOptions<'_>> {
    use interprocess::os::windows::local_socket::ListenerOptionsExt as _;
    use interprocess::os::windows::security_descriptor::SecurityDescriptor;
    let owner_only = SecurityDescriptor::deserialize(widestring::u16cstr!("D:P(A;;GA;;;OW)"))?;
    Ok(options.security_descriptor(owner_only))
}

#[cfg(unix)]
fn close_to_others(socket: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn close_to_others(_socket: &Path) -> io::Result<()> {
    Ok(())
}

/// Tells a client that there is no room, if it takes the line at once.
async fn turn_away(mut stream: Stream) {
    use tokio::io::AsyncWriteExt as _;
    let refusal =
        super::dispatch::transport_error(&RequestId::Null, rpc::BUSY, "too many connections are open");
    let line = format!("{}\n", refusal.as_json());
    drop(tokio::time::timeout(TURN_AWAY, stream.write_all(line.as_bytes())).await);
}

#[cfg(unix)]
fn peer_of(stream: &Stream) -> Peer {
    match stream.peer_creds() {
        Ok(creds) => Peer { pid: creds.pid().and_then(|pid| u32::try_from(pid).ok()), uid: creds.euid() },
        // Not knowing is not the same as being allowed.
        Err(_) => Peer { pid: None, uid: Some(u32::MAX) },
    }
}

#[cfg(not(unix))]
fn peer_of(stream: &Stream) -> Peer {
    Peer { pid: stream.peer_creds().ok().and_then(|creds| creds.pid()), uid: None }
}

/// A second handle on the connection, by which its end can be noticed without reading.
#[cfg(unix)]
type WatchHandle = Option<std::os::fd::OwnedFd>;

/// Nothing to watch.
#[cfg(not(unix))]
type WatchHandle = Option<std::convert::Infallible>;

#[cfg(unix)]
fn watch_handle(stream: &Stream) -> WatchHandle {
    use std::os::fd::AsFd as _;
    let Stream::UdSocket(socket) = stream;
    socket.as_fd().try_clone_to_owned().ok()
}

#[cfg(not(unix))]
fn watch_handle(_stream: &Stream) -> WatchHandle {
    None
}

/// Completes when the other end has closed the connection in both directions.
#[cfg(unix)]
async fn hung_up(handle: WatchHandle) {
    use tokio::io::Interest;
    use tokio::net::UnixStream;
    let watched = handle.and_then(|handle| UnixStream::from_std(handle.into()).ok());
    if let Some(watched) = watched {
        while let Ok(ready) = watched.ready(Interest::WRITABLE).await {
            if ready.is_write_closed() {
                return;
            }
            // Writable is not what is waited for: forget it until the system reports something new.
            drop(
                watched
                    .try_io(Interest::WRITABLE, || io::Result::<()>::Err(io::ErrorKind::WouldBlock.into())),
            );
        }
    }
    std::future::pending::<()>().await;
}

/// Never completes: a pipe does not tell.
#[cfg(not(unix))]
async fn hung_up(_handle: WatchHandle) {
    std::future::pending::<()>().await;
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use jsonrpsee_core::server::Methods;

    use super::*;
    use crate::transport::Limits;

    #[tokio::test(start_paused = true)]
    async fn a_daemon_whose_socket_was_removed_makes_room_for_another() {
        let root = tempfile::tempdir().unwrap();
        let socket = root.path().join("s");
        let app = crate::transport::tests::harness::app();
        let service = Service::new(Methods::new(), Arc::clone(&app), Limits::default());
        let listener = Listener::bind(&socket, gsd_proto::private_dir::our_uid()).unwrap();
        let stop = app.shutdown.token().clone();
        let serving = tokio::spawn(listener.serve(service, stop.clone()));
        tokio::time::sleep(LOOK_EVERY * 3).await;
        assert!(!stop.is_cancelled());
        std::fs::remove_file(&socket).unwrap();
        tokio::time::timeout(LOOK_EVERY * 2, serving).await.unwrap().unwrap();
        assert!(stop.is_cancelled());
    }
}
