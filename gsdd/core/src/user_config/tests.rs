use proptest::prelude::*;

use super::*;

fn key(raw: &str) -> ConfigKey {
    ConfigKey::parse(raw).unwrap()
}

#[track_caller]
fn after(file: &str, raw: &str, value: Option<&str>, expected: &str) {
    let written = match value {
        Some(value) => set(file.as_bytes(), &key(raw), value),
        None => unset(file.as_bytes(), &key(raw)),
    };
    assert_eq!(String::from_utf8(written.unwrap()).unwrap(), expected);
}

#[test]
fn keys_are_known_or_meant() {
    for raw in [
        "default_registry",
        "hooks.when_unavailable",
        "limits.bundle_bytes",
        "registries.corp",
        "publishers.acme",
    ] {
        assert_eq!(key(raw).to_string(), raw);
    }
    for (raw, meant) in [
        ("registry.corp", "registries.<name>"),
        ("registires.corp", "registries.<name>"),
        ("publisher.acme", "publishers.<name>"),
        ("defaultregistry", "default_registry"),
        ("when_unavailable", "hooks.when_unavailable"),
        ("hook.when_unavailable", "hooks.when_unavailable"),
        ("bundle_bytes", "limits.bundle_bytes"),
    ] {
        assert_eq!(ConfigKey::parse(raw), Err(KeyProblem::Unknown { near: vec![meant] }), "{raw}");
    }
    assert_eq!(ConfigKey::parse("completely.different"), Err(KeyProblem::Unknown { near: Vec::new() }));
    assert_eq!(ConfigKey::parse("registries.a.b"), Err(KeyProblem::RegistryName));
    assert_eq!(ConfigKey::parse("publishers.a.b"), Err(KeyProblem::PublisherName));
}

#[test]
fn a_key_of_a_publisher_is_one() {
    let public = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    let file = set(b"", &key("publishers.acme"), public).unwrap();
    let config = read(&file);
    assert_eq!(config.publishers["acme"].as_str(), public);
    assert!(matches!(set(&file, &key("publishers.acme"), &public[1..]), Err(EditRefusal::Value(_))));
    let config = read(b"[publishers]\nacme = \"RWshort\"\n");
    assert_eq!((config.publishers.len(), config.objections.len()), (0, 1));
}

#[test]
fn a_file_says_what_it_says() {
    let config = read(
        b"default_registry = \"corp\"\nother = 1\n[registries]\ncorp = \"https://caps.corp.example/i\"\nbad = \"http://h.example\"\nn = 5\n[hooks]\nwhen_unavailable = \"sometimes\"\n",
    );
    assert_eq!(config.default_registry.as_deref(), Some("corp"));
    assert_eq!(config.registries.keys().collect::<Vec<_>>(), ["corp"]);
    assert_eq!(config.objections.len(), 4, "{:?}", config.objections);
    assert!(read(b"a = \n").objections[0].starts_with("line 1 is no TOML"));
    assert_eq!(read(b""), UserConfig::default());
}

#[test]
fn a_limit_is_a_number_of_bytes() {
    assert_eq!(read(b"").max_bundle_bytes(), 16 * 1024 * 1024);
    let most = 1024 * 1024 * 1024;
    for (file, bytes) in [
        ("[limits]\nbundle_bytes = 104857600\n", Some(104_857_600)),
        ("limits.bundle_bytes = \"1048576\"\n", Some(1_048_576)),
        ("limits.bundle_bytes = 1_073_741_824\n", Some(most)),
        ("limits.bundle_bytes = 1073741825\n", None),
        ("limits.bundle_bytes = 1048575\n", None),
        ("limits.bundle_bytes = -1\n", None),
        ("limits.bundle_bytes = \"+1048576\"\n", None),
        ("limits.bundle_bytes = 2e6\n", None),
    ] {
        let config = read(file.as_bytes());
        assert_eq!((config.bundle_bytes, config.objections.is_empty()), (bytes, bytes.is_some()), "{file}");
    }
    after("", "limits.bundle_bytes", Some("2000000"), "[limits]\nbundle_bytes = 2000000\n");
    after(
        "[limits]\nbundle_bytes = 2_000_000 # why\n",
        "limits.bundle_bytes",
        Some("3000000"),
        "[limits]\nbundle_bytes = 3000000 # why\n",
    );
    assert!(set(b"", &key("limits.bundle_bytes"), "100MiB").is_err());
}

#[test]
fn one_key_changes_and_nothing_else() {
    let corp = "https://caps.corp.example/";
    after("", "registries.corp", Some(corp), "[registries]\ncorp = \"https://caps.corp.example/\"\n");
    after(
        "# mine\n[hooks] # why\nwhen_unavailable   =  'deny' # strict\n",
        "hooks.when_unavailable",
        Some("ask"),
        "# mine\n[hooks] # why\nwhen_unavailable   =  \"ask\" # strict\n",
    );
    after(
        "[registries]\n# the old one\na = \"/srv/a\"\n\n[hooks]\nwhen_unavailable = \"ask\"\n",
        "registries.corp",
        Some(corp),
        "[registries]\n# the old one\na = \"/srv/a\"\ncorp = \"https://caps.corp.example/\"\n\n[hooks]\nwhen_unavailable = \"ask\"\n",
    );
    after(
        "registries = { a = \"/srv/a\" }\n",
        "registries.b",
        Some("/srv/b"),
        "registries = { a = \"/srv/a\" , b = \"/srv/b\" }\n",
    );
    after(
        "\u{feff}x = 1\r\ny = 2\r\n",
        "default_registry",
        Some("a"),
        "\u{feff}x = 1\r\ny = 2\r\ndefault_registry = \"a\"\r\n",
    );
    after(
        "[hooks]\nwhen_unavailable = \"ask\"\n",
        "default_registry",
        Some("a"),
        "default_registry = \"a\"\n[hooks]\nwhen_unavailable = \"ask\"\n",
    );
}

#[test]
fn unset_takes_back_what_set_put() {
    for file in [
        "",
        "# mine\n",
        "[hooks]\nwhen_unavailable = \"ask\"\n",
        "x = 1\r\n",
        "[registries]\n# keep\na = \"/srv/a\"\n",
    ] {
        let with = set(file.as_bytes(), &key("registries.corp"), "/srv/corp").unwrap();
        assert_eq!(read(&with).registries.len(), read(file.as_bytes()).registries.len() + 1, "{file:?}");
        let without = unset(&with, &key("registries.corp")).unwrap();
        assert_eq!(String::from_utf8(without).unwrap(), file);
    }
    after("[registries]\na = \"/srv/a\"\n", "registries.b", None, "[registries]\na = \"/srv/a\"\n");
    after(
        "# why there are none\n[registries]\na = \"/srv/a\"\n",
        "registries.a",
        None,
        "# why there are none\n[registries]\n",
    );
}

#[test]
fn what_cannot_be_changed_without_loss_is_refused() {
    let refused = |file: &str, value: &str| set(file.as_bytes(), &key("registries.a"), value).unwrap_err();
    assert_eq!(refused("a = 1\r\nb = 2\n", "/srv"), EditRefusal::MixedLineEnds);
    assert_eq!(refused("registries = 5\n", "/srv"), EditRefusal::NotATable("registries"));
    assert!(matches!(refused("a = \n", "/srv"), EditRefusal::Unreadable(_)));
    assert!(matches!(refused("", "http://h.example/"), EditRefusal::Value(_)));
}

#[test]
fn t49_deep_nesting_is_an_objection() {
    for text in [
        "a.".repeat(200_000) + "a = 1",
        format!("a = {}1{}", "[".repeat(200_000), "]".repeat(200_000)),
        format!("[{}a]", "a.".repeat(200_000)),
    ] {
        assert_eq!(read(text.as_bytes()).objections.len(), 1);
    }
}

proptest! {
    /// Any bytes are answered, and a change changes one key.
    #[test]
    fn arbitrary_files_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..100), lines in prop::collection::vec("[a-z]{1,3} = [0-9\"a-z]{0,4}|\\[[a-z.]{1,6}\\]|#.{0,5}|registries\\.[a-z] = \"/[a-z]\"", 0..6)) {
        let _ = read(&bytes);
        let text = lines.join("\n");
        if let Ok(written) = set(text.as_bytes(), &key("registries.corp"), "/srv/corp") {
            let (before, after) = (read(text.as_bytes()), read(&written));
            prop_assert_eq!(after.set.iter().filter(|(key, _)| key.to_string() != "registries.corp").cloned().collect::<Vec<_>>(),
                before.set.iter().filter(|(key, _)| key.to_string() != "registries.corp").cloned().collect::<Vec<_>>());
            prop_assert!(after.registries.contains_key("corp"));
            prop_assert_eq!(after.objections, before.objections);
        }
    }
}
