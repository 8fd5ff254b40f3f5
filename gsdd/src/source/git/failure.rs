//! What git says when it fails, as an answer.

use gsd_proto::{Code, WireError};
use gsdd_core::text::{shown, shown_up_to};

use super::Git;

impl Git<'_> {
    /// Time-out, authentication, unknown host, certificate and no such repository are different answers (FR-032).
    pub(super) fn explain(&self, stderr: &str) -> WireError {
        let url = shown(self.url);
        let lower = stderr.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let error = if says(&[
            "authentication failed",
            "could not read username",
            "could not read password",
            "terminal prompts disabled",
            "permission denied (publickey",
            "access denied",
            " 401",
            " 403",
        ]) {
            WireError::new(
                Code::SourceUnreachable,
                format!("{url} wants authentication that your git does not have"),
            )
            .with_fix(
                "set up a credential helper or ssh key for that host, then check it",
                &["git", "ls-remote", &url],
            )
        } else if self.caller.policy().limits_sources() && says(&["redirect", "error: 30"]) {
            WireError::new(Code::PolicySourceBlocked, format!("{url} redirects, and a policy limits sources"))
                .with_fix("name the address that it leads to; see the policy", &["gsdctl", "policy", "show"])
        } else if says(&["could not resolve host", "name or service not known", "no address associated"]) {
            WireError::new(Code::SourceUnreachable, format!("the host of {url} is not known"))
                .with_fix("check the spelling of the host, and the network", &[])
        } else if says(&["certificate", "ssl"]) {
            WireError::new(Code::SourceUnreachable, format!("the certificate of {url} is not trusted"))
                .with_fix("if your organisation has its own authority, name it in SSL_CERT_FILE", &[])
        } else if says(&["couldn't find remote ref", "not our ref", "unadvertised object"]) {
            WireError::new(Code::NotFound, format!("{url} does not have that tag, branch or commit"))
                .with_fix("list what there is", &["git", "ls-remote", "--tags", "--heads", &url])
        } else if says(&[
            "not found",
            "does not exist",
            "does not appear to be a git repository",
            "repository",
        ]) {
            WireError::new(Code::NotFound, format!("there is no repository at {url}"))
                .with_fix("check the URL; a private repository also looks like this without access", &[])
        } else if says(&["timed out", "timeout"]) {
            WireError::new(Code::SourceUnreachable, format!("{url} did not answer in time"))
        } else if says(&["transport", "not allowed"]) {
            WireError::new(Code::PolicyBlocked, format!("git refuses the transport of {url}"))
        } else {
            WireError::new(Code::SourceUnreachable, format!("{url} can't be reached"))
        };
        let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
        // What follows the first fatal line is advice.
        let told = lines().find(|line| line.starts_with("fatal:")).or_else(|| lines().next_back());
        let told = told.unwrap_or_default();
        error.caused_by(format!("git: {}", shown_up_to(&without_credentials(told), 200)))
    }
}

/// A rewritten URL of the person may hold a token, and git quotes it in errors.
pub(in crate::source) fn without_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        let authority = tail.find(['/', ' ', '\'', '"']).unwrap_or(tail.len());
        rest = match tail[..authority].rfind('@') {
            Some(user) => &tail[user + 1..],
            None => tail,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fr_025_credentials_of_a_rewritten_url_are_not_repeated() {
        let text = "fatal: unable to access 'https://bob:hunter2@forge.example/x.git/': nope https://a@b/";
        assert_eq!(
            without_credentials(text),
            "fatal: unable to access 'https://forge.example/x.git/': nope https://b/"
        );
    }
}
