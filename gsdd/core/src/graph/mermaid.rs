//! The graph in the language of Mermaid.

use std::fmt::Write as _;

use super::{EdgeKind, Graph, NodeKind};

pub(super) fn mermaid(graph: &Graph) -> String {
    let mut out = String::from("flowchart LR\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let label = quoted(&node.label());
        let _ = match node.kind {
            NodeKind::Capability(_) | NodeKind::Skipped(_) | NodeKind::Missing => {
                writeln!(out, "  n{index}[{label}]:::{}", class(node.kind))
            }
            NodeKind::Point => writeln!(out, "  n{index}{{{{{label}}}}}"),
        };
    }
    for edge in &graph.edges {
        let label = match edge.kind {
            EdgeKind::Requires => "requires".to_owned(),
            EdgeKind::Artifact | EdgeKind::Gate => edge.shown_label(),
        };
        let arrow = if edge.skipped { "-.->" } else { "-->" };
        let _ = writeln!(out, "  n{} {arrow}|{}| n{}", edge.from, quoted(&label), edge.to);
    }
    out.push_str(
        "  classDef shipped fill:#f4f4f4,stroke:#666\n  classDef global fill:#dbe9fb,stroke:#36c\n  classDef project fill:#dff3df,stroke:#383\n  classDef skipped fill:#fff,stroke:#a33,stroke-dasharray:4 3\n",
    );
    out
}

fn class(kind: NodeKind) -> &'static str {
    use crate::compose::Scope;
    match kind {
        NodeKind::Capability(Scope::FirstParty) | NodeKind::Point => "shipped",
        NodeKind::Capability(Scope::Global) => "global",
        NodeKind::Capability(Scope::Project) => "project",
        NodeKind::Skipped(_) | NodeKind::Missing => "skipped",
    }
}

/// Text in quotes; everything that Mermaid or HTML would act on becomes an entity.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if c.is_alphanumeric() || " .:_-/()…".contains(c) {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", u32::from(c));
        }
    }
    out.push('"');
    out
}
