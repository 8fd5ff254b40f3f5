use proptest::prelude::*;

use super::*;

fn env(name: &str) -> Option<String> {
    (name == "NPM_TOKEN").then(|| "s3cret".to_owned())
}

fn read(user: &str, project: &str) -> NpmSettings {
    read_settings(Some(user.as_bytes()), Some(project.as_bytes()), env)
}

#[track_caller]
fn sent(settings: &NpmSettings, package: &str, url: &str, expected: Option<&str>) {
    let url = SourceUrl::parse(url).unwrap();
    let found = settings.authorization(&url, settings.registry_of(package));
    assert_eq!(found.map(Secret::expose), expected, "{url:?}");
}

#[test]
fn registries_are_found_by_scope() {
    let settings =
        read("registry = https://npm.corp.example\n@Acme:registry=\"https://acme.example/npm/\"\n", "");
    assert_eq!(settings.registry_of("plain").as_str(), "https://npm.corp.example/");
    assert_eq!(settings.registry_of("@acme/x").packument("@acme/x"), "https://acme.example/npm/@acme%2fx");
    assert_eq!(settings.registry_of("@other/x").as_str(), "https://npm.corp.example/");
    assert_eq!(read("", "").registry_of("x").as_str(), PUBLIC_REGISTRY);
}

#[test]
fn secrets_of_each_form_are_read() {
    let settings = read(
        "; a comment\n//a.example/:_authToken=${NPM_TOKEN}\n//b.example/:_auth=dTpw\n//c.example/:username=u\n//c.example/:_password=cA==\n//d.example/:_authToken='q=1#2'\n\
        //f.example/:_authToken=a\\;b\\#c\\\\d\\e ; why\n//g.example/:_auth=\n//h.example/:_authToken=\n\
        //i.example/:_authToken=${NPM_TOKEN}-${NPM_TOKEN?}-${NPM\n//j.example/:_authToken=t\n//j.example/:username=u\n//j.example/:_password=cA==\n\
        # a=comment\n\ntag=[x]\n//l.example/:_authToken=t\n[section]\n//k.example/:_authToken=t\n",
        "",
    );
    for (url, expected) in [
        ("https://a.example/x", Some("Bearer s3cret")),
        ("https://b.example/x", Some("Basic dTpw")),
        ("https://c.example/x", Some("Basic dTpw")),
        ("https://d.example/x", Some("Bearer q=1#2")),
        ("https://e.example/x", None),
        ("https://f.example/x", Some("Bearer a;b#c\\d\\e")),
        ("https://g.example/x", None),
        ("https://h.example/x", None),
        ("https://i.example/x", Some("Bearer s3cret-s3cret-${NPM")),
        ("https://j.example/x", Some("Bearer t")),
        ("https://k.example/x", None),
        ("https://l.example/x", Some("Bearer t")),
    ] {
        sent(&settings, "x", url, expected);
    }
}

#[test]
fn t65_a_secret_goes_to_its_own_place_only() {
    let settings = read(
        "@acme:registry=https://npm.corp.example/acme/\n//npm.corp.example/acme/:_authToken=inner\n//npm.corp.example/:_authToken=outer\n//port.example:8443/:_authToken=port\n",
        "",
    );
    for (url, expected) in [
        ("https://npm.corp.example/acme/@acme%2fx", Some("Bearer inner")),
        ("https://npm.corp.example:443/acme/x.tgz", Some("Bearer inner")),
        ("https://npm.corp.example/acmeevil/x", Some("Bearer outer")),
        ("https://NPM.corp.example/files/x.tgz", Some("Bearer outer")),
        ("https://cdn.example/x.tgz", None),
        ("https://npm.corp.example.evil.example/acme/x.tgz", None),
        ("https://npm.corp.example:8443/acme/x.tgz", None),
        ("https://port.example/x.tgz", None),
        ("https://port.example:8443/x.tgz", Some("Bearer port")),
        ("http://npm.corp.example/acme/x", None),
    ] {
        sent(&settings, "@acme/x", url, expected);
    }
}

#[test]
fn an_archive_beside_its_registry_gets_the_secret_of_the_registry() {
    let settings = read("registry=https://npm.corp.example/npm/\n//npm.corp.example/npm/:_authToken=t\n", "");
    sent(&settings, "x", "https://npm.corp.example/files/x.tgz", Some("Bearer t"));
    sent(&settings, "x", "https://npm.corp.example:444/files/x.tgz", None);
}

#[test]
fn t97_a_project_cannot_bring_a_registry_along() {
    let user = "//npm.corp.example/:_authToken=${NPM_TOKEN}\n";
    let settings = read(user, "registry=https://evil.example/\n@acme:registry=https://evil.example/\n");
    assert_eq!(settings.registry_of("@acme/x").as_str(), PUBLIC_REGISTRY);
    assert_eq!(settings.warnings.len(), 2, "{:?}", settings.warnings);
    assert!(settings.warnings[1].contains("takes @acme from evil.example"), "{:?}", settings.warnings);
    // One that the person knows may be named: that is how teams share the scope of their registry, or their default.
    for (line, package) in [("@acme:registry", "@acme/x"), ("registry", "x")] {
        let settings = read(user, &format!("{line}=https://npm.corp.example/npm/\n"));
        assert_eq!(settings.registry_of(package).as_str(), "https://npm.corp.example/npm/");
        assert!(settings.warnings.is_empty());
    }
}

#[test]
fn t97_a_project_cannot_move_a_private_scope_to_the_public_registry() {
    let public = "@acme:registry=https://registry.npmjs.org/\nregistry=https://registry.npmjs.org/\n";
    for user in ["@acme:registry=https://npm.corp.example/", "registry=https://npm.corp.example/"] {
        let settings = read(user, public);
        assert_eq!(settings.registry_of("@acme/x").as_str(), "https://npm.corp.example/", "{user}");
        assert!(!settings.warnings.is_empty());
    }
    // Nor to another one that the person knows.
    let user = "registry=https://npm.corp.example/\n//forge.example/:_authToken=t";
    let settings = read(user, "registry=https://forge.example/");
    assert_eq!(settings.registry_of("x").as_str(), "https://npm.corp.example/");
    // Nor to the neighbour on a host of many.
    let user = "//forge.example/projects/1/npm/:_authToken=t";
    let settings = read(user, "@acme:registry=https://forge.example/projects/2/npm/");
    assert_eq!(settings.registry_of("@acme/x").as_str(), PUBLIC_REGISTRY);
    let settings = read(user, "@acme:registry=https://forge.example/projects/1/npm/");
    sent(&settings, "@acme/x", "https://forge.example/projects/1/npm/x", Some("Bearer t"));
}

#[test]
fn t65_a_path_that_goes_up_gets_no_secret() {
    let settings = read("//h.example/a/:_authToken=t", "");
    for path in ["a/../b/x", "a/%2E%2e/b", "a/..%2fb"] {
        sent(&settings, "x", &format!("https://h.example/{path}"), None);
    }
}

#[test]
fn t65_t97_a_project_sets_nothing_but_registries() {
    for line in [
        "//registry.npmjs.org/:_authToken=${NPM_TOKEN}",
        "//evil.example/:_authToken=${NPM_TOKEN}",
        "_authToken=x",
        "cafile=./evil.pem",
        "ca=x",
        "strict-ssl=false",
        "https-proxy=http://evil.example",
        "proxy=http://evil.example",
        "registry=https://${NPM_TOKEN}.evil.example/",
        "registry=https://registry.npmjs.org/${NPM_TOKEN}/",
        "registry=http://registry.npmjs.org/",
        "registry=https://u:p@registry.npmjs.org/",
        "registry=https://registry.npmjs.org/../x",
        "registry=https://registry.npmjs.org/..",
        "registry=https://registry.npmjs.org/?x=1",
        "@a:registry=https://registry.npmjs.org.evil.example/",
    ] {
        let settings = read("", line);
        let plain = NpmSettings { warnings: settings.warnings.clone(), ..read("", "") };
        assert_eq!(settings, plain, "{line}");
        let told = &settings.warnings;
        assert!(!told.is_empty() && !told.iter().any(|line| line.contains("s3cret")), "{line}: {told:?}");
    }
    assert!(read("", "save-exact=true\npackage-lock=false\n").warnings.is_empty());
}

#[test]
fn t69_what_would_weaken_the_transport_is_not_followed() {
    let settings =
        read("strict-ssl=false\nproxy=http://p.example\n_authToken=x\nregistry=http://plain.example/\n", "");
    assert_eq!(settings.warnings.len(), 4, "{:?}", settings.warnings);
    assert_eq!(settings.registry_of("x").as_str(), PUBLIC_REGISTRY);
    sent(&settings, "x", "https://registry.npmjs.org/x", None);
    assert!(read("strict-ssl=true", "").warnings.is_empty());
    let settings =
        read("\u{feff}cafile=/etc/corp.pem\n//h.example/:certfile=/c\n//h.example/:keyfile=/k\n", "");
    assert_eq!((settings.cafile.as_deref(), settings.warnings.len()), (Some("/etc/corp.pem"), 2));
    assert_eq!(read("cafile=", "").cafile, None);
}

#[test]
fn so_many_settings_are_read() {
    let line = "registry=https://npm.corp.example/\n";
    let last = "a=b\n".repeat(MAX_SETTINGS - 1) + line;
    assert_eq!(read(&last, "").registry_of("x").host(), "npm.corp.example");
    assert_eq!(read(&format!("a=b\n{last}"), "").registry_of("x").as_str(), PUBLIC_REGISTRY);
    assert!(line.len() * MAX_SETTINGS <= usize::try_from(MAX_NPMRC_BYTES).unwrap());
}

#[test]
fn a_variable_that_is_not_set_is_told_and_not_sent() {
    let settings = read("//a.example/:_authToken=${NOT_SET}\n//b.example/:_authToken=${NOT_SET?}\n", "");
    sent(&settings, "x", "https://a.example/x", None);
    sent(&settings, "x", "https://b.example/x", None);
    assert_eq!(settings.warnings.len(), 1);
    assert!(settings.warnings[0].contains("names a variable"), "{:?}", settings.warnings);
}

#[test]
fn t185_secrets_do_not_show() {
    let settings = read(
        "//a.example/:_authToken=hunter2\n//a.example/:username=u\n//a.example/:_password=aHVudGVyMg==\n",
        "",
    );
    let shown = format!("{settings:?}");
    assert!(shown.contains("Secret(…)") && !shown.contains("hunter2"), "{shown}");
}

proptest! {
    /// Any bytes are answered, and no project's file adds a secret or an unknown host.
    #[test]
    fn arbitrary_files_are_answered(
        user in prop::collection::vec(any::<u8>(), 0..200),
        project in prop::collection::vec(any::<u8>(), 0..200),
        lines in prop::collection::vec("(//[a-z.]{1,6}/?:)?(registry|_authToken|cafile|@[a-z]:registry) ?= ?(https://)?[a-z.:/$\\{\\}\"'#;\\\\]{0,20}", 0..6),
    ) {
        let _ = read_settings(Some(&user), Some(&project), env);
        let text = lines.join("\n");
        let plain = read("", "");
        let settings = read("", &text);
        prop_assert_eq!(&settings.secrets, &plain.secrets);
        prop_assert_eq!(&settings.cafile, &plain.cafile);
        for url in settings.scopes.values().chain([&settings.registry]) {
            prop_assert_eq!(url.host(), "registry.npmjs.org");
        }
        let _ = read(&text, "");
    }
}
