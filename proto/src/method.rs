//! What a method is: a name, an effect, the type of its parameters and the type of its result.
//!
//! Both sides name the same type, so that a call and its handler cannot disagree about a field.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a method may do to the machine.
///
/// Source: interface, ground rule 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads only: no write, no prompt, no network.
    Read,
    /// Writes files that are ours.
    WriteState,
    /// Writes files of a host program.
    WriteHost,
    /// Talks to the network.
    Network,
    /// Starts a program.
    Execute,
}

impl Effect {
    /// The word used in help texts and documents.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::WriteState => "write-state",
            Self::WriteHost => "write-host",
            Self::Network => "network",
            Self::Execute => "execute",
        }
    }
}

/// A request with one answer.
pub trait Method {
    /// Name on the wire, `namespace.verb`.
    const NAME: &'static str;
    /// What the call may do.
    const EFFECT: Effect;
    /// Parameters; always an object on the wire.
    type Params: Serialize + DeserializeOwned;
    /// Result of a successful call.
    type Result: Serialize + DeserializeOwned;
}

/// A stream of notifications, opened by one call and closed by another.
///
/// On the wire: the opening call answers with the subscription's id; each event is a notification
/// [`Subscription::EVENT`] with `params: {"subscription": id, "result": event}`; the closing call takes
/// `[id]`.
pub trait Subscription {
    /// Method that opens the stream.
    const SUBSCRIBE: &'static str;
    /// Method that closes it.
    const UNSUBSCRIBE: &'static str;
    /// Method name of its notifications.
    const EVENT: &'static str;
    /// Parameters of the opening call.
    type Params: Serialize + DeserializeOwned;
    /// One event.
    type Event: Serialize + DeserializeOwned;
}
