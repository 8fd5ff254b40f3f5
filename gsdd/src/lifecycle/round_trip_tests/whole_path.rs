//! The whole path in this process: staged, agreed to, committed, committed again, removed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use gsd_proto::Context;
use gsd_proto::api::capability::Consent;
use gsdd_core::compose::Scope;
use gsdd_core::projection::Produced;
use serde_json::{Map, Value, json};

use super::random::{Lot, document, produced};
use super::{difference, put, temporary, tree};
use crate::engine::{BaseSource, Engine, RemoveWish, load_base};
use crate::lifecycle::{Accepted, Origin, StageRequest, Staged, stage};
use crate::store::Places;

const CASES: u64 = 300;

/// Writes the bundle of a capability.
fn write_bundle(folder: &Path, produced: &Produced) {
    let servers: Map<String, Value> =
        produced.servers.iter().map(|server| (server.name.clone(), server.config.clone())).collect();
    let hooks: Vec<Value> = produced
        .hooks
        .iter()
        .map(|hook| {
            put(&folder.join(&hook.script), "#!/bin/sh\n");
            let mut declared = json!({"event": hook.event, "script": hook.script});
            if let Some(matcher) = &hook.matcher {
                declared["matcher"] = matcher.as_str().into();
            }
            declared
        })
        .collect();
    let manifest = json!({
        "id": produced.id, "role": "feature", "version": "1.0.0", "title": produced.title,
        "description": "Made for a test.", "tier": "full", "requires": [], "engines": {"gsd": ">=1.6.0"},
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": produced.skills.keys().collect::<Vec<_>>(),
        "agents": produced.agents.keys().collect::<Vec<_>>(),
        "config": {}, "steps": [], "gates": [], "contributions": [], "hooks": hooks, "mcpServers": servers,
    });
    put(&folder.join("capability.json"), &manifest.to_string());
    put(&folder.join("server/notes.py"), "pass\n");
    for (stem, files) in &produced.skills {
        for file in files {
            let text = String::from_utf8_lossy(&file.bytes);
            put(&folder.join("skills").join(stem).join(&file.path), &text);
        }
    }
    for (stem, bytes) in &produced.agents {
        put(&folder.join("agents").join(format!("{stem}.md")), &String::from_utf8_lossy(bytes));
    }
}

struct Wish {
    ctx: Context,
    scope: Scope,
    shared_files: Vec<String>,
    spec: String,
}

async fn staged(engine: &Engine, wish: &Wish) -> Arc<Staged> {
    let snapshot = engine.snapshot(&engine.project_of(&wish.ctx)).await.unwrap();
    let engine = engine.clone();
    let request = (wish.ctx.clone(), wish.scope, wish.shared_files.clone(), wish.spec.clone());
    tokio::task::spawn_blocking(move || {
        let (ctx, scope, shared_files, spec) = request;
        let request = StageRequest {
            ctx: &ctx,
            from: Origin::Source(&spec),
            scope,
            expected: None,
            runtimes: shared_files.is_empty().then(|| vec!["claude".to_owned()]),
            shared_files,
            offline: true,
            link: false,
            full: false,
            preview: false,
            integrity: None,
            cancel: tokio_util::sync::CancellationToken::new(),
        };
        Arc::new(stage(&engine, &snapshot, &request).unwrap_or_else(|error| panic!("{error:?}")))
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_homes_come_back_to_the_byte() {
    let dir = temporary();
    let at = |path: &str| dir.path().join(path);
    let places = Places {
        user_home: at("home"),
        gsd_home: at("home"),
        data: at("ours/data"),
        state: at("ours/state"),
    };
    for folder in ["home", "ours", "proj"] {
        fs::create_dir(at(folder)).unwrap();
    }
    put(&at("client"), "");
    let shipped = load_base(&BaseSource::Embedded).unwrap();
    let engine = Engine::start(shipped, places, Some(at("client"))).unwrap();
    let (ours, sources) = (at("ours"), at("src"));
    let look = || tree(dir.path(), &[&ours, &sources]);
    let mut installed_something = 0;
    for seed in 0..CASES {
        for folder in ["home", "proj", "src"] {
            let _ = fs::remove_dir_all(at(folder));
            fs::create_dir(at(folder)).unwrap();
        }
        let mut lot = Lot::new(seed ^ 0xabcd_0000);
        fs::create_dir(at("proj/.git")).unwrap();
        for file in [
            "home/.claude/settings.json",
            "home/.claude.json",
            "proj/.claude/settings.local.json",
            "proj/.claude/settings.json",
            "proj/.mcp.json",
        ] {
            if let Some(text) = document(&mut lot) {
                put(&at(file), &text);
            }
        }
        let mut produced = produced(&mut lot, "acme-one");
        produced.hooks.retain(|hook| hook.event != "NoSuchEvent");
        write_bundle(&at("src/acme-one"), &produced);
        let scope = if lot.one_in(2) { Scope::Global } else { Scope::Project };
        let shared = scope == Scope::Project && produced.skills.is_empty() && produced.agents.is_empty();
        let wish = Wish {
            ctx: Context { cwd: at("proj"), umask: Some(0o022), ..Context::default() },
            scope,
            shared_files: if shared { vec![".claude/settings.json".to_owned()] } else { Vec::new() },
            spec: at("src/acme-one").display().to_string(),
        };
        let before = look();
        let first = staged(&engine, &wish).await;
        let agreed = Consent { digest: first.consent_digest.clone(), blanket: true };
        let done = engine.commit(first, Some(agreed), Accepted::default()).await;
        let Ok(done) = done else {
            assert_eq!(difference(&before, &look()), "", "seed {seed}: refused");
            continue;
        };
        assert!(!done.value.current, "seed {seed}");
        installed_something += 1;
        let installed = look();
        assert_ne!(difference(&before, &installed), "", "seed {seed}");
        let again = staged(&engine, &wish).await;
        let again = engine
            .commit(again, None, Accepted::default())
            .await
            .unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        assert!(again.value.current, "seed {seed}: {:?}", again.value.plan.changes());
        assert_eq!(difference(&installed, &look()), "", "seed {seed}: installed again");
        let removal = RemoveWish {
            ctx: wish.ctx.clone(),
            id: "acme-one".to_owned(),
            scope: Some(scope),
            purge_data: false,
            cascade: false,
        };
        let project = engine.project_of(&wish.ctx);
        engine.remove(project, removal).await.unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        assert_eq!(difference(&before, &look()), "", "seed {seed}: installed and removed");
    }
    assert!(installed_something * 10 > CASES * 8, "only {installed_something} of {CASES} were installed");
}
