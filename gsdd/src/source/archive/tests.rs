//! Every row of the list of threats that is about archives, with real archives.

use async_compression::tokio::write::{GzipEncoder, XzEncoder, ZstdEncoder};
use gsdd_core::bundle::budget::MAX_BYTES;
use tar::{EntryType, Header};
use tokio::io::AsyncWriteExt as _;

use super::*;

/// An archive in the making.
struct Maker(tar::Builder<Vec<u8>>);

/// A header that nothing has checked.
fn header(name: &[u8], kind: u8, size: u64, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_entry_type(EntryType::new(kind));
    header.set_size(size);
    header.set_mode(mode);
    header.set_cksum();
    header
}

impl Maker {
    fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    /// One with a manifest, to which something is added.
    fn bundle() -> Self {
        Self::new().file(b"capability.json", b"{}")
    }

    fn entry(mut self, header: &Header, data: &[u8]) -> Self {
        self.0.append(header, data).unwrap();
        self
    }

    fn file(self, name: &[u8], data: &[u8]) -> Self {
        self.entry(&header(name, b'0', data.len() as u64, 0o644), data)
    }

    fn folder(self, name: &[u8]) -> Self {
        self.entry(&header(name, b'5', 0, 0o755), b"")
    }

    fn of_kind(self, name: &[u8], kind: u8) -> Self {
        let mut header = header(name, kind, 0, 0o644);
        header.set_link_name("target").unwrap();
        header.set_cksum();
        self.entry(&header, b"")
    }

    /// An extended header in front of the next member.
    fn pax(self, kind: u8, records: &[(&str, &[u8])]) -> Self {
        let mut data = Vec::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let length =
                (1..).map(|digits| rest + digits).find(|length| length.to_string().len() + rest == *length);
            data.extend(format!("{} {key}=", length.unwrap()).into_bytes());
            data.extend(*value);
            data.push(b'\n');
        }
        self.entry(&header(b"pax", kind, data.len() as u64, 0o644), &data)
    }

    fn tar(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }

    fn unpack(self) -> Result<Unpacked, WireError> {
        unpacked(&gzip(&self.tar()))
    }

    #[track_caller]
    fn refused(self, code: &str, member: &str) {
        let error = self.unpack().unwrap_err();
        let named = error.where_.as_ref().and_then(|place| place.file.clone());
        let named = named.map(|file| file.to_string_lossy().into_owned()).unwrap_or_default();
        assert_eq!((&*error.code, named.as_str()), (format!("bundle.{code}").as_str(), member), "{error}");
        assert_eq!((error.exit, error.fix.is_empty()), (2, false));
    }

    #[track_caller]
    fn gives(self, names: &[&str]) -> Unpacked {
        let tree = self.unpack().unwrap();
        assert_eq!(tree.tree.files.keys().map(String::as_str).collect::<Vec<_>>(), names);
        tree
    }
}

/// A bundle out of an archive, and the folder that it is staged in.
#[derive(Debug)]
struct Unpacked {
    tree: BundleTree,
    _objects: tempfile::TempDir,
}

fn unpacked(bytes: &[u8]) -> Result<Unpacked, WireError> {
    unpacked_as(bytes, None, &Watch::default())
}

/// Nothing is left of what is refused, however far it got (T37).
fn unpacked_as(bytes: &[u8], named: Option<Container>, watch: &Watch) -> Result<Unpacked, WireError> {
    let objects = tempfile::tempdir().unwrap();
    let room = Room { objects: objects.path().to_owned(), max_bytes: MAX_BYTES };
    let tree = unpack(bytes, bytes.len() as u64, named, &room, watch);
    let left = std::fs::read_dir(objects.path()).unwrap().count();
    assert_eq!(left, usize::from(tree.is_ok()), "{tree:?}");
    Ok(Unpacked { tree: tree?, _objects: objects })
}

/// Bytes that do not compress.
fn noise(count: usize) -> Vec<u8> {
    use sha2::{Digest as _, Sha256};
    (0_u64..).flat_map(|number| Sha256::digest(number.to_le_bytes())).take(count).collect()
}

fn encoded<W: tokio::io::AsyncWrite + Unpin>(mut encoder: W, data: &[u8]) -> W {
    encoder.write_all(data).now_or_never().unwrap().unwrap();
    encoder.shutdown().now_or_never().unwrap().unwrap();
    encoder
}

fn gzip(data: &[u8]) -> Vec<u8> {
    encoded(GzipEncoder::new(Vec::new()), data).into_inner()
}

fn zstd(data: &[u8]) -> Vec<u8> {
    encoded(ZstdEncoder::new(Vec::new()), data).into_inner()
}

fn xz(data: &[u8]) -> Vec<u8> {
    encoded(XzEncoder::new(Vec::new()), data).into_inner()
}

#[test]
fn all_layouts_give_the_same_bundle() {
    let expected = ["capability.json", "hooks/a.sh"];
    for prefix in ["", "./", "package/", "acme-1.0.0/", "capabilities/acme/", "acme-1.0.0/capabilities/acme/"]
    {
        let at = |name: &str| format!("{prefix}{name}").into_bytes();
        Maker::new().file(&at("capability.json"), b"{}").file(&at("hooks/a.sh"), b"x").gives(&expected);
    }
    // What lies around the bundle stays out of it, a folder without files comes along.
    let tree = Maker::new()
        .file(b"repo/README.md", b"x")
        .file(b"repo/capabilities/acme/capability.json", b"{}")
        .folder(b"repo/capabilities/acme/empty/")
        .gives(&["capability.json"]);
    assert_eq!(tree.tree.folders.iter().collect::<Vec<_>>(), ["empty"]);
    // What lies below a bundle is part of it.
    Maker::bundle()
        .file(b"capabilities/other/capability.json", b"{}")
        .gives(&["capabilities/other/capability.json", "capability.json"]);
}

#[test]
fn a_layout_is_not_guessed() {
    Maker::new().file(b"README.md", b"x").refused("no-manifest", "");
    Maker::new().refused("no-manifest", "");
    Maker::new().file(b"a/b/capability.json", b"{}").refused("no-manifest", "");
    let two = Maker::new()
        .file(b"capabilities/a/capability.json", b"{}")
        .file(b"capabilities/b/capability.json", b"{}");
    two.refused("ambiguous", "");
    Maker::bundle().file(b"package/capability.json", b"{}").refused("ambiguous", "");
}

#[test]
fn every_container_is_told_by_its_content() {
    let tar = Maker::bundle().tar();
    for (bytes, container, name) in [
        (gzip(&tar), Container::Gzip, "x.TGZ"),
        (zstd(&tar), Container::Zstd, "x.tar.zst"),
        (xz(&tar), Container::Xz, "x.tar.xz"),
    ] {
        assert_eq!(Container::of_name(name), Some(container));
        for named in [None, Some(container)] {
            let tree = unpacked_as(&bytes, named, &Watch::default()).unwrap().tree;
            assert!(tree.file("capability.json").is_some());
        }
    }
}

#[test]
fn t01_t02_t03_t04_names_that_lead_out() {
    for name in ["/etc/cron.d/x", "package/../../x", "a/..", "./../x", "..\\x", "a\\b", "C:x", "//srv/x"] {
        Maker::bundle().file(name.as_bytes(), b"x").refused("name", &shown(name));
        // A longer name in front of an innocent one is the name.
        Maker::bundle()
            .pax(b'x', &[("path", name.as_bytes())])
            .file(b"ok", b"x")
            .refused("name", &shown(name));
        let long = [name.as_bytes(), b"\0"].concat();
        let header = header(b"././@LongLink", b'L', long.len() as u64, 0o644);
        Maker::bundle().entry(&header, &long).file(b"ok", b"x").refused("name", &shown(name));
    }
}

#[test]
fn t05_t06_t07_links() {
    Maker::bundle().of_kind(b"l", b'2').refused("symlink", "l");
    Maker::bundle().of_kind(b"d", b'2').file(b"d/x", b"x").refused("symlink", "d");
    Maker::bundle().of_kind(b"l", b'1').refused("hardlink", "l");
    Maker::bundle().of_kind(b"././@LongLink", b'K').of_kind(b"l", b'2').refused("hardlink", "././@LongLink");
    Maker::bundle().pax(b'x', &[("linkpath", b"/etc/passwd")]).file(b"l", b"").refused("header", "pax");
}

#[test]
fn t08_a_name_that_looks_like_a_link_is_only_a_name() {
    let mut odd = header(b"a -> b", b'0', 1, 0o644);
    odd.set_username(" link to ").unwrap();
    odd.set_cksum();
    Maker::bundle().entry(&odd, b"x").gives(&["a -> b", "capability.json"]);
}

#[test]
fn t09_t10_devices_pipes_and_other_kinds() {
    for (kind, code) in [
        (b'3', "device"),
        (b'4', "device"),
        (b'6', "non-regular"),
        (b'7', "non-regular"),
        (b'V', "non-regular"),
        (b'M', "non-regular"),
        (b'D', "non-regular"),
        (b'Z', "non-regular"),
    ] {
        Maker::bundle().of_kind(b"d", kind).refused(code, "d");
    }
}

#[test]
fn t11_t12_modes_are_two() {
    for mode in [0o4755, 0o2755, 0o6755] {
        Maker::bundle().entry(&header(b"x", b'0', 0, mode), b"").refused("special-mode", "x");
    }
    let tree = Maker::bundle()
        .entry(&header(b"world", b'0', 0, 0o777), b"")
        .entry(&header(b"none", b'0', 0, 0), b"")
        .entry(&header(b"others", b'0', 0, 0o611), b"")
        .entry(&header(b"shared/", b'5', 0, 0o2775), b"")
        .gives(&["capability.json", "none", "others", "world"]);
    let executable: Vec<bool> = tree.tree.files.values().map(|file| file.executable).collect();
    assert_eq!(executable, [false, false, false, true]);
}

#[test]
fn t13_t14_t15_t17_one_name_twice() {
    Maker::bundle().file(b"a", b"1").file(b"a", b"2").refused("twin", "a");
    Maker::bundle().file(b"./capability.json", b"{\"version\":\"9\"}").refused("twin", "./capability.json");
    Maker::bundle().file(b"A", b"").file(b"a", b"").refused("twin", "a");
    Maker::bundle().file(b"s/Skill.md", b"").file(b"s/skill.md", b"").refused("twin", "s/skill.md");
    Maker::bundle().file(b"a", b"").file(b"a/b", b"").refused("twin", "a/b");
    Maker::bundle().file(b"a/b", b"").file(b"a", b"").refused("twin", "a");
    Maker::bundle().folder(b"a/").folder(b"a/").file(b"a/b", b"").gives(&["a/b", "capability.json"]);
}

#[test]
fn t16_t18_t19_t20_t22_t23_t24_names_that_are_something_else_elsewhere() {
    for name in [
        "e\u{301}",
        "CON",
        "nul.txt",
        "COM1",
        "LPT9.x",
        "a:stream",
        ".git::$INDEX_ALLOCATION",
        "x. ",
        "a\nb",
        "a\u{1b}[31m",
        "\u{202e}gpj.exe",
        "a\u{2028}b",
    ] {
        Maker::bundle().file(name.as_bytes(), b"").refused("name", &shown(name));
    }
    let error = Maker::bundle().file(b"\xff\xfe", b"").unpack().unwrap_err();
    assert_eq!(&*error.code, "bundle.name");
    assert!(error.message.contains("not UTF-8"), "{error}");
}

#[test]
fn t21_a_name_does_not_end_early() {
    Maker::bundle().pax(b'x', &[("path", b"a\0b")]).file(b"ok", b"").refused("name", &shown("a\0b"));
    let header = header(b"././@LongLink", b'L', 4, 0o644);
    Maker::bundle().entry(&header, b"a\0b\0").file(b"ok", b"").refused("name", &shown("a\0b"));
}

#[test]
fn t25_long_and_deep_names() {
    let component = "n".repeat(255);
    let tree = Maker::bundle().pax(b'x', &[("path", component.as_bytes())]).file(b"ok", b"");
    tree.gives(&["capability.json", &component]);
    for name in ["n".repeat(256), ["d"; 33].join("/"), ["nn"; 400].join("/")] {
        let error =
            Maker::bundle().pax(b'x', &[("path", name.as_bytes())]).file(b"ok", b"").unpack().unwrap_err();
        assert_eq!(&*error.code, "bundle.name", "{error}");
    }
    let long = [["dd"; 60].join("/").as_bytes(), b"\0"].concat();
    let header = header(b"././@LongLink", b'L', long.len() as u64, 0o644);
    let error = Maker::bundle().entry(&header, &long).file(b"ok", b"").unpack().unwrap_err();
    assert_eq!(&*error.code, "bundle.name");
}

#[test]
fn t26_headers_are_bounded_and_agree() {
    // Announced, not there: nothing of the size is taken first.
    let huge = header(b"pax", b'x', 100 * 1024 * 1024 * 1024, 0o644);
    Maker::bundle().entry(&huge, b"").refused("header", "pax");
    let huge = header(b"././@LongLink", b'L', 1 << 40, 0o644);
    Maker::bundle().entry(&huge, b"").refused("header", "././@LongLink");
    let huge = header(b"big", b'0', 1 << 40, 0o644);
    Maker::bundle().entry(&huge, b"").refused("too-large", "big");
    let mut negative = header(b"n", b'0', 0, 0o644);
    negative.as_mut_bytes()[124..136].copy_from_slice(&[0xff; 12]);
    negative.set_cksum();
    let error = Maker::bundle().entry(&negative, b"").unpack().unwrap_err();
    assert!(matches!(&*error.code, "bundle.header" | "bundle.too-large" | "bundle.damaged"), "{error}");
    for size in ["0", "5", "-1", "99999999999999999999"] {
        Maker::bundle().pax(b'x', &[("size", size.as_bytes())]).file(b"a", b"four").unpack().unwrap_err();
    }
    Maker::bundle().pax(b'x', &[("size", b"4")]).file(b"a", b"four").gives(&["a", "capability.json"]);
    Maker::bundle().pax(b'x', &[]).pax(b'x', &[]).file(b"a", b"").refused("header", "pax");
    Maker::bundle().pax(b'x', &[("path", b"b")]).refused("header", "");
    Maker::bundle().pax(b'g', &[("path", b"b")]).file(b"a", b"").refused("header", "pax");
    // What forges and git write in front of everything.
    Maker::new()
        .pax(b'g', &[("comment", b"c0ffee")])
        .file(b"r/capability.json", b"{}")
        .gives(&["capability.json"]);
}

#[test]
fn t27_sparse_files() {
    Maker::bundle().of_kind(b"s", b'S').refused("sparse", "s");
    let records: &[(&str, &[u8])] = &[("GNU.sparse.major", b"1"), ("GNU.sparse.realsize", b"1099511627776")];
    Maker::bundle().pax(b'x', records).file(b"s", b"").refused("header", "pax");
}

#[test]
fn t28_bombs_are_stopped_while_they_unpack() {
    let bomb = vec![0; 64 * 1024 * 1024];
    for bytes in [gzip(&bomb), zstd(&bomb), xz(&bomb)] {
        // A tar header in front of zeros without end.
        let error = unpacked(&bytes).unwrap_err();
        assert_eq!(&*error.code, "bundle.too-large");
    }
    // In a member, and in many.
    let big = vec![0; 17 * 1024 * 1024];
    Maker::bundle().file(b"big", &big).refused("too-large", "big");
    let part = vec![0; 6 * 1024 * 1024];
    let parts = || Maker::bundle().file(b"a", &part).file(b"b", &part);
    // By the ratio, although it would fit; with enough bytes that do not compress, it does.
    assert_eq!(&*parts().unpack().unwrap_err().code, "bundle.too-large");
    parts().file(b"noise", &noise(64 * 1024)).unpack().unwrap();
    parts().file(b"noise", &noise(64 * 1024)).file(b"c", &part).refused("too-large", "c");
    // A window that needs more memory than a bundle has bytes.
    let window = async_compression::zstd::CParameter::window_log(27);
    let encoder =
        ZstdEncoder::with_quality_and_params(Vec::new(), async_compression::Level::Default, &[window]);
    let wide = encoded(encoder, &Maker::bundle().tar()).into_inner();
    assert_eq!(&*unpacked(&wide).unwrap_err().code, "bundle.damaged");
}

#[test]
fn t29_many_tiny_entries() {
    let mut maker = Maker::bundle();
    for number in 0..10_001 {
        maker = maker.file(format!("{number}").as_bytes(), b"");
    }
    let error = maker.unpack().unwrap_err();
    assert_eq!(&*error.code, "bundle.too-many-entries");
    let mut maker = Maker::bundle();
    for comment in noise(10_001 * 32).chunks(32) {
        maker = maker.pax(b'g', &[("comment", comment)]);
    }
    assert_eq!(&*maker.unpack().unwrap_err().code, "bundle.too-many-entries");
}

#[test]
fn t30_an_archive_inside_is_bytes() {
    let inner = gzip(&Maker::bundle().file(b"x", b"y").tar());
    let tree = Maker::bundle().file(b"x.tgz", &inner).gives(&["capability.json", "x.tgz"]);
    assert_eq!(tree.tree.bytes("x.tgz").unwrap(), inner);
}

#[test]
fn t31_nothing_follows_the_end() {
    let (one, two) = (Maker::bundle().tar(), Maker::new().file(b"evil", b"x").tar());
    for joined in [
        gzip(&[one.as_slice(), &two].concat()),
        [gzip(&one), gzip(&two)].concat(),
        [zstd(&one), zstd(&two)].concat(),
        [xz(&one), xz(&two)].concat(),
        [gzip(&one), b"x".to_vec()].concat(),
    ] {
        assert_eq!(&*unpacked(&joined).unwrap_err().code, "bundle.trailing");
    }
    unpacked(&gzip(&[one, vec![0; 20 * 512]].concat())).unwrap();
}

#[test]
fn t32_a_container_is_what_its_content_says() {
    let tar = Maker::bundle().tar();
    for wrong in [tar.as_slice(), b"PK\x03\x04", b"BZh9", b"", b"\x1f\x8b", b"<html>"] {
        assert_eq!(&*unpacked(wrong).unwrap_err().code, "bundle.container");
    }
    let error = unpacked_as(&xz(&tar), Some(Container::Gzip), &Watch::default()).unwrap_err();
    assert!(error.message.contains("promises gzip and it is xz"), "{error}");
    let whole = gzip(&tar);
    for cut in [3, 20, whole.len() - 9, whole.len() - 1] {
        assert_eq!(&*unpacked(&whole[..cut]).unwrap_err().code, "bundle.damaged", "{cut}");
    }
    let mut flipped = whole;
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    assert_eq!(&*unpacked(&flipped).unwrap_err().code, "bundle.damaged");
}

#[test]
fn t33_version_control_folders() {
    for name in [".git/config", "a/.GIT/x", ".hg/x", ".svn/x", ".jj/x", ".bzr/x"] {
        Maker::bundle().file(name.as_bytes(), b"").refused("name", name);
    }
}

#[test]
fn t35_caches_do_not_get_into_a_bundle() {
    Maker::bundle()
        .folder(b"__pycache__/")
        .file(b"__pycache__/m.pyc", b"x")
        .file(b"a/m.pyc", b"x")
        .gives(&["capability.json"]);
}

#[test]
fn t36_attributes_are_dropped() {
    let tree = Maker::bundle()
        .pax(b'x', &[("SCHILY.xattr.security.capability", b"\x01"), ("uid", b"0"), ("mtime", b"1.5")])
        .file(b"x", b"y")
        .gives(&["capability.json", "x"]);
    assert_eq!(tree.tree.bytes("x").unwrap(), b"y");
}

/// What was refused is refused by `unpacked`, which looks at what is left.
#[test]
fn t37_nothing_stays_of_a_refused_archive() {
    let workspace = tempfile::tempdir().unwrap();
    let mut file = tempfile::spooled_tempfile_in(16, workspace.path());
    let bytes = gzip(&Maker::bundle().file(b"deep/er/a", b"x").of_kind(b"l", b'2').tar());
    std::io::Write::write_all(&mut file, &bytes).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let room = Room { objects: workspace.path().join("objects"), max_bytes: MAX_BYTES };
    unpack(&mut file, bytes.len() as u64, None, &room, &Watch::default()).unwrap_err();
    assert_eq!(std::fs::read_dir(workspace.path().join("objects")).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(workspace.path()).unwrap().count(), 1);
    // Neither of what lies around the bundle, nor of a bundle that nobody needs any more.
    let tree = Maker::new().file(b"r/capability.json", b"{}").file(b"o/x", b"").unpack();
    assert_eq!(&*tree.unwrap_err().code, "bundle.no-manifest");
    let unpacked =
        Maker::new().file(b"README", b"").file(b"package/capability.json", b"{}").unpack().unwrap();
    let root = unpacked.tree.root().to_owned();
    assert!(root.is_dir());
    let Unpacked { tree, _objects: objects } = unpacked;
    drop(tree);
    assert_eq!(std::fs::read_dir(objects.path()).unwrap().count(), 0);
}

#[test]
fn unpacking_that_is_given_up_ends() {
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    let bytes = gzip(&Maker::bundle().tar());
    let error = unpacked_as(&bytes, None, &Watch::new(cancel)).unwrap_err();
    assert_eq!(&*error.code, "cancelled");
}
