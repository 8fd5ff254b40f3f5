//! The graph in the language of Graphviz.

use std::fmt::Write as _;

use super::{EdgeKind, Graph, NodeKind};
use crate::compose::Scope;

pub(super) fn dot(graph: &Graph) -> String {
    let mut out = String::from(
        "digraph registry {\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11];\n  edge [fontname=\"sans-serif\", fontsize=9];\n",
    );
    for (index, node) in graph.nodes.iter().enumerate() {
        let style = match node.kind {
            NodeKind::Capability(Scope::FirstParty) => "",
            NodeKind::Capability(Scope::Global) => ", style=\"rounded,filled\", fillcolor=\"#dbe9fb\"",
            NodeKind::Capability(Scope::Project) => ", style=\"rounded,filled\", fillcolor=\"#dff3df\"",
            NodeKind::Skipped(_) | NodeKind::Missing => ", style=\"rounded,dashed\"",
            NodeKind::Point => ", shape=hexagon, style=solid",
        };
        let tooltip = quoted(node.scope_word());
        let _ = writeln!(out, "  n{index} [label={}, tooltip={tooltip}{style}];", quoted(&node.label()));
    }
    for edge in &graph.edges {
        let mut attributes = vec![format!("tooltip={}", quoted(edge.kind.word()))];
        match edge.kind {
            EdgeKind::Requires => attributes.push("arrowhead=onormal".to_owned()),
            EdgeKind::Artifact => attributes.push(format!("label={}", quoted(&edge.shown_label()))),
            EdgeKind::Gate => attributes.push("arrowhead=tee".to_owned()),
        }
        if edge.skipped {
            attributes.push("style=dashed".to_owned());
        }
        let _ = writeln!(out, "  n{} -> n{} [{}];", edge.from, edge.to, attributes.join(", "));
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
