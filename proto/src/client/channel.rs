//! The ways bytes travel: a socket (a pipe on Windows), or the pipes of a child process.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Who is at the other end; what the system does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Process id.
    pub pid: Option<u32>,
    /// User id.
    pub uid: Option<u32>,
}

/// A two-way stream whose every wait ends at a deadline.
pub trait Channel: Send {
    /// Reads what is there, waiting until `deadline`; 0 at the end of the stream.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] or [`io::ErrorKind::WouldBlock`] at the deadline.
    fn read(&mut self, buffer: &mut [u8], deadline: Option<Instant>) -> io::Result<usize>;

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// As [`Channel::read`].
    fn write_all(&mut self, bytes: &[u8], deadline: Option<Instant>) -> io::Result<()>;

    /// The process at the other end.
    fn peer(&self) -> Peer {
        Peer::default()
    }
}

/// Time left until `deadline`.
fn left(deadline: Option<Instant>) -> io::Result<Option<Duration>> {
    let Some(deadline) = deadline else { return Ok(None) };
    match deadline.checked_duration_since(Instant::now()) {
        Some(left) if !left.is_zero() => Ok(Some(left)),
        _ => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Connects to the socket or pipe at `path`, waiting at most `budget`.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] and [`io::ErrorKind::ConnectionRefused`] mean that nobody listens. Anything else, a
/// timeout above all, does not.
#[cfg(unix)]
pub fn connect(path: &Path, budget: Duration) -> io::Result<Box<dyn Channel>> {
    Ok(Box::new(unix::connect(path, budget)?))
}

/// Connects to the socket or pipe at `path`, waiting at most `budget`.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] means that nobody listens.
#[cfg(windows)]
pub fn connect(path: &Path, budget: Duration) -> io::Result<Box<dyn Channel>> {
    Ok(Box::new(windows::connect(path, budget)?))
}

#[cfg(unix)]
mod unix {
    use std::os::unix::net::UnixStream;

    use super::{Channel, Duration, Instant, Path, Read as _, Write as _, io, left};

    /// Connects without ever waiting longer than `budget`: a stopped daemon whose queue is full would otherwise hold
    /// its clients for ever. Linux applies the send timeout of the socket to that wait.
    #[cfg(target_os = "linux")]
    pub(super) fn connect(path: &Path, budget: Duration) -> io::Result<UnixStream> {
        use rustix::net::{
            AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
        };
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(budget))?;
        match connect(&socket, &SocketAddrUnix::new(path)?) {
            Ok(()) => Ok(UnixStream::from(socket)),
            Err(rustix::io::Errno::AGAIN) => Err(io::ErrorKind::TimedOut.into()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The other systems refuse at once when the queue is full.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn connect(path: &Path, _budget: Duration) -> io::Result<UnixStream> {
        UnixStream::connect(path)
    }

    impl Channel for UnixStream {
        fn read(&mut self, buffer: &mut [u8], deadline: Option<Instant>) -> io::Result<usize> {
            loop {
                self.set_read_timeout(left(deadline)?)?;
                match (&*self).read(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => return other,
                }
            }
        }

        fn write_all(&mut self, mut bytes: &[u8], deadline: Option<Instant>) -> io::Result<()> {
            while !bytes.is_empty() {
                self.set_write_timeout(left(deadline)?)?;
                match (&*self).write(bytes) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        }

        #[cfg(target_os = "linux")]
        fn peer(&self) -> super::Peer {
            match rustix::net::sockopt::socket_peercred(self) {
                Ok(peer) => super::Peer {
                    pid: u32::try_from(peer.pid.as_raw_nonzero().get()).ok(),
                    uid: Some(peer.uid.as_raw()),
                },
                Err(_) => super::Peer::default(),
            }
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::fs::{File, OpenOptions};

    use super::{Channel, Duration, Instant, Path, Read as _, Write as _, io, left};

    /// All instances of the pipe are in use.
    const ERROR_PIPE_BUSY: i32 = 231;

    /// A pipe is a file opened for both; while all its instances are busy, opening is tried again until the budget
    /// is used up.
    pub(super) fn connect(path: &Path, budget: Duration) -> io::Result<Pipe> {
        let deadline = Instant::now() + budget;
        loop {
            match OpenOptions::new().read(true).write(true).open(path) {
                Ok(file) => return Ok(Pipe(file)),
                Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY) => {
                    left(Some(deadline))?;
                    std::thread::yield_now();
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A synchronous pipe handle knows no timeouts: the deadline is checked between the operations only.
    pub(super) struct Pipe(File);

    impl Channel for Pipe {
        fn read(&mut self, buffer: &mut [u8], deadline: Option<Instant>) -> io::Result<usize> {
            left(deadline)?;
            self.0.read(buffer)
        }

        fn write_all(&mut self, bytes: &[u8], deadline: Option<Instant>) -> io::Result<()> {
            left(deadline)?;
            self.0.write_all(bytes)
        }
    }
}

/// The pipes of a child that speaks the protocol (`gsdd --stdio`).
///
/// Dropping it closes the child's input, which ends it, and waits for its end; a child that does not end within
/// [`ChildChannel::GRACE`] is killed.
#[derive(Debug)]
pub struct ChildChannel {
    child: Child,
    input: Option<std::process::ChildStdin>,
    output: mpsc::Receiver<io::Result<Vec<u8>>>,
    rest: Vec<u8>,
    ended: mpsc::Receiver<()>,
}

impl ChildChannel {
    /// How long a child may take to end after its input was closed.
    pub const GRACE: Duration = Duration::from_secs(2);

    /// Largest piece handed over at once.
    const PIECE_BYTES: usize = 64 * 1024;

    /// Starts `command` with its input and output connected to this channel.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(mut stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        // Reading a pipe cannot be bounded in time without a second thread. The queue is short, so that a fast child
        // cannot fill our memory.
        let (sender, output) = mpsc::sync_channel(4);
        let (end, ended) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            let mut piece = vec![0; Self::PIECE_BYTES];
            loop {
                let message = match stdout.read(&mut piece) {
                    Ok(0) => break,
                    Ok(read) => Ok(piece.get(..read).unwrap_or_default().to_vec()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = message.is_err();
                if sender.send(message).is_err() || failed {
                    break;
                }
            }
            drop(end);
        });
        Ok(Self { child, input: Some(input), output, rest: Vec::new(), ended })
    }
}

impl Channel for ChildChannel {
    fn read(&mut self, buffer: &mut [u8], deadline: Option<Instant>) -> io::Result<usize> {
        if self.rest.is_empty() {
            let received = match left(deadline)? {
                Some(left) => self.output.recv_timeout(left),
                None => self.output.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            };
            self.rest = match received {
                Ok(piece) => piece?,
                Err(mpsc::RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(0),
            };
        }
        let step = self.rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(self.rest.drain(..step)) {
            *to = from;
        }
        Ok(step)
    }

    fn write_all(&mut self, bytes: &[u8], deadline: Option<Instant>) -> io::Result<()> {
        left(deadline)?;
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(bytes)?;
        input.flush()
    }

    fn peer(&self) -> Peer {
        Peer { pid: Some(self.child.id()), uid: None }
    }
}

impl Drop for ChildChannel {
    fn drop(&mut self) {
        self.input = None;
        let deadline = Instant::now() + Self::GRACE;
        // Its answers are not wanted any more, but it must not block on them.
        while matches!(left(Some(deadline)), Ok(Some(left)) if self.output.recv_timeout(left).is_ok()) {}
        let ended = left(Some(deadline)).ok().flatten().is_some_and(|left| {
            matches!(self.ended.recv_timeout(left), Err(mpsc::RecvTimeoutError::Disconnected))
        });
        if !ended {
            drop(self.child.kill());
        }
        drop(self.child.wait());
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_silent_peer_ends_in_a_timeout() {
        let (mut near, _far) = UnixStream::pair().unwrap();
        let deadline = Some(Instant::now() + Duration::from_millis(20));
        let error = Channel::read(&mut near, &mut [0; 8], deadline).unwrap_err();
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn fr034_a_full_queue_is_a_timeout_and_not_a_refusal() {
        let folder = std::env::temp_dir().join(format!("gsd-proto-queue-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("s");
        drop(std::fs::remove_file(&path));
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 1).unwrap();
        let mut kept = Vec::new();
        let error = loop {
            match connect(&path, Duration::from_millis(20)) {
                Ok(channel) => kept.push(channel),
                Err(error) => break error,
            }
            assert!(kept.len() < 100);
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(listener);
        assert_eq!(
            connect(&path, Duration::from_millis(20)).err().unwrap().kind(),
            io::ErrorKind::ConnectionRefused
        );
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(connect(&path, Duration::from_millis(20)).err().unwrap().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_child_is_a_channel() {
        let mut channel = ChildChannel::spawn(&mut Command::new("cat")).unwrap();
        let deadline = Some(Instant::now() + Duration::from_secs(10));
        channel.write_all(b"hello", deadline).unwrap();
        let mut buffer = [0; 3];
        assert_eq!(channel.read(&mut buffer, deadline).unwrap(), 3);
        assert_eq!(channel.read(&mut buffer, deadline).unwrap(), 2);
        assert_eq!(&buffer[..2], b"lo");
        let soon = Some(Instant::now() + Duration::from_millis(10));
        assert_eq!(channel.read(&mut buffer, soon).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
