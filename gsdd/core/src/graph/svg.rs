//! The graph as a picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::collect::SCOPES;
use super::layout::{Layout, layout};
use super::{Edge, EdgeKind, Graph, Node, NodeKind};
use crate::compose::Scope;

/// Height of a node, in pixels.
const HEIGHT: u32 = 26;
/// From one node to the next below it.
const ROW: u32 = 40;
/// Width of one character.
const GLYPH: u32 = 7;
/// Between two columns, where the edges and their labels are.
const GAP: u32 = 190;
const MARGIN: u32 = 24;
/// Head line and legend.
const TOP: u32 = 72;
/// Nodes of one row among those that nothing is connected to.
const PER_ROW: usize = 6;

const STYLE: &str = "text{font:12px sans-serif;fill:#222}.small{font-size:10px;fill:#444}.edge{fill:none;stroke-width:1.3}.requires{stroke:#555}.artifact{stroke:#1a6fb5}.gate{stroke:#b5541a}.dashed{stroke-dasharray:5 4}rect,polygon{stroke:#555;stroke-width:1.2}.first-party{fill:#f1f1f1}.global{fill:#dbe9fb}.project{fill:#dff3df}.missing,.skipped{fill:#fff;stroke:#a33}.loop{fill:#fdf3dc}.halo{paint-order:stroke;stroke:#fff;stroke-width:3px}";

struct Placed {
    x: u32,
    y: u32,
    width: u32,
}

pub(super) fn svg(graph: &Graph) -> String {
    let layout = layout(graph);
    let mut places: BTreeMap<usize, Placed> = BTreeMap::new();
    let (mut x, mut bottom, mut right) = (MARGIN, TOP, 640);
    let tallest = layout.columns.iter().map(Vec::len).max().unwrap_or(0);
    for column in &layout.columns {
        let width = column.iter().filter_map(|node| graph.nodes.get(*node)).map(width).max().unwrap_or(0);
        // Short columns stand in the middle.
        let above = rows(tallest - column.len()) / 2;
        for (index, node) in column.iter().enumerate() {
            let y = TOP + above + rows(index);
            places.insert(*node, Placed { x, y, width });
            bottom = bottom.max(y + ROW);
        }
        right = right.max(x + width);
        x += width + GAP;
    }
    let mut headings = Vec::new();
    if !layout.alone.is_empty() {
        bottom += 34;
        headings.push((bottom - 12, "Without connections"));
        let width =
            layout.alone.iter().filter_map(|node| graph.nodes.get(*node)).map(width).max().unwrap_or(0);
        for (index, node) in layout.alone.iter().enumerate() {
            let (column, row) = (u32::try_from(index % PER_ROW).unwrap_or(0), index / PER_ROW);
            let place = Placed { x: MARGIN + column * (width + 16), y: bottom + rows(row), width };
            right = right.max(place.x + width);
            places.insert(*node, place);
        }
        bottom += rows(layout.alone.len().div_ceil(PER_ROW));
    }
    let (width, height) = (right + MARGIN, bottom + MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>Capabilities of this project</title>\n<style>{STYLE}</style>\n<defs>{}</defs>\n<rect x=\"0\" y=\"0\" width=\"{width}\" height=\"{height}\" style=\"fill:#fff;stroke:none\"/>\n",
        markers()
    );
    legend(&mut out);
    for (y, text) in headings {
        let _ = writeln!(out, "<text x=\"{MARGIN}\" y=\"{y}\" class=\"small\">{text}</text>");
    }
    for edge in &graph.edges {
        if let (Some(from), Some(to)) = (places.get(&edge.from), places.get(&edge.to)) {
            draw_edge(&mut out, edge, from, to, &route(&layout, &places, edge));
        }
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        if let Some(place) = places.get(&index) {
            draw_node(&mut out, node, place);
        }
    }
    // Labels last, so that no line runs over them.
    for edge in graph.edges.iter().filter(|edge| edge.kind == EdgeKind::Artifact) {
        if let (Some(from), Some(to)) = (places.get(&edge.from), places.get(&edge.to)) {
            // Beside the first part of the way.
            let next = route(&layout, &places, edge).first().copied().unwrap_or(to);
            let (from_x, to_x) = ends(from, next);
            let (x, y) = (u32::midpoint(from_x, to_x), u32::midpoint(from.y, next.y) + HEIGHT / 2 - 3);
            let label = escaped(&edge.shown_label());
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" class=\"small halo\" text-anchor=\"middle\">{label}</text>"
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

fn rows(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX / ROW).saturating_mul(ROW)
}

fn width(node: &Node) -> u32 {
    let wide = |c: char| if c.is_ascii() { 1 } else { 2 };
    node.label().chars().map(wide).sum::<u32>() * GLYPH + 22
}

fn markers() -> String {
    let marker = |id: &str, shape: &str| {
        format!(
            "<marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto-start-reverse\">{shape}</marker>"
        )
    };
    [
        marker("requires", "<path d=\"M1 1L9 5L1 9z\" style=\"fill:#fff;stroke:#555\"/>"),
        marker("artifact", "<path d=\"M0 0L10 5L0 10z\" style=\"fill:#1a6fb5;stroke:none\"/>"),
        marker("gate", "<path d=\"M9 0V10\" style=\"fill:none;stroke:#b5541a;stroke-width:2\"/>"),
    ]
    .concat()
}

fn legend(out: &mut String) {
    let _ = writeln!(
        out,
        "<text x=\"{MARGIN}\" y=\"26\" style=\"font-weight:bold\">Capabilities of this project</text>"
    );
    let mut x = MARGIN;
    for scope in SCOPES {
        let word = scope.as_str();
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"38\" width=\"14\" height=\"12\" rx=\"3\" class=\"{word}\"/><text x=\"{}\" y=\"48\" class=\"small\">{word}</text>",
            x + 19
        );
        x += 86;
    }
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"38\" width=\"14\" height=\"12\" rx=\"3\" class=\"skipped dashed\"/><text x=\"{}\" y=\"48\" class=\"small\">skipped</text>",
        x + 19
    );
    x += 80;
    for kind in [EdgeKind::Requires, EdgeKind::Artifact, EdgeKind::Gate] {
        let word = kind.word();
        let text = match kind {
            EdgeKind::Requires => "requires",
            EdgeKind::Artifact => "hands on",
            EdgeKind::Gate => "guards",
        };
        let _ = writeln!(
            out,
            "<path d=\"M{x} 44H{}\" class=\"edge {word}\" marker-end=\"url(#{word})\"/><text x=\"{}\" y=\"48\" class=\"small\">{text}</text>",
            x + 30,
            x + 36
        );
        x += 96;
    }
}

/// Where an edge leaves and arrives: facing sides, whichever node stands left.
fn ends(from: &Placed, to: &Placed) -> (u32, u32) {
    if from.x + from.width <= to.x {
        (from.x + from.width, to.x)
    } else if to.x + to.width <= from.x {
        (from.x, to.x + to.width)
    } else {
        (from.x + from.width, to.x + to.width)
    }
}

/// The places that an edge passes, in the direction in which it is drawn.
fn route<'p>(layout: &Layout, places: &'p BTreeMap<usize, Placed>, edge: &Edge) -> Vec<&'p Placed> {
    let at = |route: &[usize]| route.iter().filter_map(|place| places.get(place)).collect::<Vec<_>>();
    match edge.kind {
        EdgeKind::Requires => {
            let mut passed =
                layout.routes.get(&(edge.to, edge.from)).map(|route| at(route)).unwrap_or_default();
            passed.reverse();
            passed
        }
        EdgeKind::Artifact | EdgeKind::Gate => {
            layout.routes.get(&(edge.from, edge.to)).map(|route| at(route)).unwrap_or_default()
        }
    }
}

fn draw_edge(out: &mut String, edge: &Edge, from: &Placed, to: &Placed, passed: &[&Placed]) {
    let mut path = String::new();
    let mut here = from;
    for next in passed.iter().copied().chain([to]) {
        let (from_x, to_x) = ends(here, next);
        let (from_y, to_y) = (here.y + HEIGHT / 2, next.y + HEIGHT / 2);
        // A place that is passed is crossed straight on.
        let start = if path.is_empty() { "M" } else { "L" };
        let _ = write!(path, "{start}{from_x} {from_y}");
        let (bend_from, bend_to) = bends(here, next, from_x, to_x);
        let _ = write!(path, "C{bend_from} {from_y} {bend_to} {to_y} {to_x} {to_y}");
        here = next;
    }
    let word = edge.kind.word();
    let dashed = if edge.skipped { " dashed" } else { "" };
    let _ = writeln!(out, "<path d=\"{path}\" class=\"edge {word}{dashed}\" marker-end=\"url(#{word})\"/>");
}

/// Where the curve between two places leaves the horizontal.
fn bends(from: &Placed, to: &Placed, from_x: u32, to_x: u32) -> (u32, u32) {
    if from_x < to_x {
        let bend = (to_x - from_x).min(GAP) / 2;
        (from_x + bend, to_x - bend)
    } else if to_x < from_x && from.x >= to.x + to.width {
        let bend = (from_x - to_x).min(GAP) / 2;
        (from_x - bend, to_x + bend)
    } else {
        // Nodes of one column are connected around the right side.
        (from_x + GAP / 3, to_x + GAP / 3)
    }
}

fn draw_node(out: &mut String, node: &Node, place: &Placed) {
    let Placed { x, y, width } = *place;
    let class = match node.kind {
        NodeKind::Capability(Scope::FirstParty) => "first-party",
        NodeKind::Capability(Scope::Global) => "global",
        NodeKind::Capability(Scope::Project) => "project",
        NodeKind::Skipped(_) => "skipped dashed",
        NodeKind::Missing => "missing dashed",
        NodeKind::Point => "loop",
    };
    let _ = match node.kind {
        NodeKind::Point => {
            let (left, right, middle, low) = (x + 8, x + width - 8, y + HEIGHT / 2, y + HEIGHT);
            writeln!(
                out,
                "<polygon points=\"{left},{y} {right},{y} {},{middle} {right},{low} {left},{low} {x},{middle}\" class=\"{class}\"/>",
                x + width
            )
        }
        NodeKind::Capability(_) | NodeKind::Skipped(_) | NodeKind::Missing => {
            writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"6\" class=\"{class}\"/>"
            )
        }
    };
    let (text_x, text_y) = (x + width / 2, y + HEIGHT / 2 + 4);
    let label = escaped(&node.label());
    let _ = writeln!(out, "<text x=\"{text_x}\" y=\"{text_y}\" text-anchor=\"middle\">{label}</text>");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
