use super::*;

fn graph() -> Graph {
    let node = |name: &str, kind| Node { name: name.to_owned(), kind };
    let edge =
        |from, to, kind, label: &str, skipped| Edge { from, to, kind, label: label.to_owned(), skipped };
    Graph {
        nodes: vec![
            node("a", NodeKind::Capability(Scope::FirstParty)),
            node("b", NodeKind::Capability(Scope::Global)),
            node("x\"</svg>\u{1b}[2J\\n`#quot;", NodeKind::Skipped(Scope::Project)),
            node("plan:pre", NodeKind::Point),
            node("alone", NodeKind::Capability(Scope::Global)),
            node("gone", NodeKind::Missing),
        ],
        edges: vec![
            edge(0, 1, EdgeKind::Artifact, "A<b>.md at plan:pre", false),
            edge(1, 0, EdgeKind::Requires, "", false),
            edge(1, 3, EdgeKind::Gate, "blocking gate", false),
            edge(2, 3, EdgeKind::Gate, "missing gate", true),
            edge(2, 5, EdgeKind::Requires, "", true),
        ],
    }
}

#[test]
fn columns_follow_the_edges_and_points_stand_right() {
    let layout = layout::layout(&graph());
    assert_eq!(layout.alone, [4]);
    assert_eq!(layout.columns, [vec![0, 5], vec![1, 2], vec![3]]);
}

#[test]
fn a_long_edge_keeps_a_place_free() {
    let mut graph = graph();
    let edge = |from, to| Edge { from, to, kind: EdgeKind::Artifact, label: String::new(), skipped: false };
    graph.edges = vec![edge(0, 1), edge(1, 2), edge(0, 2)];
    let layout = layout::layout(&graph);
    let place = graph.nodes.len();
    assert_eq!(layout.routes[&(0, 2)], [place]);
    assert!(layout.columns[1].contains(&place) && layout.columns[1].contains(&1));
}

#[test]
fn circles_do_not_hold_up_the_layout() {
    let mut graph = graph();
    let edge = |from, to| Edge { from, to, kind: EdgeKind::Artifact, label: String::new(), skipped: false };
    graph.edges = vec![edge(0, 1), edge(1, 2), edge(2, 0)];
    assert_eq!(layout::layout(&graph).columns, [vec![0], vec![1], vec![2]]);
}

#[test]
fn names_cannot_leave_their_place() {
    for format in [GraphFormat::Dot, GraphFormat::Mermaid, GraphFormat::Svg] {
        let text = graph().draw(format);
        assert_eq!(text, graph().draw(format), "deterministic");
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{format:?}");
    }
    let svg = graph().draw(GraphFormat::Svg);
    assert_eq!(svg.matches("</svg>").count(), 1);
    assert!(svg.contains("A&lt;b&gt;.md"));
    let dot = graph().draw(GraphFormat::Dot);
    assert!(dot.contains(r#"label="x\"</svg>\\u{1b}[2J\\n`#quot; (skipped)""#), "{dot}");
    let mermaid = graph().draw(GraphFormat::Mermaid);
    assert!(
        mermaid.contains("x#34;#60;/svg#62;#92;u#123;1b#125;#91;2J#92;n#96;#35;quot#59; (skipped)"),
        "{mermaid}"
    );
}

#[test]
fn what_is_left_out_is_dashed() {
    let dot = graph().draw(GraphFormat::Dot);
    assert!(dot.contains("n2 -> n3 [tooltip=\"gate\", arrowhead=tee, style=dashed];"), "{dot}");
    assert!(graph().draw(GraphFormat::Mermaid).contains("n2 -.->|\"missing gate\"| n3"));
    assert_eq!(graph().draw(GraphFormat::Svg).matches("skipped dashed").count(), 2);
}

#[test]
fn nothing_is_a_drawing_too() {
    for format in [GraphFormat::Dot, GraphFormat::Mermaid, GraphFormat::Svg] {
        assert!(!Graph::default().draw(format).is_empty());
    }
}
