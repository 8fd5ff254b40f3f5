//! Writes the table of shipped capabilities: folder, file, bytes.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest_dir =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| io::Error::other("no manifest dir"))?);
    let capabilities = manifest_dir.join("..").join("capabilities");
    println!("cargo::rerun-if-changed={}", capabilities.display());
    let mut table = String::from(
        "/// Folder, relative path and bytes of every shipped file that the registry reads.\npub(super) static SHIPPED: &[(&str, &str, &[u8])] = &[\n",
    );
    for folder in sorted(&capabilities)? {
        if !folder.is_dir() {
            continue;
        }
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = vec![folder.join("capability.json")];
        files.extend(sorted(&folder.join("fragments")).unwrap_or_default());
        for file in files.iter().filter(|file| file.is_file()) {
            println!("cargo::rerun-if-changed={}", file.display());
            let id = folder.file_name().unwrap_or_default().to_string_lossy();
            let relative =
                file.strip_prefix(&folder).map_err(io::Error::other)?.to_string_lossy().replace('\\', "/");
            let real = fs::canonicalize(file)?;
            writeln!(table, "    ({id:?}, {relative:?}, include_bytes!({:?})),", real.display().to_string())
                .map_err(io::Error::other)?;
        }
    }
    table.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no out dir"))?);
    File::create(out.join("shipped.rs"))?.write_all(table.as_bytes())
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    entries.sort();
    Ok(entries)
}
