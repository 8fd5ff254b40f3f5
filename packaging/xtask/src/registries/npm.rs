//! Packages that the real npm publishes to a real registry, and that we install without npm.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::server::{Server, free_port, has};
use super::{example, gsdctl, must, prepared, write};
use crate::failure::{Doing as _, Failure, Outcome};
use crate::programs::repository;
use crate::throwaway::Throwaway;
use crate::transcript::{Transcript, run};

/// The last version that runs on node 20. The override replaces a dependency that does not install any more.
const VERDACCIO: &str = "6.8.0";

/// Makes a user and prints their token: what `npm login` does, without a person.
const LOG_IN: &str = "const [url] = process.argv.slice(1);
fetch(url + '-/user/org.couchdb.user:acme', {method: 'PUT', headers: {'content-type': 'application/json'},
  body: JSON.stringify({name: 'acme', password: 'walks-only', email: 'acme@example.org', type: 'user'})})
  .then(answer => answer.json()).then(answer => console.log(answer.token));";

/// Walks; gives what was skipped.
pub(super) fn walk(said: &mut Transcript, programs: &Path) -> Outcome<Option<String>> {
    if !(has("node", "--version") && has("npm", "--version")) {
        return Ok(Some("packages of verdaccio: there is no node and npm on this machine".to_owned()));
    }
    let verdaccio = match installed(&repository().join("target/registries/verdaccio")) {
        Ok(verdaccio) => verdaccio,
        Err(failure) => return Ok(Some(format!("packages of verdaccio: {failure}"))),
    };
    let here = prepared(programs)?;
    let port = free_port()?;
    let url = format!("https://localhost:{port}/");

    said.step("A private registry: verdaccio over TLS, with a user of its own");
    let config = json!({
        "storage": here.root().join("storage"),
        "auth": {"htpasswd": {"file": here.root().join("htpasswd")}},
        "uplinks": {},
        "packages": {"**": {"access": "$authenticated", "publish": "$authenticated"}},
        "listen": url,
        "https": {"key": here.root().join("leaf.key"), "cert": here.root().join("leaf.pem"), "ca": here.root().join("ca.pem")},
        "log": {"type": "stdout", "format": "pretty", "level": "warn"},
    });
    write(&here.root().join("verdaccio.yaml"), config.to_string())?;
    let mut command = here.command("node");
    command.arg(&verdaccio).arg("--config").arg(here.root().join("verdaccio.yaml"));
    let _server = Server::start(command, port, &here.root().join("verdaccio.log"))?;
    let mut log_in = here.command("node");
    log_in.args(["-e", LOG_IN, &url]).env("NODE_EXTRA_CA_CERTS", here.root().join("ca.pem"));
    let token = run(log_in, b"")?;
    must(&token, "making a user")?;
    let token = token.stdout.trim().to_owned();
    said.check(token.len() > 20 && token != "undefined", "verdaccio gives out a token");
    write(
        &here.home().join(".npmrc"),
        format!(
            "@acme:registry={url}\n//localhost:{port}/:_authToken=${{NPM_TOKEN}}\ncafile={}\n",
            here.root().join("ca.pem").display()
        ),
    )?;

    said.step("npm publishes a capability, with an install script that would leave a trace");
    let marker = here.root().join("script-ran");
    publish(said, &here, "1.0.0", &marker, &token)?;
    let env = |token: &str| [("NPM_TOKEN", token.to_owned())];

    said.step("It is installed without npm");
    let ran = gsdctl(said, &here, &["source", "resolve", "npm:@acme/path-guard@^1", "--json"], &env(&token))?;
    said.check(ran.json()["data"]["taken"]["version"] == "1.0.0", "^1 is 1.0.0");
    let ran = gsdctl(said, &here, &["install", "npm:@acme/path-guard@^1", "--yes", "--json"], &env(&token))?;
    said.check(ran.exit == 0, "it is installed");
    said.check(ran.stdout.contains("has install scripts for npm"), "its script is told");
    said.check(!marker.exists(), "its script was not run");
    said.check(!ran.stdout.contains(&token) && !ran.stderr.contains(&token), "the token is not told");
    let ledger: Value = serde_json::from_str(
        &std::fs::read_to_string(here.home().join(".gsd-capabilities.json")).unwrap_or_default(),
    )
    .unwrap_or_default();
    let entry = &ledger["entries"]["acme-path-guard"];
    let published = integrity(&here, &url, &token)?;
    said.check(entry["integrity"] == published, "the ledger has the digest that npm has published");

    said.step("A newer version is noticed and taken");
    publish(said, &here, "1.1.0", &marker, &token)?;
    let ran = gsdctl(said, &here, &["outdated", "--exit-code", "--json"], &env(&token))?;
    said.check(ran.exit == 11 && ran.json()["data"][0]["latest"] == "1.1.0", "1.1.0 is offered");
    let ran = gsdctl(said, &here, &["update", "acme-path-guard", "--yes", "--json"], &env(&token))?;
    said.check(ran.json()["data"]["version"] == "1.1.0", "1.1.0 is installed");

    said.step("Without the right token, and without the package");
    let ran = gsdctl(said, &here, &["source", "resolve", "npm:@acme/path-guard"], &env("wrong"))?;
    said.check(ran.exit == 9 && ran.stderr.contains("authentication"), "authentication is asked for");
    let ran = gsdctl(said, &here, &["source", "resolve", "npm:@acme/nothing"], &env(&token))?;
    said.check(ran.exit == 7, "there is no such package");
    Ok(None)
}

/// Installs verdaccio into `folder`, unless it is there, and gives the program.
fn installed(folder: &Path) -> Outcome<PathBuf> {
    let program = folder.join("node_modules/verdaccio/bin/verdaccio");
    if program.exists() {
        return Ok(program);
    }
    println!("installing verdaccio {VERDACCIO} into {} …", folder.display());
    let manifest = json!({
        "name": "registries", "private": true,
        "dependencies": {"verdaccio": VERDACCIO}, "overrides": {"node-fetch": "2.7.0"},
    });
    write(&folder.join("package.json"), manifest.to_string())?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]);
    let status = npm.current_dir(folder).stdin(Stdio::null()).status().doing("starting npm")?;
    if status.success() && program.exists() {
        Ok(program)
    } else {
        Err(Failure::new(format!("npm did not install verdaccio {VERDACCIO}")))
    }
}

fn publish(said: &mut Transcript, here: &Throwaway, version: &str, marker: &Path, token: &str) -> Outcome {
    let folder = here.root().join("package");
    let _ = std::fs::remove_dir_all(&folder);
    example("acme-path-guard", version, &folder)?;
    let touch = format!("touch {}", marker.display());
    let package = json!({
        "name": "@acme/path-guard", "version": version, "license": "MIT",
        "scripts": {"preinstall": touch, "postinstall": touch},
    });
    write(&folder.join("package.json"), package.to_string())?;
    let mut npm = here.command("npm");
    npm.args(["publish", "--loglevel=error"]).current_dir(&folder).env("NPM_TOKEN", token);
    let ran = run(npm, b"")?;
    must(&ran, "npm publish")?;
    said.note(format!("npm published {}", ran.stdout.trim()));
    Ok(())
}

/// The digest that npm sees.
fn integrity(here: &Throwaway, url: &str, token: &str) -> Outcome<String> {
    let mut npm = here.command("npm");
    npm.args(["view", "@acme/path-guard@1.0.0", "dist.integrity", "--registry", url]).env("NPM_TOKEN", token);
    let ran = run(npm, b"")?;
    must(&ran, "npm view")?;
    Ok(ran.stdout.trim().to_owned())
}
