//! `registry.explain` and `registry.graph`: the registry for people who wonder.

use std::sync::Arc;

use gsd_proto::api::registry::{
    Explain, ExplainParams, ExplainResult, Explanation, Graph, GraphEdge, GraphNode, GraphParams,
    GraphResult, Party, Predicate,
};
use gsd_proto::{Code, Fix, WireError};
use gsdd_core::compose::{ConsentVerdict, LedgerState};
use gsdd_core::explain::{self, ConfigNames, Executable, Found, Subject, World};
use gsdd_core::graph::{Graph as Drawn, GraphFormat};
use gsdd_core::text::shown;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;

use super::{register, registry, wire};
use crate::app::App;
use crate::engine::{Engine, NotRunnable, Overlay, Snapshot};

/// Adds the methods of this file.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<Explain, _, _>(module, explain)?;
    register::<Graph, _, _>(module, graph)
}

async fn explain(app: Arc<App>, params: ExplainParams) -> Result<ExplainResult, WireError> {
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    // Comparing contents reads bundles that changed.
    let work = tokio::task::spawn_blocking(move || answer(&app.engine, &snapshot, &params));
    work.await.map_err(|error| WireError::new(Code::Internal, error.to_string()))?
}

fn answer(engine: &Engine, snapshot: &Snapshot, params: &ExplainParams) -> Result<ExplainResult, WireError> {
    let subject = Subject::parse(&params.subject);
    let found: Vec<Found<'_>> = snapshot
        .overlays
        .iter()
        .map(|overlay| Found {
            candidate: &overlay.candidate,
            executable: executable(engine, snapshot, overlay),
        })
        .collect();
    let files = &snapshot.config_files;
    let config_names = ConfigNames {
        main: shown(&files.main.to_string_lossy()),
        root: shown(&files.root.to_string_lossy()),
        defaults: shown(&files.defaults.to_string_lossy()),
    };
    let enabled = snapshot.enabled_skills(registry::default_config_home(engine, &params.ctx).as_deref());
    let policy = engine.policy(&params.ctx, &snapshot.project_root);
    let world = World {
        policy: &policy,
        base: engine.base(),
        composition: &snapshot.composition,
        found: &found,
        config: &snapshot.config,
        config_names: &config_names,
        enabled: &enabled,
    };
    let mut meanings: Vec<Explanation> =
        explain::explain(&world, &subject).into_iter().map(to_wire).collect();
    let explanation = match meanings.len() {
        0 => return Err(unknown(&params.subject, &explain::nearby(&world, &subject))),
        1 => meanings.remove(0),
        _ => ambiguous(&subject, &meanings),
    };
    Ok(ExplainResult {
        snapshot: snapshot.generation,
        warnings: wire::warnings(snapshot),
        explanation,
        meanings,
    })
}

/// What may run of an installed bundle, as it is now (D-05, D-06).
fn executable(engine: &Engine, snapshot: &Snapshot, overlay: &Overlay) -> Executable {
    match overlay.consent {
        ConsentVerdict::Revoked => return Executable::Revoked,
        ConsentVerdict::Changed => return Executable::Changed,
        ConsentVerdict::NotNeeded | ConsentVerdict::Missing | ConsentVerdict::Granted => {}
    }
    let agreed = match (&overlay.agreed, overlay.ledger) {
        (Some(agreed), LedgerState::Committed) => agreed,
        (_, LedgerState::Absent | LedgerState::Pending) | (None, LedgerState::Committed) => {
            return Executable::NotRecorded;
        }
    };
    match engine.bundles().runnable(
        &overlay.bundle,
        agreed,
        |digest| snapshot.fits(overlay, digest),
        engine.objects(),
    ) {
        Ok(_) => Executable::Runs,
        Err(NotRunnable::Changed) => Executable::Changed,
        Err(problem) => Executable::Unverified(shown(&problem.to_string())),
    }
}

fn unknown(subject: &str, nearby: &[String]) -> WireError {
    let mut error =
        WireError::new(Code::NotFound, format!("nothing in this project is named `{}`", shown(subject)));
    for name in nearby {
        error = error.with_fix("did you mean this one?", &["gsdctl", "registry", "explain", name]);
    }
    error
}

fn ambiguous(subject: &Subject, meanings: &[Explanation]) -> Explanation {
    let kinds: Vec<&str> = meanings.iter().map(|meaning| meaning.kind.as_str()).collect();
    Explanation {
        subject: shown(&subject.name),
        verdict: "ambiguous".to_owned(),
        text: format!("`{}` is the name of several things: {}", shown(&subject.name), kinds.join(", ")),
        fixes: meanings
            .iter()
            .map(|meaning| Fix {
                text: format!("only the {}", meaning.kind),
                argv: ["gsdctl", "registry", "explain", &meaning.subject].map(str::to_owned).to_vec(),
            })
            .collect(),
        ..Explanation::default()
    }
}

fn to_wire(explanation: explain::Explanation) -> Explanation {
    Explanation {
        subject: format!("{}:{}", explanation.kind.word(), explanation.name),
        kind: explanation.kind.noun().to_owned(),
        verdict: explanation.verdict.word().to_owned(),
        text: explanation.text,
        rule: explanation.rule,
        parties: explanation
            .parties
            .into_iter()
            .map(|party| Party {
                id: party.id,
                scope: party.scope.to_owned(),
                part: party.part.to_owned(),
                status: party.status.to_owned(),
                note: party.note,
            })
            .collect(),
        predicates: explanation
            .predicates
            .into_iter()
            .map(|predicate| Predicate {
                name: predicate.name,
                value: predicate.value,
                origin: predicate.origin,
                holds: predicate.holds,
            })
            .collect(),
        fixes: explanation.fixes.into_iter().map(|fix| Fix { text: fix.text, argv: fix.argv }).collect(),
    }
}

async fn graph(app: Arc<App>, params: GraphParams) -> Result<GraphResult, WireError> {
    let word = params.format.as_deref().unwrap_or("dot");
    let format = GraphFormat::parse(word).ok_or_else(|| {
        WireError::new(Code::UsageInvalid, format!("there is no format `{}`", shown(word)))
            .with_fix("formats: dot, mermaid, svg", &[])
    })?;
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    let reading = Arc::clone(&snapshot);
    let drawn = tokio::task::spawn_blocking(move || {
        let graph = Drawn::of(&reading.composition, reading.candidates());
        let text = graph.draw(format);
        (graph, text)
    });
    let (graph, text) = drawn.await.map_err(|error| WireError::new(Code::Internal, error.to_string()))?;
    Ok(GraphResult {
        snapshot: snapshot.generation,
        warnings: wire::warnings(&snapshot),
        format: word.to_owned(),
        text,
        nodes: graph
            .nodes
            .iter()
            .map(|node| GraphNode {
                id: shown(&node.name),
                scope: node.scope_word().to_owned(),
                skipped: node.is_skipped(),
            })
            .collect(),
        edges: graph
            .edges
            .iter()
            .filter_map(|edge| {
                Some(GraphEdge {
                    from: shown(&graph.nodes.get(edge.from)?.name),
                    to: shown(&graph.nodes.get(edge.to)?.name),
                    kind: edge.kind.word().to_owned(),
                    label: shown(&edge.label),
                })
            })
            .collect(),
    })
}
