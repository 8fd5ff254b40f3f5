//! Who is at the other end of a connection.

/// A client as the operating system describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Process id.
    pub pid: Option<u32>,
    /// User id.
    pub uid: Option<u32>,
}

impl Peer {
    /// Whether we serve it: the same user as ours and nobody else. Root is another user unless the daemon is root's
    /// (threat T169). A system that does not tell the user is trusted to guard the socket itself.
    #[must_use]
    pub fn is_allowed(self, our_uid: u32) -> bool {
        self.uid.is_none_or(|uid| uid == our_uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t169_other_users_are_not_served() {
        let of = |uid| Peer { pid: Some(1), uid };
        assert!(of(Some(1000)).is_allowed(1000));
        assert!(!of(Some(1001)).is_allowed(1000));
        assert!(!of(Some(0)).is_allowed(1000));
        assert!(of(Some(0)).is_allowed(0));
    }
}
