//! Where a test breaks things on purpose: every effect on the disk passes [`at`] before it is done.
//!
//! In a build for use `at` is nothing. Tests of this crate arm it for their own thread. The program that the feature
//! `fail-points` builds reads what to do from the file that `GSD_FAIL_POINTS` names, at every effect anew, so that a
//! test can arm a daemon that runs.
//!
//! The file holds a word and a number: how many effects pass before the word comes true.
//!
//! | Word | Then |
//! |---|---|
//! | `kill` | the process ends by SIGKILL, before the effect |
//! | `eio` | this one effect fails with EIO |
//! | `full` | this and all later effects that need room fail with ENOSPC |
//!
//! What came true is written into the file in place of the number, with the place in the source.

use std::io;

/// A kind of effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// A new folder.
    MakeFolder,
    /// A new file or link.
    Create,
    /// The second half of a file's bytes: the first is written.
    Write,
    /// Permission bits.
    Mode,
    /// Bytes of a file on their way to the disk.
    Flush,
    /// A rename.
    Rename,
    /// A changed folder on its way to the disk.
    FlushFolder,
    /// A file, link or folder goes.
    Remove,
    /// Nothing: a step of a plan has been done.
    StepDone,
}

impl Spot {
    /// Whether a full disk can refuse it.
    #[cfg(any(test, feature = "fail-points"))]
    fn needs_room(self) -> bool {
        matches!(self, Self::MakeFolder | Self::Create | Self::Write | Self::Flush)
    }
}

/// Passes, or fails as the disk would have.
#[cfg(not(any(test, feature = "fail-points")))]
#[inline]
pub(crate) fn at(_: Spot) -> io::Result<()> {
    Ok(())
}

#[cfg(any(test, feature = "fail-points"))]
pub(crate) use armed::at;

/// Writes all bytes, in two halves where something can break between them.
pub(crate) fn write_all(file: &mut impl io::Write, bytes: &[u8]) -> io::Result<()> {
    if cfg!(not(any(test, feature = "fail-points"))) {
        return file.write_all(bytes);
    }
    let (first, second) = bytes.split_at(bytes.len() / 2);
    file.write_all(first)?;
    at(Spot::Write)?;
    file.write_all(second)
}

#[cfg(any(test, feature = "fail-points"))]
mod armed {
    use super::{Spot, io};

    /// `EIO` and `ENOSPC` of Linux and most others.
    const EIO: i32 = 5;
    const ENOSPC: i32 = 28;

    #[cfg_attr(not(feature = "fail-points"), expect(dead_code, reason = "a test does not kill itself"))]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Word {
        Kill,
        Eio,
        Full,
    }

    impl Word {
        fn concerns(self, spot: Spot) -> bool {
            match self {
                Self::Kill | Self::Eio => true,
                Self::Full => spot.needs_room(),
            }
        }

        fn comes_true(self) -> io::Result<()> {
            match self {
                Self::Kill => {
                    #[cfg(unix)]
                    let _ = rustix::process::kill_process(
                        rustix::process::getpid(),
                        rustix::process::Signal::KILL,
                    );
                    std::process::abort()
                }
                Self::Eio => Err(io::Error::from_raw_os_error(EIO)),
                Self::Full => Err(io::Error::from_raw_os_error(ENOSPC)),
            }
        }
    }

    /// Passes, or fails as the disk would have.
    #[cfg(test)]
    pub(crate) fn at(spot: Spot) -> io::Result<()> {
        match thread::ARMED.get() {
            Some((word, 0)) if word.concerns(spot) => {
                thread::ARMED.set((word == Word::Full).then_some((word, 0)));
                word.comes_true()
            }
            Some((word, left)) if word.concerns(spot) => {
                thread::ARMED.set(Some((word, left - 1)));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Passes, or does what the file says.
    #[cfg(not(test))]
    #[track_caller]
    pub(crate) fn at(spot: Spot) -> io::Result<()> {
        use std::io::Write as _;
        use std::path::PathBuf;
        use std::sync::{Mutex, OnceLock, PoisonError};

        static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
        static ONE_BY_ONE: Mutex<()> = Mutex::new(());
        let Some(path) = FILE.get_or_init(|| std::env::var_os("GSD_FAIL_POINTS").map(Into::into)) else {
            return Ok(());
        };
        let _one = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(text) = crate::fs::bounded_read::read(path, 1024) else { return Ok(()) };
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut words = text.split_whitespace();
        let word = match words.next() {
            Some("kill") => Word::Kill,
            Some("eio") => Word::Eio,
            Some("full") => Word::Full,
            _ => return Ok(()),
        };
        let left = words.next().and_then(|left| left.parse::<usize>().ok());
        let put =
            |text: String| std::fs::File::create(path).and_then(|mut file| file.write_all(text.as_bytes()));
        match left {
            _ if !word.concerns(spot) => Ok(()),
            Some(0) => {
                let name = words_of(word);
                put(format!("{name} {spot:?} at {}\n", std::panic::Location::caller()))?;
                word.comes_true()
            }
            Some(left) => put(format!("{} {}\n", words_of(word), left - 1)),
            // A full disk stays full.
            None if word == Word::Full => word.comes_true(),
            None => Ok(()),
        }
    }

    #[cfg(not(test))]
    fn words_of(word: Word) -> &'static str {
        match word {
            Word::Kill => "kill",
            Word::Eio => "eio",
            Word::Full => "full",
        }
    }

    #[cfg(test)]
    pub(super) mod thread {
        use std::cell::Cell;

        use super::Word;

        thread_local! {
            pub(super) static ARMED: Cell<Option<(Word, usize)>> = const { Cell::new(None) };
        }

        /// Until it is dropped, `word` comes true in this thread after so many effects.
        pub(crate) struct Armed(());

        impl Armed {
            pub(crate) fn after(effects: usize, word: Word) -> Self {
                ARMED.set(Some((word, effects)));
                Self(())
            }

            /// Whether it has come true.
            pub(crate) fn has_struck(&self) -> bool {
                ARMED.get().is_none_or(|(_, left)| left == 0)
            }
        }

        impl Drop for Armed {
            fn drop(&mut self) {
                ARMED.set(None);
            }
        }
    }
}

#[cfg(test)]
pub(crate) use armed::{Word, thread::Armed};
