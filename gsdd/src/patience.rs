//! How long a change waits for somebody else who is at work, and who is told about it.
//!
//! Whoever waits is told what for, who holds it and when it gives up; and it does give up. Belongs to a thread while a
//! change is carried out, so that it need not be handed through every function.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gsd_proto::api::Progress;

use crate::transport::Current;

/// For callers that do not say.
const DEFAULT: Duration = Duration::from_secs(30);
/// Waits shorter than this are nobody's concern.
const QUIET: Duration = Duration::from_millis(200);
/// Between two looks.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// Waits in the queue; nobody has begun.
const QUEUED: u8 = 0;
/// Is being carried out.
const BEGUN: u8 = 1;
/// Was given up and must not be carried out any more.
const GIVEN_UP: u8 = 2;
/// Found somebody at work before it changed anything; it is begun again in a moment.
const PUT_OFF: u8 = 3;

thread_local! {
    static CURRENT: RefCell<Option<Patience>> = const { RefCell::new(None) };
}

/// The patience of one caller; its clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Patience(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    begun: Instant,
    limit: Duration,
    caller: Option<Arc<Current>>,
    progress: AtomicU8,
    /// Whether it may be put off instead of being waited with.
    may_be_put_off: AtomicBool,
    /// What the caller was told.
    told: Mutex<Vec<String>>,
}

impl Patience {
    /// Waits so long, and tells nobody.
    pub(crate) fn of(limit: Duration) -> Self {
        Self::new(limit, None)
    }

    /// Of the caller whose request is being served here.
    pub(crate) fn of_call() -> Self {
        let caller = Current::get();
        let limit = caller.as_ref().and_then(|caller| caller.wait()).unwrap_or(DEFAULT);
        Self::new(limit, caller)
    }

    /// Of the change that this thread carries out.
    pub(crate) fn current() -> Self {
        CURRENT.with_borrow(Clone::clone).unwrap_or_else(|| Self::of(DEFAULT))
    }

    fn new(limit: Duration, caller: Option<Arc<Current>>) -> Self {
        Self(Arc::new(Inner {
            begun: Instant::now(),
            limit,
            caller,
            progress: AtomicU8::new(QUEUED),
            may_be_put_off: AtomicBool::new(false),
            told: Mutex::default(),
        }))
    }

    /// Carries out `work` with this patience, unless the caller has gone; says so then.
    pub(crate) fn spend<R>(self, work: impl FnOnce() -> R) -> Option<R> {
        let progress = &self.0.progress;
        let begins =
            |from| progress.compare_exchange(from, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if !begins(QUEUED) && !begins(PUT_OFF) {
            return None;
        }
        let before = CURRENT.replace(Some(self));
        let result = work();
        CURRENT.set(before);
        Some(result)
    }

    /// Whether nobody has begun the work.
    pub(crate) fn is_queued(&self) -> bool {
        self.0.progress.load(Ordering::Acquire) == QUEUED
    }

    /// From here on whoever is found at work is not waited for in this thread: the work ends with an error and is begun
    /// again, and others get their turn meanwhile. For work that has changed nothing yet.
    pub(crate) fn allow_putting_off(&self, allowed: bool) {
        self.0.may_be_put_off.store(allowed, Ordering::Relaxed);
    }

    /// Whether the work ended because it was put off.
    pub(crate) fn was_put_off(&self) -> bool {
        self.0.progress.load(Ordering::Acquire) == PUT_OFF
    }

    /// Keeps work that has not begun from beginning; false when it has.
    pub(crate) fn give_up(&self) -> bool {
        self.0.progress.compare_exchange(QUEUED, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Whether it has waited long enough.
    pub(crate) fn is_over(&self) -> bool {
        self.0.begun.elapsed() >= self.0.limit
    }

    /// How long it waits altogether.
    pub(crate) fn limit(&self) -> Duration {
        self.0.limit
    }

    /// Waits a moment for `what`, which `holder` holds; false when there is no waiting any more, or not here.
    pub(crate) fn pause(&self, what: &str, holder: Option<u32>) -> bool {
        if self.is_over() {
            return false;
        }
        self.tell(what, holder);
        if self.0.may_be_put_off.load(Ordering::Relaxed) {
            self.0.progress.store(PUT_OFF, Ordering::Release);
            return false;
        }
        std::thread::sleep(PAUSE);
        true
    }

    /// Tells the caller what is waited for, once.
    pub(crate) fn tell(&self, what: &str, holder: Option<u32>) {
        let Some(caller) = self.0.caller.as_ref().filter(|_| self.0.begun.elapsed() >= QUIET) else { return };
        let notice = format!(
            "waiting for {what}, held by {}; gives up after {:?}",
            holder_words(holder),
            self.0.limit
        );
        let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.contains(&notice) {
            tracing::info!("{notice}");
            caller.progress(&Progress {
                phase: "wait".to_owned(),
                notice: notice.clone(),
                ..Progress::default()
            });
            told.push(notice);
        }
    }
}

/// A process in words.
pub(crate) fn holder_words(pid: Option<u32>) -> String {
    pid.map_or_else(|| "an unknown process".to_owned(), |pid| format!("process {pid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_off_is_begun_again() {
        let patience = Patience::of(Duration::from_secs(60));
        for _ in 0..2 {
            let went_on = patience.clone().spend(|| {
                Patience::current().allow_putting_off(true);
                Patience::current().pause("a test", None)
            });
            assert_eq!(went_on, Some(false));
            assert!(patience.was_put_off() && !patience.give_up());
        }
        patience.clone().spend(|| ());
        assert!(!patience.was_put_off());
    }

    #[test]
    fn what_was_given_up_is_not_carried_out() {
        let patience = Patience::of(Duration::ZERO);
        assert!(patience.is_over() && patience.give_up());
        assert_eq!(patience.clone().spend(|| 1), None);
        let patience = Patience::of(Duration::from_secs(1));
        let inside = patience.clone().spend(|| Patience::current().limit());
        assert_eq!(inside, Some(Duration::from_secs(1)));
        assert!(!patience.is_queued() && !patience.give_up());
        assert_eq!(Patience::current().limit(), DEFAULT);
    }
}
