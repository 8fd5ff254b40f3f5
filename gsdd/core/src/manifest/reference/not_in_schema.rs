//! Rules that a schema cannot express, or only in part.

use crate::manifest::RuleId as R;

/// A rule that the schema leaves to `gsdctl validate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInSchema {
    /// The rule.
    pub rule: R,
    /// Why not.
    pub why: &'static str,
}

const fn row(rule: R, why: &'static str) -> NotInSchema {
    NotInSchema { rule, why }
}

const COMPARES: &str = "compares two places of the document";
const TEXT: &str = "is about the text before it is a document";
const PARTLY: &str = "partly: the schema has the common part of the shape";
const RANGE: &str =
    "partly: the schema knows the characters of a range, not whether a version can satisfy it";

/// The rules on one manifest that a document can break without the schema noticing.
pub static NOT_IN_SCHEMA: &[NotInSchema] = &[
    row(R::ParseSize, "is about the file"),
    row(R::ParseJson, TEXT),
    row(R::ParseDuplicateKey, TEXT),
    row(R::ManifestIdMatchesFolder, "compares with the name of the folder"),
    row(R::ManifestEnginesGsdRange, RANGE),
    row(R::ManifestCompatVersionsValueRange, RANGE),
    row(R::FeatureSkillsStemShape, PARTLY),
    row(R::FeatureAgentsStemShape, PARTLY),
    row(R::FeatureConfigKeyShape, PARTLY),
    row(R::FeatureActivationKeyDeclared, COMPARES),
    row(R::FeatureStepsRefSkillDeclared, COMPARES),
    row(R::FeatureStepsRefAgentDeclared, COMPARES),
    row(R::ContractStepWhenDeclared, COMPARES),
    row(R::ContractContributionWhenDeclared, COMPARES),
    row(R::ContractGateWhenDeclared, COMPARES),
    row(R::SliceEnumDefaultMember, COMPARES),
    row(R::RuntimeArtifactLayoutDestConfined, "follows a path step by step"),
    row(R::RuntimeArtifactLayoutPrefixConfined, PARTLY),
];
