//! The registry as a drawing: capabilities, what they require, what they hand each other, which points they guard.
//!
//! [`Graph::of`] collects nodes and edges; [`Graph::draw`] writes them for Graphviz, for Mermaid, or as a picture with
//! a layout of our own. The same registry always gives the same text. Names come from manifests and folders, so they
//! are cleaned, cut and escaped for each language.

mod collect;
mod dot;
mod layout;
mod mermaid;
mod svg;

use crate::compose::Scope;

/// Longest name that is drawn, in characters.
const MAX_NAME: usize = 40;

/// Capabilities and points with the edges between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Capabilities in registry order, then those that were left out, then points of the loop.
    pub nodes: Vec<Node>,
    /// Edges, by position of their nodes.
    pub edges: Vec<Edge>,
}

/// One capability or point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Id, name of the folder, or name of the point; not cleaned.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A capability of the registry.
    Capability(Scope),
    /// A capability that was left out.
    Skipped(Scope),
    /// An id that something requires and nobody has.
    Missing,
    /// A point of the loop that has a gate.
    Point,
}

/// One edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Position of the node it starts at.
    pub from: usize,
    /// Position of the node it ends at.
    pub to: usize,
    /// What it means.
    pub kind: EdgeKind,
    /// Artifact and point; may be empty; not cleaned.
    pub label: String,
    /// Whether it belongs to a capability that was left out.
    pub skipped: bool,
}

/// What an edge means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// From a capability to one that it cannot do without.
    Requires,
    /// From who makes an artifact to who needs it.
    Artifact,
    /// From a capability to a point that it guards.
    Gate,
}

/// The language of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GraphFormat {
    /// Graphviz.
    Dot,
    /// Mermaid.
    Mermaid,
    /// A picture.
    Svg,
}

impl GraphFormat {
    /// The format with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "dot" => Some(Self::Dot),
            "mermaid" => Some(Self::Mermaid),
            "svg" => Some(Self::Svg),
            _ => None,
        }
    }
}

impl Graph {
    /// The drawing in one language.
    #[must_use]
    pub fn draw(&self, format: GraphFormat) -> String {
        match format {
            GraphFormat::Dot => dot::dot(self),
            GraphFormat::Mermaid => mermaid::mermaid(self),
            GraphFormat::Svg => svg::svg(self),
        }
    }
}

impl Node {
    /// `first-party`, `global`, `project`, `missing` or `loop`.
    #[must_use]
    pub fn scope_word(&self) -> &'static str {
        match self.kind {
            NodeKind::Capability(scope) | NodeKind::Skipped(scope) => scope.as_str(),
            NodeKind::Missing => "missing",
            NodeKind::Point => "loop",
        }
    }

    /// Whether it is a capability that is not used.
    #[must_use]
    pub fn is_skipped(&self) -> bool {
        match self.kind {
            NodeKind::Skipped(_) | NodeKind::Missing => true,
            NodeKind::Capability(_) | NodeKind::Point => false,
        }
    }

    fn label(&self) -> String {
        let name = crate::text::shown_up_to(&self.name, MAX_NAME);
        match self.kind {
            NodeKind::Capability(_) | NodeKind::Point => name,
            NodeKind::Skipped(_) => format!("{name} (skipped)"),
            NodeKind::Missing => format!("{name} (missing)"),
        }
    }
}

impl Edge {
    fn shown_label(&self) -> String {
        crate::text::shown_up_to(&self.label, MAX_NAME)
    }
}

impl EdgeKind {
    /// The word for programs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Requires => "requires",
            Self::Artifact => "artifact",
            Self::Gate => "gate",
        }
    }
}

#[cfg(test)]
mod tests;
