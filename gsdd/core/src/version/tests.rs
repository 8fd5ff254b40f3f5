use super::*;

#[track_caller]
fn check(range: &str, host: &str, expected: bool) {
    let host = HostVersion::parse(host).unwrap();
    assert_eq!(
        EngineRange::parse(range).is_ok_and(|range| range.satisfies(host)),
        expected,
        "{range} {host}"
    );
}

#[test]
fn ranges_follow_upstream() {
    for (range, host, expected) in [
        (">=1.6.0", "1.10.0", true),
        (">=1.6.0", "1.6.0-rc.1", true),
        ("^1.6", "2.0.0", false),
        ("^0", "0.0.0", true),
        ("^0", "0.1.0", false),
        ("~1", "1.9.0", true),
        ("1.x || 3", "3.4.5", true),
        ("nonsense || 1", "1.2.3", true),
        (">1", "1.5.0", true),
        ("*", "0.0.1", true),
        (">*", "1.0.0", false),
        ("1.x.3", "1.0.3", false),
    ] {
        check(range, host, expected);
    }
}

#[test]
fn ranges_are_wider_where_upstream_matches_nothing() {
    check(">= 1.6.0", "1.7.0", true);
    check("1.6.0 - 2.0", "2.0.9", true);
    check("1.6.0 - 2.0", "2.1.0", false);
    check("-1", "1.0.0", false);
    for bad in ["", " || ", "-1", "()1abc", ">=", "1.2.3.4", "=x1"] {
        assert!(EngineRange::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_bare_compat_version_is_a_minimum() {
    let host = HostVersion::new(1, 7, 0);
    assert!(EngineRange::parse_compat("1.6.0").unwrap().satisfies(host));
    assert!(!EngineRange::parse("1.6.0").unwrap().satisfies(host));
    assert!(!EngineRange::parse_compat("1.6").unwrap().satisfies(host));
}

#[test]
fn host_versions_begin_with_three_numbers() {
    assert_eq!(HostVersion::parse(" v1.2.3-dev+1 "), Some(HostVersion::new(1, 2, 3)));
    assert_eq!(HostVersion::parse("1.2"), None);
    assert_eq!(HostVersion::parse_lossy("1.x"), HostVersion::new(1, 0, 0));
}
