//! Against a server on loopback, which the policy of each test lists.

use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use gsd_tests::{HttpsServer, Reply};
use gsdd_core::policy::{FileText, Layer, read_layer};
use gsdd_core::source::Pin as Digest;
use tokio_util::sync::CancellationToken;

use super::resolve::Lookup;
use super::*;

/// A fetch against a server, with everything that decides about it.
struct Bench {
    dir: tempfile::TempDir,
    ctx: Context,
    /// Private hosts of the person's policy, and what else it says.
    hosts: Vec<String>,
    rules: &'static str,
    cancel: CancellationToken,
    names: Option<Arc<dyn Lookup>>,
}

impl Bench {
    /// The server's authority is trusted, its port is listed.
    fn of(server: &HttpsServer) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let authority = dir.path().join("ca.pem");
        server.write_authority(&authority);
        let vars = [("SSL_CERT_FILE".into(), authority.into_os_string())];
        Self {
            ctx: Context::new("t", dir.path().to_owned(), vars),
            dir,
            hosts: Vec::new(),
            rules: "",
            cancel: CancellationToken::new(),
            names: None,
        }
        .listing(&format!("localhost:{}", server.port()))
    }

    fn listing(mut self, host: &str) -> Self {
        self.hosts.push(host.to_owned());
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.ctx.env.insert(name.to_owned(), value.to_owned());
        self
    }

    fn policy(&self) -> Policy {
        let hosts = if self.hosts.is_empty() {
            String::new()
        } else {
            format!("[network]\nprivate_hosts = {:?}\n", self.hosts)
        };
        let text = format!("{}{hosts}", self.rules);
        Policy::new([read_layer(Layer::User, Path::new("policy.toml"), &FileText::Bytes(text.as_bytes()))])
    }

    fn run<T: Send>(
        &self,
        work: impl FnOnce(&Http, &Path) -> Result<T, WireError> + Send,
    ) -> Result<T, WireError> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let watch = Watch::new(self.cancel.clone());
        let mut http = Http::new(&self.ctx, Arc::new(self.policy()), watch, None)?;
        if let Some(names) = &self.names {
            http.clients = http.clients.looking_up(Arc::clone(names));
        }
        let _inside = runtime.enter();
        work(&http, self.dir.path())
    }

    fn get(&self, url: &str) -> Result<Document, WireError> {
        self.get_within(url, Limits::document(1024 * 1024))
    }

    fn get_within(&self, url: &str, limits: Limits) -> Result<Document, WireError> {
        self.run(|http, _| http.get(&Request::new(url, limits)))
    }

    #[track_caller]
    fn refused(&self, url: &str, code: &str, says: &str) {
        let error = self.get(url).unwrap_err();
        let told = format!("{error} {:?}", error.cause);
        assert!(&*error.code == code && told.contains(says), "{url}: {}: {told}", error.code);
        assert!(!error.fix.is_empty(), "{url}: no remedy: {error}");
    }
}

#[test]
fn a_document_and_an_archive_arrive_with_their_digests() {
    let body = vec![7_u8; 3 * 1024 * 1024];
    let served = body.clone();
    let server = HttpsServer::start(&[], move |_| Reply::ok(served.clone()));
    let bench = Bench::of(&server);
    assert_eq!(bench.get_within(&server.url("/x"), Limits::archive(0)).unwrap().bytes, body);
    let url = server.url("/c.tgz?token=1");
    let mut got = bench.run(|http, dir| http.download(&Request::new(&url, Limits::archive(0)), dir)).unwrap();
    let mut bytes = Vec::new();
    got.file.read_to_end(&mut bytes).unwrap();
    assert_eq!((got.bytes, bytes == body, got.sha512), (body.len() as u64, true, Digest::of(&body)));
    assert_eq!(got.sha256.len(), 64);
    assert!(got.file.is_rolled(), "what is large is not kept in memory");
    let user_agent = server.seen()[0].header("user-agent").unwrap().to_owned();
    assert!(user_agent.starts_with("gsdd/"), "{user_agent}");
}

#[test]
fn t62_a_private_server_needs_a_line_in_the_policy() {
    let server = HttpsServer::start(&[], |_| Reply::ok("x"));
    let mut bench = Bench::of(&server);
    bench.get(&server.url("/x")).unwrap();
    bench.hosts.clear();
    bench.refused(&server.url("/x"), "policy.blocked", "this machine itself");
    bench.refused(&format!("https://127.0.0.1:{}/x", server.port()), "policy.blocked", "this machine itself");
    assert_eq!(server.seen().len(), 1);
}

/// Answers each question with the next list.
struct Rebinding(Mutex<Vec<Vec<IpAddr>>>);

impl Lookup for Rebinding {
    fn lookup(&self, _: String) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
        let answer = self.0.lock().unwrap().pop();
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("asked too often")) })
    }
}

fn answers(lists: &[&[&str]]) -> Option<Arc<dyn Lookup>> {
    let lists = lists.iter().rev().map(|list| list.iter().map(|ip| ip.parse().unwrap()).collect());
    Some(Arc::new(Rebinding(Mutex::new(lists.collect()))))
}

#[test]
fn t63_a_name_is_judged_by_the_address_that_is_dialled() {
    let server = HttpsServer::start(&["rebound.example"], |_| Reply::ok("x"));
    let url = format!("https://rebound.example:{}/x", server.port());
    let mut bench = Bench::of(&server);
    // Only the port is special: the name has to lead to the public internet all the same.
    for list in [&["127.0.0.1"][..], &["8.8.8.8", "127.0.0.1"], &["::ffff:127.0.0.1"], &["169.254.169.254"]] {
        bench.names = answers(&[list]);
        bench.refused("https://rebound.example/x", "policy.blocked", "it leads to");
    }
    assert_eq!(server.seen().len(), 0);
    // One question for one connection: a second answer is never asked for, and exactly the first one is dialled.
    bench = bench.listing(&format!("rebound.example:{}", server.port()));
    bench.names = answers(&[&["127.0.0.1"]]);
    bench.get(&url).unwrap();
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn t64_redirects_are_followed_within_limits() {
    let server = HttpsServer::start(&[], |seen| match seen.target.as_str() {
        "/loop" => Reply::redirect("/loop"),
        "/plain" => Reply::redirect("http://localhost/x"),
        "/private" => Reply::redirect("https://10.0.0.1/x"),
        "/metadata" => Reply::redirect("https://169.254.169.254/latest"),
        "/nowhere" => Reply::status(302),
        "/end" => Reply::ok("end"),
        other => match other.strip_prefix("/hop").and_then(|n| n.parse::<u32>().ok()) {
            Some(0) | None => Reply::redirect("/end"),
            Some(left) => Reply::redirect(&format!("/hop{}", left - 1)),
        },
    });
    let bench = Bench::of(&server);
    let document = bench.get(&server.url("/hop4")).unwrap();
    assert_eq!((document.bytes.as_slice(), document.final_url.path()), (&b"end"[..], "/end"));
    bench.refused(&server.url("/hop5"), "source.unreachable", "too often");
    bench.refused(&server.url("/loop"), "source.unreachable", "too often");
    bench.refused(&server.url("/plain"), "policy.blocked", "not an https URL");
    bench.refused(&server.url("/private"), "policy.blocked", "private address");
    bench.refused(&server.url("/metadata"), "policy.blocked", "link-local");
    bench.refused(&server.url("/nowhere"), "source.unreachable", "to nowhere");
}

#[test]
fn t159_a_redirect_leads_only_to_allowed_places() {
    let server = HttpsServer::start(&[], |seen| match seen.target.as_str() {
        "/x" => Reply::redirect(&format!(
            "https://{}/y",
            seen.header("host").unwrap().replace("localhost", "127.0.0.1")
        )),
        _ => Reply::ok("y"),
    });
    let mut bench = Bench::of(&server).listing(&format!("127.0.0.1:{}", server.port()));
    bench.get(&server.url("/x")).unwrap();
    bench.rules = "[sources]\nallow = [\"host:localhost\", \"kind:npm\"]\n";
    bench.refused(&server.url("/x"), "policy.source_blocked", "127.0.0.1");
    let url = server.url("/x");
    let for_npm = |http: &Http, _: &Path| {
        http.get(&Request { errand: Errand::Npm("x"), ..Request::new(&url, Limits::document(9)) })
    };
    bench.run(for_npm).unwrap();
    bench.rules = "[sources]\ndeny = [\"host:127.0.0.1\"]\n";
    bench.run(for_npm).unwrap_err();
    bench.refused(&url, "policy.source_blocked", "`sources.deny` denies host:127.0.0.1");
    bench.rules = "[sources]\nallow = [\"repository:localhost/x\"]\n";
    bench.refused(&server.url("/z"), "policy.source_blocked", "localhost");
}

#[test]
fn t65_credentials_go_to_their_origin_only_and_cookies_nowhere() {
    let server = HttpsServer::start(&[], |seen| match seen.target.as_str() {
        "/same" => Reply::redirect("/end").with("set-cookie", "a=b; path=/"),
        "/away" => Reply::redirect(&format!(
            "https://{}/end",
            seen.header("host").unwrap().replace("localhost", "127.0.0.1")
        )),
        _ => Reply::ok("end"),
    });
    let bench = Bench::of(&server).listing(&format!("127.0.0.1:{}", server.port()));
    for path in ["/same", "/away"] {
        let url = server.url(path);
        bench
            .run(|http, _| {
                http.get(&Request {
                    authorization: secret_header("Bearer s3cret"),
                    ..Request::new(&url, Limits::document(9))
                })
            })
            .unwrap();
    }
    let sent: Vec<bool> = server.seen().iter().map(|seen| seen.header("authorization").is_some()).collect();
    assert_eq!(sent, [true, true, true, false]);
    assert!(
        server.seen().iter().all(|seen| seen.header("cookie").is_none() && seen.header("referer").is_none())
    );
    let header = secret_header("Bearer s3cret");
    assert!(!format!("{header:?}").contains("s3cret"));
}

#[test]
fn t69_no_variable_switches_the_check_of_certificates_off() {
    let server = HttpsServer::start(&[], |_| Reply::ok("x"));
    let mut bench = Bench::of(&server);
    bench.ctx.env.remove("SSL_CERT_FILE");
    for name in ["NODE_TLS_REJECT_UNAUTHORIZED", "GIT_SSL_NO_VERIFY", "SSL_NO_VERIFY", "PYTHONHTTPSVERIFY"] {
        bench = bench.env(name, "0");
    }
    bench.refused(&server.url("/x"), "source.unreachable", "is not trusted");
    let other = HttpsServer::start(&[], |_| Reply::ok("x"));
    other.write_authority(&bench.dir.path().join("other.pem"));
    bench = bench.env("SSL_CERT_FILE", "other.pem");
    bench.refused(&server.url("/x"), "source.unreachable", "is not trusted");
    bench = bench.env("SSL_CERT_FILE", "none.pem");
    bench.refused(&server.url("/x"), "usage.invalid", "SSL_CERT_FILE");
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn t69_a_certificate_for_another_name_is_not_trusted() {
    let server = HttpsServer::start(&[], |_| Reply::ok("x"));
    let mut bench = Bench::of(&server).listing("other.example");
    bench.names = answers(&[&["127.0.0.1"]]);
    bench.refused(
        &format!("https://other.example:{}/x", server.port()),
        "source.unreachable",
        "certificate of other.example",
    );
}

#[test]
fn t70_the_proxy_is_the_callers() {
    let server = HttpsServer::start(&[], |_| Reply::ok("x"));
    // A port that nobody listens on.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let bench = Bench::of(&server).env("HTTPS_PROXY", &format!("http://{closed}"));
    bench.refused(&server.url("/x"), "source.unreachable", "no connection");
    bench.env("NO_PROXY", "localhost").get(&server.url("/x")).unwrap();
    let bench = Bench::of(&server).env("ALL_PROXY", "socks5://127.0.0.1:1");
    bench.refused(&server.url("/x"), "usage.invalid", "ALL_PROXY");
    // A variable for plain text, and a file of a project, decide nothing.
    let bench = Bench::of(&server).env("HTTP_PROXY", &format!("http://{closed}"));
    gsd_tests::put(bench.dir.path().join(".env"), format!("HTTPS_PROXY=http://{closed}\n"));
    bench.get(&server.url("/x")).unwrap();
}

#[test]
fn t70_a_proxy_carries_the_request_and_gets_its_own_credentials_only() {
    use std::io::{BufRead as _, Write as _};
    let server = HttpsServer::start(&["behind.example"], |_| Reply::ok("x"));
    let target = format!("127.0.0.1:{}", server.port());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = listener.local_addr().unwrap();
    let carried = std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let mut reader = io::BufReader::new(client.try_clone().unwrap());
        let mut head = String::new();
        while reader.read_line(&mut head).unwrap() > 2 {}
        (&client).write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let upstream = std::net::TcpStream::connect(target).unwrap();
        let (mut from, mut to) = (upstream.try_clone().unwrap(), client.try_clone().unwrap());
        let back = std::thread::spawn(move || drop(io::copy(&mut from, &mut to)));
        let _ = io::copy(&mut reader, &mut &upstream);
        let _ = upstream.shutdown(std::net::Shutdown::Both);
        back.join().unwrap();
        head
    });
    let bench = Bench::of(&server).env("HTTPS_PROXY", &format!("http://me:pw@{proxy}"));
    // The proxy looks the name up; here nothing would.
    bench.get("https://behind.example/x").unwrap();
    let head = carried.join().unwrap();
    assert!(head.starts_with("CONNECT behind.example:443 "), "{head}");
    assert!(head.to_ascii_lowercase().contains("proxy-authorization: basic bwu6chc="), "{head}");
    assert!(server.seen().iter().all(|seen| seen.header("proxy-authorization").is_none()));
}

#[test]
fn t71_a_slow_body_is_not_waited_for() {
    let server = HttpsServer::start(&[], |seen| {
        let patient = seen.target == "/fast";
        Reply::raw(move |out| {
            // Ends when the client has gone.
            for _ in 0.. {
                out.write_all(if patient { &[0; 64] } else { &[0] })?;
                out.flush()?;
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(())
        })
    });
    let bench = Bench::of(&server);
    let limits = Limits {
        time: Duration::from_secs(20),
        bytes: u64::MAX,
        window: Duration::from_millis(200),
        window_bytes: 1000,
    };
    let error = bench.get_within(&server.url("/slow"), limits).unwrap_err();
    assert!(error.message.contains("too slowly"), "{error}");
    let limits = Limits { time: Duration::from_millis(700), window_bytes: 1, ..limits };
    let error = bench.get_within(&server.url("/fast"), limits).unwrap_err();
    assert!(error.message.contains("did not arrive within"), "{error}");
}

#[test]
fn t56_t72_bytes_are_counted_and_lengths_are_not_believed() {
    let server = HttpsServer::start(&[], |seen| match seen.target.as_str() {
        "/announced" => Reply::ok(vec![0; 2000]),
        "/endless" => Reply::raw(|out| {
            while out.write_all(&[0; 4096]).is_ok() {}
            Ok(())
        }),
        "/chunks" => Reply::raw(|out| {
            out.write_all(b"ffffffff\r\n")?;
            while out.write_all(&[0; 4096]).is_ok() {}
            Ok(())
        })
        .with("transfer-encoding", "chunked"),
        _ => Reply::raw(|out| out.write_all(&[0; 10])).with("content-length", "100"),
    });
    let bench = Bench::of(&server);
    let limits = Limits { bytes: 1000, ..Limits::document(0) };
    for path in ["/announced", "/endless", "/chunks"] {
        let error = bench.get_within(&server.url(path), limits).unwrap_err();
        assert_eq!(&*error.code, "bundle.too-large", "{path}: {error}");
    }
    let error = bench.get_within(&server.url("/short"), limits).unwrap_err();
    assert!(error.message.contains("broke off"), "{error}");
}

#[test]
fn t73_only_identity_is_asked_for_and_taken() {
    let server = HttpsServer::start(&[], |_| Reply::ok("x").with("content-encoding", "gzip"));
    let bench = Bench::of(&server);
    bench.refused(&server.url("/x"), "source.unreachable", "encodes");
    assert_eq!(server.seen()[0].header("accept-encoding"), Some("identity"));
}

#[test]
fn fr_032_answers_differ_by_what_went_wrong() {
    let server = HttpsServer::start(&[], |seen| {
        Reply::status(seen.target.trim_start_matches('/').parse().unwrap_or(200))
    });
    let mut bench = Bench::of(&server);
    for (path, code, says) in [
        ("/401", "source.unreachable", "authentication"),
        ("/403", "source.unreachable", "authentication"),
        ("/404", "not_found", "nothing at"),
        ("/410", "not_found", "nothing at"),
        ("/429", "source.unreachable", "fewer requests"),
        ("/503", "source.unreachable", "status 503"),
    ] {
        bench.refused(&server.url(path), code, says);
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    bench = bench.listing(&closed.to_string());
    bench.refused(&format!("https://{closed}/x"), "source.unreachable", "no connection");
    bench.names = Some(Arc::new(Rebinding(Mutex::default())));
    bench.refused("https://nobody.example/x", "source.unreachable", "is not known");
    bench.refused("https://for ge.example/x", "source.spec_invalid", "not a usable URL");
}

#[test]
fn a_fetch_that_is_given_up_ends_at_once() {
    let bench_cancel = CancellationToken::new();
    let seen_cancel = bench_cancel.clone();
    let server = HttpsServer::start(&[], move |_| {
        let cancel = seen_cancel.clone();
        Reply::raw(move |out| {
            out.write_all(&[0; 16])?;
            out.flush()?;
            cancel.cancel();
            // Nothing more comes, and the connection stays open until the client closes it.
            while out.write_all(b"").and_then(|()| out.flush()).is_ok() && !cancel.is_cancelled() {}
            std::thread::sleep(Duration::from_secs(1));
            Ok(())
        })
    });
    let mut bench = Bench::of(&server);
    bench.cancel = bench_cancel;
    let began = std::time::Instant::now();
    let error = bench.get(&server.url("/x")).unwrap_err();
    assert_eq!(&*error.code, "cancelled");
    assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
}
