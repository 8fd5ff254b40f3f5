//! An index that a stock web server hands out.

use std::path::Path;
use std::process::Command;

use super::server::{Server, free_port, has};
use super::{example, gsdctl, prepared, write};
use crate::failure::Outcome;
use crate::index;
use crate::throwaway::Throwaway;
use crate::transcript::Transcript;

/// The web server that comes with Python, behind TLS.
const PYTHON: &str = "import functools, http.server, ssl, sys
root, port, certificate, key = sys.argv[1:]
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=root)
server = http.server.ThreadingHTTPServer(('127.0.0.1', int(port)), handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()";

/// Walks; gives what was skipped.
pub(super) fn walk(said: &mut Transcript, programs: &Path) -> Outcome<Option<String>> {
    let here = prepared(programs)?;
    let port = free_port()?;
    let Some((name, command)) = stock_server(&here, port)? else {
        return Ok(Some("an index behind a web server: there is neither nginx nor python3".to_owned()));
    };

    said.step(&format!("An index out of the examples, handed out by {name}"));
    let (bundles, out) = (here.root().join("bundles"), here.root().join("index"));
    for id in ["acme-path-guard", "acme-ship-checklist"] {
        example(id, "1.0.0", &bundles.join(id))?;
    }
    let added = index::build(&bundles, &out, Some("Examples"), None)?;
    said.check(added.len() == 2, format!("built: {}", added.join(", ")));
    let _server = Server::start(command, port, &here.root().join("server.log"))?;

    said.step("A capability is installed from it, and updated");
    let env = [("SSL_CERT_FILE", here.root().join("ca.pem").display().to_string())];
    let place = format!("https://localhost:{port}/");
    gsdctl(said, &here, &["config", "set", "registries.examples", &place], &env)?;
    let ran = gsdctl(said, &here, &["install", "acme-path-guard@examples", "--yes"], &env)?;
    said.check(ran.exit == 0, "it is installed");
    example("acme-path-guard", "1.1.0", &bundles.join("acme-path-guard"))?;
    index::build(&bundles, &out, None, None)?;
    let ran = gsdctl(said, &here, &["outdated", "--exit-code", "--json"], &env)?;
    said.check(ran.exit == 11 && ran.json()["data"][0]["latest"] == "1.1.0", "1.1.0 is offered");
    let ran = gsdctl(said, &here, &["update", "acme-path-guard", "--yes", "--json"], &env)?;
    said.check(ran.json()["data"]["version"] == "1.1.0", "1.1.0 is installed");
    let ran = gsdctl(said, &here, &["install", "acme-nothing@examples"], &env)?;
    said.check(ran.exit == 7, "there is no such capability");
    Ok(None)
}

/// nginx where there is one, else Python's.
pub(crate) fn stock_server(here: &Throwaway, port: u16) -> Outcome<Option<(&'static str, Command)>> {
    let root = here.root();
    let index = root.join("index");
    std::fs::create_dir_all(&index).map_err(|error| crate::failure::Failure::new(error.to_string()))?;
    if has("nginx", "-v") {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {0}/tmp/{kind};", root.display()))
            .join(" ");
        let config = format!(
            "daemon off; pid {0}/nginx.pid; error_log stderr; events {{}}\nhttp {{ access_log off; {temporary}\n\
             server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {0}/leaf.pem; ssl_certificate_key {0}/leaf.key; root {0}/index; }} }}\n",
            root.display()
        );
        write(&root.join("nginx.conf"), config)?;
        let mut command = here.command("nginx");
        command.arg("-c").arg(root.join("nginx.conf")).arg("-p").arg(root);
        return Ok(Some(("nginx", command)));
    }
    if !has("python3", "--version") {
        return Ok(None);
    }
    let mut command = here.command("python3");
    command.args(["-c", PYTHON]).arg(index).arg(port.to_string());
    command.arg(root.join("leaf.pem")).arg(root.join("leaf.key"));
    Ok(Some(("the web server of Python", command)))
}
