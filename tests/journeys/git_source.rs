//! Git sources: exactly the wanted commit, nothing of the repository's or the caller's surroundings.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use gsd_tests::{Bundle, Repository, World, link, put, text_of};

const URL: &str = "https://forge.example/acme-lint.git";

fn install(world: &World, reference: &str) -> gsd_tests::Outcome {
    world.gsdctl(["install", &format!("{URL}{reference}"), "--yes"]).run()
}

/// A repository whose versions are 1.0.0 (tagged, annotated), 1.1.0 (tagged), 2.0.0-dev on a branch, 1.2.0 at the tip.
fn history(world: &World) -> (Repository, Vec<String>) {
    let repository = world.repository("acme-lint.git");
    let mut commits = Vec::new();
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        version_at(&repository, "", version);
        commits.push(repository.commit());
        match version {
            "1.0.0" => drop(repository.git(&["tag", "-a", "v1.0.0", "-m", "first"])),
            "1.1.0" => drop(repository.git(&["tag", "v1.1.0"])),
            _ => {}
        }
    }
    repository.git(&["checkout", "-q", "-b", "next/two"]);
    version_at(&repository, "", "2.0.0");
    commits.push(repository.commit());
    repository.git(&["checkout", "-q", "main"]);
    (repository, commits)
}

fn version_at(repository: &Repository, below: &str, version: &str) {
    let manifest =
        Bundle::at(&repository.folder().join("scratch"), "acme-lint").with("version", version.into());
    put(
        repository.folder().join(below).join("capability.json"),
        gsd_tests::bytes_of(manifest.path("capability.json")),
    );
    std::fs::remove_dir_all(repository.folder().join("scratch")).unwrap();
}

fn installed_version(world: &World) -> String {
    let text = text_of(world.path("home/.gsd/capabilities/acme-lint/capability.json"));
    serde_json::from_str::<serde_json::Value>(&text).unwrap()["version"].as_str().unwrap().to_owned()
}

#[test]
fn fr_020_tags_branches_and_commits_are_what_they_say() {
    let world = World::new();
    let (_repository, commits) = history(&world);
    let before = world.tree();
    let cases = [
        ("", "1.2.0", 2),
        ("#v1.0.0", "1.0.0", 0),
        ("#tag:v1.0.0", "1.0.0", 0),
        ("#v1.1.0", "1.1.0", 1),
        ("#main", "1.2.0", 2),
        ("#branch:next/two", "2.0.0", 3),
    ];
    for (reference, version, at) in cases {
        let outcome = install(&world, reference).succeeds().says(&commits[at]);
        drop(outcome);
        assert_eq!(installed_version(&world), version, "{reference}");
        assert!(!world.path("home/.gsd/capabilities/acme-lint/.git").exists(), "T33");
        world.gsdctl(["remove", "acme-lint"]).run().succeeds();
        world.is_as(&before, reference);
    }
    // Older than the tip, and named in full: nothing else is a commit.
    let spec = format!("#sha:{}", commits[0]);
    install(&world, &spec).succeeds();
    assert_eq!(installed_version(&world), "1.0.0");
    let spec = format!("#sha:{}", &commits[0][..12]);
    install(&world, &spec).exits(2);
    let listed = world.gsdctl(["list", "--json"]).run().json();
    let row = listed["data"].as_array().unwrap().iter().find(|row| row["id"] == "acme-lint").unwrap().clone();
    assert!(row["source"].as_str().unwrap().contains(&commits[0]), "{row}");
}

#[test]
fn t084_t085_what_is_not_one_thing_is_refused() {
    let world = World::new();
    let (repository, commits) = history(&world);
    repository.git(&["tag", "both", "v1.0.0"]);
    repository.git(&["branch", "both", "main"]);
    // A branch that is named like a commit.
    repository.git(&["update-ref", &format!("refs/heads/{}", commits[0]), &commits[2]]);
    let before = world.tree();
    install(&world, "#both").exits(2).says("#tag:both").says("#branch:both");
    install(&world, "#nowhere").exits(7).says("nowhere");
    install(&world, "#tag:nowhere").exits(7);
    install(&world, "#branch:v1.0.0").exits(7);
    install(&world, &format!("#sha:{}", "0".repeat(40))).exits(7);
    for reference in ["#HEAD~1", "#@{u}", "#a..b", "#:/x", "#--upload-pack=touch pwned", "#-x", "#v1.0.0^{}"]
    {
        install(&world, reference).exits(2);
    }
    world.is_as(&before, "refused references");
    install(&world, "#tag:both").succeeds();
    assert_eq!(installed_version(&world), "1.0.0");
    install(&world, &format!("#sha:{}", commits[0])).succeeds();
    assert_eq!(installed_version(&world), "1.0.0", "the branch of that name was taken");
}

#[test]
fn a_folder_of_a_repository_is_a_source_and_leaves_the_rest_behind() {
    let world = World::new();
    let repository = world.repository("acme-lint.git");
    version_at(&repository, "caps/lint", "1.0.0");
    put(repository.folder().join("caps/lint/README.md"), "lint\n");
    put(repository.folder().join("secret.txt"), "not for the bundle\n");
    link(repository.folder().join("evil"), "/etc/passwd");
    repository.commit();
    repository.git(&["tag", "v1"]);
    let install = |below: &str| world.gsdctl(["install", &format!("{URL}{below}"), "--yes"]).run();
    install("//caps/lint#v1").succeeds();
    let tree = world.tree();
    assert!(tree.has("home/.gsd/capabilities/acme-lint/README.md"));
    assert!(!tree.has("home/.gsd/capabilities/acme-lint/secret.txt"));
    for below in
        ["//caps#v1", "//nowhere#v1", "//../x#v1", "///etc#v1", "//caps/lint/README.md#v1", "//.git#v1"]
    {
        let refused = install(below).fails();
        assert!([2, 7].contains(&refused.exit), "{below}: {} {}", refused.exit, refused.stderr);
    }
}

#[test]
fn t033_t088_t092_links_submodules_and_git_folders_never_get_into_a_bundle() {
    let world = World::new();
    let before = world.tree();
    let attack = |name: &str, prepare: &dyn Fn(&Repository)| {
        let repository = world.repository("acme-lint.git");
        version_at(&repository, "", "1.0.0");
        prepare(&repository);
        let refused = install(&world, "").fails();
        assert!(refused.stderr.contains(name), "{name}: {}", refused.stderr);
        std::fs::remove_dir_all(world.path("forge")).unwrap();
        std::fs::remove_file(world.path("home/.gitconfig")).unwrap();
        world.is_as(&before, name);
    };
    attack("symlink", &|repository| {
        link(repository.folder().join("id_rsa"), "/root/.ssh/id_rsa");
        repository.commit();
    });
    attack("submodule", &|repository| {
        repository.commit();
        let commit = repository.git(&["rev-parse", "HEAD"]);
        repository.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},vendored")]);
        repository.git(&["commit", "-q", "-m", "a submodule"]);
    });
    // T15: twins on a file system that does not tell cases apart.
    attack("README.md", &|repository| {
        put(repository.folder().join("README.md"), "a");
        put(repository.folder().join("readme.MD"), "b");
        repository.commit();
    });
}

#[test]
fn fr_025_t66_t82_t83_credentials_in_a_url_are_refused_and_never_stored() {
    let world = World::new();
    let before = world.tree();
    for url in [
        "https://ada:hunter2@forge.example/acme-lint.git",
        "https://hunter2@forge.example/acme-lint.git#v1",
        "https://forge.example/acme-lint.git?token=hunter2",
    ] {
        for args in [vec!["install", url, "--yes"], vec!["install", url, "--yes", "--json"]] {
            let refused = world.gsdctl(args).run().fails();
            assert!(
                !refused.stderr.contains("hunter2") && !refused.stdout.contains("hunter2"),
                "{refused:?}"
            );
        }
    }
    world.is_as(&before, "refused");
    let own = gsd_tests::Tree::of(&world.path("home/.local"), &[]);
    assert!(!format!("{own:?}").contains("hunter2"), "it is in our logs or records");
    for url in [
        "http://forge.example/x.git",
        "git://forge.example/x.git",
        "file:///x.git",
        "ext::sh -c id",
        "https://forge.example:22/x.git#--x",
    ] {
        let refused = world.gsdctl(["install", url, "--yes"]).run().fails();
        assert!([2, 4].contains(&refused.exit), "{url}: {} {}", refused.exit, refused.stderr);
    }
}

#[test]
fn fr_031_t089_t090_neither_the_callers_git_variables_nor_hooks_nor_filters_get_a_say() {
    let world = World::new();
    let (repository, _) = history(&world);
    let pwned = world.path("pwned");
    let evil = format!("touch {}", pwned.display());
    // The person is inside of a commit of another repository, as in a git hook.
    let other = world.repository("other.git");
    put(other.folder().join("x"), "x");
    other.commit();
    put(repository.folder().join(".gitattributes"), "* filter=evil\n*.json text eol=crlf\n");
    repository.commit();
    let settings = text_of(world.path("home/.gitconfig"));
    put(
        world.path("home/.gitconfig"),
        format!(
            "{settings}[filter \"evil\"]\n\tsmudge = {evil}\n\trequired = true\n[core]\n\thooksPath = {0}\n\tfsmonitor = {evil}\n[init]\n\ttemplateDir = {0}\n",
            world.path("templates").display()
        ),
    );
    for place in
        ["templates/hooks/post-checkout", "templates/post-checkout", "templates/hooks/reference-transaction"]
    {
        put(world.path(place), format!("#!/bin/sh\n{evil}\n"));
        gsd_tests::set_mode(world.path(place), 0o755);
    }
    let spec = format!("{URL}#main");
    let before = gsd_tests::Tree::of(&world.path("forge/other.git"), &[]);
    let git = other.folder().join(".git");
    let run = world
        .gsdctl(["install", &spec, "--yes"])
        .cwd(other.folder())
        .env("GIT_DIR", &git)
        .env("GIT_INDEX_FILE", git.join("index"))
        .env("GIT_WORK_TREE", other.folder())
        .env("GIT_OBJECT_DIRECTORY", git.join("objects"))
        .env("GIT_TEMPLATE_DIR", world.path("templates"))
        .env("GIT_SSH_COMMAND", &evil)
        .env("GIT_EXTERNAL_DIFF", &evil);
    run.run().succeeds();
    assert!(!pwned.exists());
    let difference = before.difference(&gsd_tests::Tree::of(&world.path("forge/other.git"), &[]));
    assert!(difference.is_empty(), "{difference}");
    // The bytes are the commit's.
    let text = text_of(world.path("home/.gsd/capabilities/acme-lint/capability.json"));
    assert!(!text.contains('\r'));
}

/// Answers every request on loopback with this status; gives its address.
fn answering(status: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
    });
    address
}

/// A port that nobody listens on, and that nobody else gets as long as the socket lives.
fn closed_port() -> (std::os::fd::OwnedFd, u16) {
    use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrV4, SocketType, bind, getsockname, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address: SocketAddrAny = getsockname(&socket).unwrap();
    let address = SocketAddrV4::try_from(address).unwrap();
    (socket, address.port())
}

#[test]
fn fr_032_authentication_unknown_host_and_not_found_are_three_answers_and_quick() {
    let world = World::new();
    let leads_to = |base: &str| {
        put(
            world.path("home/.gitconfig"),
            format!("[url \"{base}\"]\n\tinsteadOf = https://forge.example/\n"),
        );
    };
    let begun = Instant::now();
    leads_to(&format!("http://{}/", answering("401 Unauthorized")));
    let auth = install(&world, "").exits(9).says("authentication");
    leads_to(&format!("http://{}/", answering("404 Not Found")));
    let absent = install(&world, "").exits(7).says("no repository");
    leads_to("http://no-such-host.invalid/");
    let unknown = install(&world, "").exits(9).says("not known");
    let (_kept, closed) = closed_port();
    leads_to(&format!("http://127.0.0.1:{closed}/"));
    let refused = install(&world, "").exits(9);
    let first = |outcome: &gsd_tests::Outcome| {
        outcome.stderr.lines().find(|line| line.starts_with("error")).unwrap().to_owned()
    };
    let answers = [first(&auth), first(&absent), first(&unknown), first(&refused)];
    let different: std::collections::BTreeSet<&String> = answers.iter().collect();
    assert_eq!(different.len(), 4, "{answers:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    // Asked not to use the network, it does not.
    world.gsdctl(["install", URL, "--yes", "--offline"]).run().exits(9).says("offline");
    world.gsdctl(["install", URL, "--yes"]).env("GSD_OFFLINE", "1").run().exits(9);
}

#[test]
fn fr_026_temporary_files_on_another_file_system_are_no_obstacle() {
    let world = World::new();
    let _history = history(&world);
    let elsewhere = std::path::Path::new("/dev/shm");
    if !elsewhere.is_dir() {
        eprintln!("skipped: there is no second file system here");
        return;
    }
    let temporary = tempfile::tempdir_in(elsewhere).unwrap();
    world.gsdctl(["install", URL, "--yes", "--no-daemon"]).env("TMPDIR", temporary.path()).run().succeeds();
    assert_eq!(installed_version(&world), "1.2.0");
    let left = std::fs::read_dir(temporary.path()).unwrap().count();
    assert_eq!(left, 0, "something is left in TMPDIR");
}

#[test]
fn t76_t78_a_digest_does_not_go_with_a_repository_or_a_folder() {
    let world = World::new();
    let bundle = world.bundle("acme-lint");
    let sri = format!("sha512-{}==", "A".repeat(86));
    for (source, remedy) in [(URL.to_owned(), "#sha:COMMIT"), (bundle.spec(), "--integrity")] {
        world.gsdctl(["install", &source, "--integrity", &sri, "--yes"]).run().exits(2).says(remedy);
    }
    for text in ["", "sha256-x", "sha512-x"] {
        let run = world.gsdctl(["install", "https://h.example/x.tgz", "--integrity", text, "--yes"]).run();
        run.exits(2).says("sha512-");
    }
}

#[test]
fn t58_t61_a_repository_on_this_machine_is_not_asked_unless_the_policy_lists_it() {
    let world = World::new();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let source = format!("https://{closed}/r.git");
    world
        .gsdctl(["install", &source, "--yes"])
        .run()
        .exits(4)
        .says("this machine itself")
        .says("private_hosts");
    world.gsdctl(["install", "https://169.254.169.254/r.git", "--yes"]).run().exits(4).says("link-local");
    let policy = world.path("home/.config/gsd/policy.toml");
    put(&policy, format!("[network]\nprivate_hosts = [\"{closed}\"]\n"));
    world.gsdctl(["install", &source, "--yes"]).run().exits(9);
    put(&policy, "[network]\nprivate_hosts = \"*\"\n");
    let run = world.gsdctl(["install", &source, "--yes"]).run();
    run.exits(4).says("network.private_hosts").says("policy.toml");
}

/// What a repository holds is not what git would make of it: objects are checked when they arrive, and sizes are looked
/// at before anything is read.
#[test]
fn t93_malformed_and_oversized_objects_are_refused() {
    let world = World::new();
    let before = world.tree();
    let attack = |name: &str, expected: &str, prepare: &dyn Fn(&Repository)| {
        let repository = world.repository("acme-lint.git");
        version_at(&repository, "", "1.0.0");
        prepare(&repository);
        let refused = install(&world, "").fails();
        assert!(refused.stderr.contains(expected), "{name}: {}", refused.stderr);
        std::fs::remove_dir_all(world.path("forge")).unwrap();
        std::fs::remove_file(world.path("home/.gitconfig")).unwrap();
        world.is_as(&before, name);
    };
    // A tree with one name twice, which no index can hold.
    attack("one name twice", "forge.example", &|repository| {
        let commit = repository.commit();
        let blob = repository.git(&["rev-parse", &format!("{commit}:capability.json")]);
        let id: Vec<u8> =
            (0..40).step_by(2).map(|at| u8::from_str_radix(&blob[at..at + 2], 16).unwrap()).collect();
        let entry = [b"100644 capability.json\0".as_slice(), &id].concat();
        put(repository.folder().join(".git/twice"), [entry.clone(), entry].concat());
        let tree = repository.git(&["hash-object", "-t", "tree", "--literally", "-w", ".git/twice"]);
        let commit = repository.git(&["commit-tree", "-m", "twice", &tree]);
        repository.git(&["update-ref", "refs/heads/main", &commit]);
    });
    // A few KiB in the pack.
    attack("a packed bomb", "content", &|repository| {
        let zeros = std::fs::File::create(repository.folder().join("zeros")).unwrap();
        zeros.set_len(20 << 20).unwrap();
        repository.commit();
    });
}

#[test]
fn t100_what_git_says_cannot_act_on_the_terminal() {
    let world = World::new();
    let bin = world.path("tmp/bin");
    put(
        bin.join("git"),
        "#!/bin/sh\nprintf 'fatal: \\033[2J\\033]0;title\\007 no\\nerror: \\342\\200\\256run me\\n' >&2\nexit 128\n",
    );
    gsd_tests::set_mode(bin.join("git"), 0o755);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    for json in [false, true] {
        let run = world.gsdctl(["install", URL, "--yes", "--no-daemon"]).env("PATH", &path);
        let said = if json { run.arg("--json") } else { run }.run().fails();
        let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!said.stdout.contains(acts) && !said.stderr.contains(acts), "{said:?}");
        assert!(said.stdout.contains("u{1b}[2J") || said.stderr.contains("u{1b}[2J"), "{said:?}");
    }
}
