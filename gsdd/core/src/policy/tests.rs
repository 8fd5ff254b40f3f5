//! Policies as people write them, and what must hold for any.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::compose::Scope;
use crate::source::index::RegistryPlace;
use crate::source::policy::ConfigFile;
use crate::source::{PathStyle, SourceSpec};
use crate::trust::VerificationLevel;

fn layer(layer: Layer, text: &str) -> LayerRules {
    read_layer(layer, Path::new("/etc/gsd/policy.toml"), &FileText::Bytes(text.as_bytes()))
}

fn machine(text: &str) -> Policy {
    Policy::new([layer(Layer::Machine, text)])
}

fn spec(raw: &str) -> SourceSpec {
    SourceSpec::parse_for(raw, PathStyle::Posix).unwrap_or_else(|refusal| panic!("{raw}: {refusal}"))
}

fn allows(policy: &Policy, raw: &str) -> bool {
    let spec = spec(raw);
    let place = RegistryPlace::parse_for("https://caps.corp.example/index/", PathStyle::Posix).unwrap();
    let registry = match &spec {
        SourceSpec::Registry { registry, .. } => Some(registry.as_deref().unwrap_or("corp")),
        _ => None,
    };
    let place = registry.map(|_| &place);
    policy.judge_source(&Sought { spec: Some(&spec), registry, place }).is_ok()
}

#[track_caller]
fn check(policy: &str, allowed: &[&str], refused: &[&str]) {
    let policy = machine(policy);
    assert!(policy.rules().iter().all(|rule| !rule.is_unusable()), "{:?}", policy.rules());
    for raw in allowed {
        assert!(allows(&policy, raw), "{raw} is refused");
    }
    for raw in refused {
        assert!(!allows(&policy, raw), "{raw} is allowed");
    }
}

const COMMIT: &str = "0123456789012345678901234567890123456789";

#[test]
fn t159_entries_fit_what_they_name_and_nothing_that_looks_like_it() {
    check(
        "[sources]\nallow = [\"host:forge.example\", \"host:.corp.example\", \"host:203.0.113.9\"]",
        &[
            "git+https://forge.example/r",
            "https://FORGE.example/x.tgz",
            "https://git.corp.example:8443/x.tgz",
            "ssh://git@forge.example/r",
            "https://203.0.113.9/x.tgz",
            "oci://forge.example/cap:v1",
            // Its place is caps.corp.example.
            "cap@corp",
        ],
        &[
            "https://evilforge.example/x.tgz",
            "https://forge.example.evil.test/x.tgz",
            "https://x.forge.example/x.tgz",
            "https://corp.example/x.tgz",
            "https://evilcorp.example/x.tgz",
            "https://1.203.0.113.9/x.tgz",
            "npm:forge.example",
            "./forge.example",
        ],
    );
    check(
        "[sources]\nallow = [\"repository:forge.example/acme\", \"npm:@acme\", \"npm:plain\", \"oci:ghcr.example/acme\"]",
        &[
            "git+https://forge.example/acme/r.git#v1",
            "https://forge.example/acme/r/archive/v1.tgz",
            "ssh://git@forge.example/acme/r",
            "npm:@acme/lint@^1",
            "npm:plain",
            "oci://ghcr.example/acme/cap:v1",
        ],
        &[
            "git+https://forge.example/acmeevil/r",
            "git+https://forge.example/Acme/r",
            "git+https://forge.example/evil/acme/r",
            "https://forge.example/acme/../evil/x.tgz",
            "https://forge.example/acme/%2e%2e/evil/x.tgz",
            "https://forge.example//acme/x.tgz",
            "npm:@acmeevil/lint",
            "npm:plainer",
            "oci://ghcr.example/acmeevil/cap:v1",
            "oci://ghcr.example:5000/acme/cap:v1",
        ],
    );
    check(
        "[sources]\nallow = [\"registry:corp\", \"kind:local\"]",
        &["cap@corp", "./x"],
        &["cap@other", "npm:x"],
    );
    check("[sources]\nallow = []", &[], &["./x", "npm:x", "git+https://forge.example/r"]);
}

#[test]
fn t159_what_is_denied_is_denied_in_every_spelling() {
    check(
        "[sources]\ndeny = [\"host:evil.example\", \"repository:forge.example/evil\", \"npm:@evil\", \"oci:r.example/evil\"]",
        &["https://forge.example/good/x.tgz", "git+https://notevil.example/r", "npm:good", "./x"],
        &[
            "https://EVIL.example/x.tgz",
            "git+https://forge.example/Evil/r",
            "https://forge.example/good/../evil/x.tgz",
            "https://forge.example/%65vil/x.tgz",
            "git+https://forge.example/evil.git",
            "npm:@evil/x",
            "oci://r.example:443/evil/x:v1",
        ],
    );
    let policy = machine("[sources]\ndeny = [\"host:evil.example\"]");
    let contact = Contact { host: "evil.example.", path: "/", errand: Errand::Npm("x"), is_origin: false };
    assert!(policy.judge_contact(&contact).is_err(), "a trailing dot is the same host");
}

#[test]
fn t159_entries_that_are_no_entries_close_the_door() {
    for entry in [
        "forge.example",
        "host:https://forge.example",
        "host:forge.example:443",
        "host:*.forge.example",
        "host:forge.example.",
        "host:u@forge.example",
        "host:127.1",
        "host:.203.0.113.9",
        "host:",
        "repository:forge.example",
        "repository:forge.example/../x",
        "npm:@",
        "registry:Corp!",
        "oci:ghcr.example",
        "kind:any",
        "hosts:x",
    ] {
        let policy = machine(&format!("\n[sources]\nallow = [\"kind:local\",\n\"{entry}\"]"));
        let [rule] = policy.rules() else { panic!("{entry}: {:?}", policy.rules()) };
        assert!(rule.is_unusable(), "{entry}");
        assert_eq!((rule.key, rule.place.line), (Key::SourcesAllow, Some(4)), "{entry}");
        assert!(!allows(&policy, "./x") && !allows(&policy, "npm:x"), "{entry}");
    }
}

#[test]
fn addresses_on_the_way_are_judged_by_where_they_are_and_what_for() {
    let contact = |policy: &str, host: &str, path: &str, errand: Errand<'_>, is_origin: bool| {
        machine(policy).judge_contact(&Contact { host, path, errand, is_origin }).is_ok()
    };
    let oci = Errand::Oci { host: "r.example", repository: "acme/cap" };
    for (entry, errand) in [
        ("npm:@acme", Errand::Npm("@acme/x")),
        ("kind:tarball", Errand::Tarball),
        ("registry:corp", Errand::Registry("corp")),
        ("oci:r.example/acme", oci),
        ("host:h.example", Errand::Unnamed),
        ("repository:h.example/a", Errand::Tarball),
    ] {
        let policy = format!("[sources]\nallow = [\"{entry}\"]");
        assert!(contact(&policy, "h.example", "/a/b", errand, true), "{entry}");
        assert!(!contact(&policy, "other.example", "/a/b", Errand::Unnamed, true), "{entry}");
        // A registry or an artifact that sends on to another host does not vouch for it.
        let follows = matches!(errand, Errand::Npm(_) | Errand::Tarball) && !entry.starts_with("repository");
        assert_eq!(contact(&policy, "cdn.example", "/a/b", errand, false), follows, "{entry}");
    }
}

#[test]
fn t158_every_wrong_value_is_told_with_its_line_and_closes_what_it_decides() {
    let policy = machine(
        "required = \"x\"\n[sources]\nallow = 1\nrequire_commit = \"yes\"\nmin_level = \"high\"\n[consent]\nyes = 0\n\
         [update]\nauto = []\n[executable]\nforbid = [\"hooks\", \"scripts\"]\n[network]\nprivate_hosts = \"*\"\n",
    );
    let told: Vec<(Key, Option<u32>)> =
        policy.rules().iter().map(|rule| (rule.key, rule.place.line)).collect();
    let expected = [
        (Key::Required, Some(1)),
        (Key::SourcesAllow, Some(3)),
        (Key::RequireCommit, Some(4)),
        (Key::MinLevel, Some(5)),
        (Key::ConsentYes, Some(7)),
        (Key::UpdateAuto, Some(9)),
        (Key::ExecutableForbid, Some(11)),
        (Key::PrivateHosts, Some(13)),
    ];
    assert_eq!(told.len(), expected.len());
    for one in expected {
        assert!(told.contains(&one), "{one:?} in {told:?}");
    }
    for rule in policy.rules() {
        assert!(rule.problem().unwrap().contains(rule.key.name()), "{rule:?}");
    }
    assert!(!allows(&policy, "./x") && !allows(&policy, "npm:x"));
    assert!(policy.judge_blanket().is_err() && policy.judge_unattended().is_err());
    for class in SurfaceClass::ALL {
        assert!(policy.judge_use(class, Scope::Global).is_err(), "{class:?}");
    }
    assert!(policy.judge_removal("x").is_ok(), "what can't be read keeps nothing on the machine");
}

#[test]
fn t158_a_file_that_cannot_be_used_closes_all_but_what_runs_already() {
    let unusable = [
        FileText::Bytes(b"[sources\n"),
        FileText::Bytes(b"\xff\xfe"),
        FileText::Unreadable("it is a folder".to_owned()),
    ];
    for text in unusable {
        let policy = Policy::new([read_layer(Layer::User, Path::new("/p.toml"), &text)]);
        assert!(!allows(&policy, "npm:x") && allows(&policy, "./x"), "{text:?}");
        assert!(policy.judge_blanket().is_err() && policy.judge_unattended().is_err());
        assert!(policy.judge_entry(SurfaceClass::Hooks, Scope::Global).is_err());
        assert!(policy.judge_use(SurfaceClass::Hooks, Scope::Global).is_ok(), "a guard goes on guarding");
        assert!(!policy.network().allows("localhost", 443));
    }
    let absent = Policy::new([read_layer(Layer::User, Path::new("/p.toml"), &FileText::Absent)]);
    assert!(absent.rules().is_empty());
}

#[test]
fn fr_030_upstreams_list_is_a_rule_with_its_line() {
    let text = b"{\n  \"capabilities\": {\n    \"strict_known_registries\": true\n  }\n}\n";
    let file = Path::new("/p/.planning/config.json");
    let policy = Policy::new([read_known_registries(file, ConfigFile::Bytes(text))]);
    let spec = spec("https://forge.example/x.git");
    let objection = policy.judge_source(&Sought::of(&spec)).unwrap_err();
    assert_eq!(objection.rule.place.to_string(), "config.json:3, layer: project");
    assert!(objection.why.contains("strict_known_registries"), "{}", objection.why);
    assert!(allows(&policy, "./x"));
}

#[test]
fn require_commit_level_and_the_rest_say_what_they_want() {
    let policy = machine("[sources]\nrequire_commit = true\nmin_level = \"digest\"\n");
    for (raw, allowed) in [("r.git#v1", false), ("r.git", false), ("r.git#branch:main", false)] {
        assert_eq!(allows(&policy, &format!("git+https://forge.example/{raw}")), allowed, "{raw}");
    }
    assert!(
        allows(&policy, &format!("git+https://forge.example/r.git#{COMMIT}")) && allows(&policy, "npm:x")
    );
    assert!(policy.judge_level(VerificationLevel::Transport).is_err());
    assert!(policy.judge_level(VerificationLevel::Digest).is_ok());
    let open = machine("[sources]\nrequire_commit = false\n[consent]\nyes = true\n[update]\nauto = true\n");
    assert!(allows(&open, "git+https://forge.example/r") && open.judge_blanket().is_ok());
    assert!(open.judge_unattended().is_ok());
}

#[test]
fn t160_a_project_rules_over_its_own_and_keeps_nothing_on_the_machine() {
    let text = "[policy]\nrequired = [\"acme-x\"]\n[policy.executable]\nforbid = [\"hooks\"]\n[policy.network]\nprivate_hosts = [\"localhost\"]\n";
    let policy = Policy::new([layer(Layer::Project, text)]);
    assert!(policy.judge_use(SurfaceClass::Hooks, Scope::Project).is_err());
    assert!(policy.judge_use(SurfaceClass::Hooks, Scope::Global).is_ok(), "the person's guard stays");
    assert!(policy.judge_use(SurfaceClass::Commands, Scope::Project).is_ok());
    assert!(policy.judge_removal("acme-x").is_ok());
    assert_eq!(policy.required().len(), 1);
    assert!(!policy.network().allows("localhost", 443));
    assert_eq!(policy.unknown()[0].key, "network");
    let elsewhere = Policy::new([layer(Layer::Project, "[sources]\nallow = []\n")]);
    assert!(elsewhere.rules().is_empty() && elsewhere.unknown().is_empty());
    assert!(machine("required = [\"acme-x\"]").judge_removal("acme-x").is_err());
}

#[test]
fn keys_that_are_not_known_are_told_and_say_nothing() {
    let policy = machine("later = 1\n[sources]\nalow = []\n[consent]\nno = true\n");
    assert!(policy.rules().is_empty());
    let told: Vec<(&str, Option<u32>)> =
        policy.unknown().iter().map(|unknown| (unknown.key.as_str(), unknown.place.line)).collect();
    for one in [("later", Some(1)), ("sources.alow", Some(3)), ("consent.no", Some(5))] {
        assert!(told.contains(&one), "{told:?}");
    }
}

#[test]
fn managed_settings_mean_the_same_or_close_the_door() {
    check(
        "strictKnownMarketplaces = [\n\
         {source = \"github\", repo = \"acme/caps\"},\n\
         {source = \"github\", repo = \"acme/pinned\", ref = \"v1\"},\n\
         {source = \"git\", url = \"https://git.corp.example/caps.git\"},\n\
         {source = \"npm\", package = \"@acme/lint\"},\n\
         {source = \"url\", url = \"https://dl.example/x.tgz\"},\n\
         {source = \"hostPattern\", hostPattern = \"(.*\\\\.)?in\\\\.example\"},\n\
         {source = \"directory\", path = \"/srv/caps\"},\n]",
        &[
            "git+https://github.com/acme/caps#v2",
            "git+https://github.com/acme/pinned#v1",
            "git+https://git.corp.example/caps",
            "npm:@acme/lint@1.0.0",
            "https://dl.example/x.tgz",
            "git+https://a.in.example/r",
        ],
        &[
            "git+https://github.com/acme/caps-evil",
            "git+https://github.com/acme/caps/evil",
            "git+https://github.com/acme/pinned#v2",
            "npm:@acme/other",
            "https://dl.example/y.tgz",
            "git+https://a.in.example.evil.test/r",
            "git+https://notin.example/r",
            "/srv/caps",
        ],
    );
    check("strictKnownMarketplaces = []", &[], &["./x", "npm:x"]);
    let folder = machine("strictKnownMarketplaces = [{source = \"directory\", path = \"/srv/caps\"}]");
    assert_eq!(folder.unknown()[0].key, "strictKnownMarketplaces: path = /srv/caps, source = directory");
    check(
        "blockedMarketplaces = [{source = \"github\", repo = \"evil/caps\", ref = \"v1\"}]",
        &["git+https://github.com/acme/caps"],
        &["git+https://github.com/Evil/caps#v2"],
    );
    let blocked = machine("blockedMarketplaces = [{source = \"directory\", path = \"/x\"}]");
    assert!(!allows(&blocked, "npm:x"), "what can't be kept out by name is kept out with the rest");
    for wrong in [
        "strictKnownMarketplaces = true",
        "strictKnownMarketplaces = [\"acme/caps\"]",
        "blockedMarketplaces = [{}]",
    ] {
        assert!(!allows(&machine(wrong), "npm:x"), "{wrong}");
    }
    for key in ["allowManagedHooksOnly", "disableAllHooks"] {
        assert!(machine(&format!("{key} = true")).judge_use(SurfaceClass::Hooks, Scope::Global).is_err());
        assert!(machine(&format!("{key} = false")).judge_use(SurfaceClass::Hooks, Scope::Global).is_ok());
    }
    for text in [
        "allowManagedMcpServersOnly = true",
        "allowedMcpServers = []",
        "deniedMcpServers = [{serverName = \"x\"}]",
    ] {
        assert!(machine(text).judge_use(SurfaceClass::McpServers, Scope::Global).is_err(), "{text}");
        assert!(machine(text).judge_use(SurfaceClass::Hooks, Scope::Global).is_ok(), "{text}");
    }
    assert!(machine("allowManagedMcpServersOnly = false").rules().is_empty());
    for text in [
        "disableBypassPermissionsMode = \"disable\"",
        "[permissions]\ndisableBypassPermissionsMode = \"disable\"",
    ] {
        assert!(machine(text).judge_blanket().is_err(), "{text}");
    }
}

#[test]
fn t134_a_record_that_is_no_source_is_refused_where_sources_are_limited() {
    let nothing = Sought::NOWHERE;
    for text in ["[sources]\nallow = [\"kind:git\"]", "[sources]\ndeny = [\"host:evil.example\"]"] {
        assert!(machine(text).judge_source(&nothing).is_err(), "{text}");
    }
    assert!(machine("[sources]\ndeny = []").judge_source(&nothing).is_ok());
    assert!(Policy::default().judge_source(&nothing).is_ok());
}

fn some_text() -> impl Strategy<Value = String> {
    let line = select(vec![
        "sources.allow = [\"host:forge.example\", \"npm:@acme\", \"kind:local\"]",
        "sources.allow = [\"repository:forge.example/acme\", \"host:.corp.example\"]",
        "sources.allow = 1",
        "sources.deny = [\"host:forge.example\"]",
        "sources.deny = [\"npm:@acme\"]",
        "sources.require_commit = true",
        "sources.require_commit = false",
        "sources.min_level = \"digest\"",
        "sources.min_level = \"none\"",
        "consent.yes = false",
        "consent.yes = true",
        "update.auto = false",
        "update.auto = 7",
        "executable.forbid = [\"hooks\"]",
        "executable.forbid = []",
        "executable.forbid = \"x\"",
        "strictKnownMarketplaces = [{source = \"github\", repo = \"acme/caps\"}]",
        "blockedMarketplaces = [{source = \"npm\", package = \"plain\"}]",
        "allowManagedHooksOnly = true",
        "required = [\"acme-x\"]",
        "network.private_hosts = [\"localhost\"]",
        "network.private_hosts = []",
        "later = 1",
    ]);
    prop::collection::vec(line, 0..5).prop_map(|lines| {
        let mut lines: Vec<&str> = lines;
        // A key that stands there twice makes the file unusable: now and then that should happen.
        lines.dedup_by_key(|line| line.split(' ').next());
        lines.join("\n")
    })
}

fn some_layer() -> impl Strategy<Value = LayerRules> {
    (select(Layer::ALL.to_vec()), some_text()).prop_map(|(whose, text)| match whose {
        Layer::Project => {
            let text: String = text.lines().map(|line| format!("policy.{line}\n")).collect();
            layer(whose, &text)
        }
        Layer::Machine | Layer::User => layer(whose, &text),
    })
}

fn some_source() -> impl Strategy<Value = String> {
    select(vec![
        "./x".to_owned(),
        "npm:@acme/lint".to_owned(),
        "npm:plain".to_owned(),
        "git+https://forge.example/acme/r".to_owned(),
        format!("git+https://github.com/acme/caps#{COMMIT}"),
        "https://dl.corp.example/x.tgz".to_owned(),
        "oci://r.example/acme/cap:v1".to_owned(),
        "cap@corp".to_owned(),
    ])
}

proptest! {
    /// Whatever a layer says, the others' refusals stand.
    #[test]
    fn t160_adding_a_layer_never_allows_what_was_refused(
        before in prop::collection::vec(some_layer(), 0..3),
        added in some_layer(),
        raw in some_source(),
        host in select(vec!["forge.example", "cdn.corp.example", "localhost"]),
        level in select(VerificationLevel::ALL.to_vec()),
        class in select(SurfaceClass::ALL.to_vec()),
        scope in select(vec![Scope::Global, Scope::Project]),
    ) {
        let fewer = Policy::new(before.clone());
        let more = Policy::new(before.into_iter().chain([added]));
        let contact = Contact { host, path: "/acme/x", errand: Errand::Tarball, is_origin: true };
        let answers = |policy: &Policy| [
            allows(policy, &raw),
            policy.judge_contact(&contact).is_ok(),
            policy.judge_level(level).is_ok(),
            policy.judge_blanket().is_ok(),
            policy.judge_unattended().is_ok(),
            policy.judge_entry(class, scope).is_ok(),
            policy.judge_use(class, scope).is_ok(),
            policy.judge_removal("acme-x").is_ok(),
        ];
        for (before, after) in answers(&fewer).into_iter().zip(answers(&more)) {
            prop_assert!(before || !after, "{:?}", more.rules());
        }
    }

    /// What lists private hosts can only be narrowed once somebody has a list.
    #[test]
    fn t160_a_second_list_of_private_hosts_takes_hosts_away(machine_text in some_text(), user_text in some_text()) {
        let of = |texts: [(Layer, &str); 2]| Policy::new(texts.map(|(whose, text)| layer(whose, text))).network();
        let both = of([(Layer::Machine, &machine_text), (Layer::User, &user_text)]);
        for one in [of([(Layer::Machine, &machine_text), (Layer::User, "")]), of([(Layer::Machine, ""), (Layer::User, &user_text)])] {
            let spoke = one.machine.private_hosts.is_some() || one.user.private_hosts.is_some();
            if spoke && !one.allows("localhost", 443) {
                prop_assert!(!both.allows("localhost", 443));
            }
        }
    }

    /// Any bytes are read, and what is not TOML closes the door.
    #[test]
    fn any_file_has_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let read = read_layer(Layer::Machine, Path::new("/p"), &FileText::Bytes(&bytes));
        let is_toml = std::str::from_utf8(&bytes).is_ok_and(|text| toml::de::DeTable::parse(text).is_ok());
        prop_assert!(is_toml || read.rules.iter().any(|rule| rule.key == Key::File));
    }

    /// Entries are shown as they are written.
    #[test]
    fn entries_read_back(entry in "(host:\\.?[a-z]{1,3}\\.[a-z]{1,3}|repository:h\\.example/[a-z]{1,3}(/[a-z]{1,3})?|npm:@?[a-z]{1,4}|registry:[a-z]{1,4}|oci:h\\.example(:5000)?/[a-z]{1,3}|kind:(git|npm|oci|local|tarball|registry))") {
        prop_assert_eq!(Matcher::parse(&entry).map(|read| read.to_string()), Some(entry));
    }
}

#[test]
fn the_tightest_of_several_rules_decides() {
    let policy = Policy::new([
        layer(Layer::Project, "[policy.consent]\nyes = false\n[policy.sources]\nmin_level = \"transport\"\n"),
        layer(Layer::User, "[consent]\nyes = true\n[sources]\nmin_level = \"pin\"\nallow = [\"kind:git\"]\n"),
        layer(Layer::Machine, "[sources]\nallow = [\"kind:npm\"]\n"),
    ]);
    let deciding = |key: Key| {
        let rows = policy.settings().into_iter().filter(|row| row.key == key && row.decides);
        rows.map(|row| row.rule.map(|rule| rule.place.layer)).collect::<Vec<_>>()
    };
    assert_eq!(deciding(Key::ConsentYes), [Some(Layer::Project)]);
    assert_eq!(deciding(Key::MinLevel), [Some(Layer::User)]);
    assert_eq!(deciding(Key::SourcesAllow), [Some(Layer::Machine), Some(Layer::User)]);
    assert_eq!(deciding(Key::Required), [None], "a default");
    assert!(deciding(Key::DisableAllHooks).is_empty());
}
