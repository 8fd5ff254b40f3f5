//! The table of rules: each stands here once, with what it demands, who demands it and what to do about a finding.

use super::rule::{Origin, Rule, When};

macro_rules! rules {
    ($($name:ident $id:literal [$when:ident, $origin:ident]
        $text:literal
        from $source:literal
        fix $fix:literal;)*) => {
        /// Identity of a rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RuleId {
            $(#[doc = $text] $name,)*
        }

        /// Every rule, in the order of [`RuleId`].
        pub static RULES: &[Rule] = &[
            $(Rule { key: RuleId::$name, id: $id, text: $text, source: $source, fix: $fix, when: When::$when, origin: Origin::$origin },)*
        ];
    };
}

rules! {
    ParseSize "parse.size" [Load, Upstream]
        "The manifest file is a regular file of at most 8 MiB; anything else is refused without reading it whole."
        from "overlay model, \"When a single overlay fails\" (first bullet)"
        fix "Keep the manifest a regular file of at most 8 MiB";
    ParseJson "parse.json" [Text, Upstream]
        "The file text is one JSON document (RFC 8259): no byte-order mark, comments, trailing commas, NaN/Infinity or trailing text."
        from "overlay model, \"When a single overlay fails\" (first bullet)"
        fix "Save the file as plain JSON: UTF-8 without byte-order mark, no comments, no trailing comma";
    ParseDuplicateKey "parse.duplicate-key" [Text, Ours]
        "No object has the same key twice."
        from "decision D-20, hostile input"
        fix "Remove one of the two";
    ManifestObject "manifest.object" [Manifest, Upstream]
        "The document is a JSON object."
        from "upstream validator"
        fix "Write one JSON object, `{ … }`, as the whole file";
    ManifestIdKebabCase "manifest.id.kebab-case" [Manifest, Upstream]
        "`id` is a string matching `[a-z][a-z0-9-]*` over its whole length."
        from "ADR-1244 Context (folder `capabilities/<id>/`)"
        fix "Use lowercase letters, digits and hyphens, beginning with a letter";
    ManifestIdMatchesFolder "manifest.id.matches-folder" [Manifest, Upstream]
        "`id` equals the name of the folder that holds the manifest."
        from "ADR-1244 Context"
        fix "Rename the folder to the id, or the id to the folder";
    ManifestRoleEnum "manifest.role.enum" [Manifest, Upstream]
        "`role` is `feature`, `runtime` or `reviewer`."
        from "ADR-1244 Context names feature and runtime; reviewer is upstream"
        fix "Use one of the known words";
    ManifestTitleNonEmpty "manifest.title.non-empty" [Manifest, Upstream]
        "`title` is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    ManifestDescriptionNonEmpty "manifest.description.non-empty" [Manifest, Upstream]
        "`description` is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    ManifestTierEnum "manifest.tier.enum" [Manifest, Upstream]
        "`tier` is `core`, `standard` or `full`."
        from "ADR-1244 D9 names tier; values upstream"
        fix "Use one of the known words";
    ManifestRequiresArray "manifest.requires.array" [Manifest, Upstream]
        "`requires` is present and is an array."
        from "ADR-1244 D2 (requires graph)"
        fix "Write a JSON array; `[]` when there is nothing to list";
    ManifestRequiresEntryString "manifest.requires.entry-string" [Manifest, Upstream]
        "Every `requires` entry is a string (any string)."
        from "ADR-1244 D2 (requires graph)"
        fix "Write a text that is not empty";
    ManifestVersionSemver "manifest.version.semver" [Manifest, Upstream]
        "`version` is a full SemVer 2.0.0 version."
        from "ADR-1244 D1"
        fix "Write a full version such as `1.2.0`";
    ManifestEnginesObject "manifest.engines.object" [Manifest, Upstream]
        "`engines`, when present, is an object."
        from "ADR-1244 D1"
        fix "Write a JSON object";
    ManifestEnginesGsdRange "manifest.engines.gsd-range" [Manifest, Upstream]
        "`engines.gsd`, when present, is a range that some version can satisfy."
        from "ADR-1244 D1"
        fix "Write a range such as `>=1.6.0`, `^1.6` or `1.6 - 2.0`, or leave the key out";
    ManifestCompatVersionsObject "manifest.compat-versions.object" [Manifest, Upstream]
        "`compatVersions`, when present, is an object."
        from "ADR-1244 D1"
        fix "Write a JSON object";
    ManifestCompatVersionsKeySemver "manifest.compat-versions.key-semver" [Manifest, Upstream]
        "Each key of `compatVersions` is a full SemVer version."
        from "ADR-1244 D1"
        fix "Use full versions such as `1.2.0` as keys";
    ManifestCompatVersionsValueRange "manifest.compat-versions.value-range" [Manifest, Upstream]
        "Each value of `compatVersions` is a range that some version can satisfy; a bare version is a minimum."
        from "ADR-1244 D1 (calls it a minimum version)"
        fix "Write a range such as `>=1.6.0` as the value";
    ManifestIntegritySha512 "manifest.integrity.sha512" [Manifest, Upstream]
        "`integrity`, when present, is `sha512-` + 86 base64 characters + `==`."
        from "ADR-1244 D1"
        fix "Write `sha512-` and the base64 of the digest, or leave the key out";
    ManifestProvenanceObject "manifest.provenance.object" [Manifest, Upstream]
        "`provenance`, when present, is an object."
        from "ADR-1244 D1"
        fix "Write a JSON object";
    ManifestProvenanceSourceRepo "manifest.provenance.source-repo" [Manifest, Upstream]
        "`provenance.sourceRepo` is a non-empty string."
        from "ADR-1244 D1"
        fix "Write a text that is not empty";
    ManifestProvenanceCommit "manifest.provenance.commit" [Manifest, Upstream]
        "`provenance.commit` is a non-empty string."
        from "ADR-1244 D1"
        fix "Write a text that is not empty";
    FeatureReviewerForbidden "feature.reviewer.forbidden" [Manifest, Upstream]
        "A feature carries no `reviewer` key, not even null."
        from "upstream validator"
        fix "Remove the key";
    FeatureRuntimeCompatObject "feature.runtime-compat.object" [Manifest, Upstream]
        "`runtimeCompat` is present and is an object."
        from "upstream validator"
        fix "Write a JSON object";
    FeatureRuntimeCompatListArray "feature.runtime-compat.list-array" [Manifest, Upstream]
        "`supported` and `unsupported` are both present and arrays."
        from "upstream validator"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureRuntimeCompatSupportedNonEmpty "feature.runtime-compat.supported-non-empty" [Manifest, Upstream]
        "`supported` has at least one entry."
        from "upstream validator"
        fix "Write `[\"*\"]` when every runtime will do";
    FeatureRuntimeCompatEntryString "feature.runtime-compat.entry-string" [Manifest, Upstream]
        "Each entry of both lists is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureRuntimeCompatReservedName "feature.runtime-compat.reserved-name" [Manifest, Upstream]
        "No entry is one of the three reserved property names."
        from "upstream validator"
        fix "Choose another name: `__proto__`, `constructor` and `prototype` cannot be used";
    FeatureRuntimeCompatEntryKebab "feature.runtime-compat.entry-kebab" [Manifest, Upstream]
        "Each entry is `*` or matches the id pattern."
        from "upstream validator"
        fix "Use lowercase letters, digits and hyphens";
    FeatureRuntimeCompatWildcardForbidden "feature.runtime-compat.wildcard-forbidden" [Manifest, Upstream]
        "`unsupported` never contains `*`."
        from "upstream validator"
        fix "Name runtimes, or leave the list empty";
    FeatureRuntimeCompatWildcardExclusive "feature.runtime-compat.wildcard-exclusive" [Manifest, Upstream]
        "A list that contains `*` contains nothing else (two `*` also fail)."
        from "upstream validator"
        fix "Keep only `*`, or only names";
    FeatureRuntimeCompatNotesObject "feature.runtime-compat.notes-object" [Manifest, Upstream]
        "`notes`, when present, is an object."
        from "upstream validator"
        fix "Write a JSON object";
    FeatureRuntimeCompatNotesKey "feature.runtime-compat.notes-key" [Manifest, Upstream]
        "Each `notes` key is `*` or matches the id pattern."
        from "upstream validator"
        fix "Use lowercase letters, digits and hyphens";
    FeatureRuntimeCompatNotesValue "feature.runtime-compat.notes-value" [Manifest, Upstream]
        "Each `notes` value is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureSkillsArray "feature.skills.array" [Manifest, Upstream]
        "`skills` is present and is an array."
        from "ADR-1244 Context"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureSkillsEntryString "feature.skills.entry-string" [Manifest, Upstream]
        "Each `skills` entry is a string."
        from "ADR-1244 Context"
        fix "Write a text that is not empty";
    FeatureSkillsReservedName "feature.skills.reserved-name" [Manifest, Upstream]
        "No `skills` entry is a reserved property name."
        from "upstream validator"
        fix "Choose another name: `__proto__`, `constructor` and `prototype` cannot be used";
    FeatureAgentsArray "feature.agents.array" [Manifest, Upstream]
        "`agents` is present and is an array."
        from "ADR-1244 Context"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureAgentsEntryString "feature.agents.entry-string" [Manifest, Upstream]
        "Each `agents` entry is a string."
        from "ADR-1244 Context"
        fix "Write a text that is not empty";
    FeatureAgentsReservedName "feature.agents.reserved-name" [Manifest, Upstream]
        "No `agents` entry is a reserved property name."
        from "upstream validator"
        fix "Choose another name: `__proto__`, `constructor` and `prototype` cannot be used";
    FeatureCommandsArray "feature.commands.array" [Manifest, Upstream]
        "`commands`, when present, is an array."
        from "ADR-1244 D7"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureCommandsEntryObject "feature.commands.entry-object" [Manifest, Upstream]
        "Each command entry is an object."
        from "ADR-1244 D7"
        fix "Write a JSON object";
    FeatureCommandsFamilyString "feature.commands.family-string" [Manifest, Upstream]
        "`family` is a non-empty string."
        from "ADR-1244 D7"
        fix "Write a text that is not empty";
    FeatureCommandsFamilyReservedName "feature.commands.family-reserved-name" [Manifest, Upstream]
        "`family` is not a reserved property name."
        from "upstream validator"
        fix "Choose another name: `__proto__`, `constructor` and `prototype` cannot be used";
    FeatureCommandsModuleString "feature.commands.module-string" [Manifest, Upstream]
        "`module` is a non-empty string, unless `exec` stands for it."
        from "ADR-1244 D7"
        fix "Write a text that is not empty";
    FeatureCommandsModuleBasename "feature.commands.module-basename" [Manifest, Upstream]
        "`module` matches `[A-Za-z0-9._-]+\\.cjs` over its whole length: a bare file name."
        from "ADR-1244 D5 rule 5"
        fix "Name a file of the bundle root such as `tool.cjs`, without a folder";
    FeatureCommandsRouterString "feature.commands.router-string" [Manifest, Upstream]
        "`router` is a non-empty string, unless `exec` stands for it."
        from "ADR-1244 D7"
        fix "Write a text that is not empty";
    FeatureCommandsSubcommandsArray "feature.commands.subcommands-array" [Manifest, Upstream]
        "`subcommands`, when present, is an array."
        from "upstream validator"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureCommandsSubcommandsEntry "feature.commands.subcommands-entry" [Manifest, Upstream]
        "Each subcommand is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureConfigObject "feature.config.object" [Manifest, Upstream]
        "`config` is present and is an object."
        from "ADR-1244 Context"
        fix "Write a JSON object";
    FeatureConfigKeyNonEmpty "feature.config.key-non-empty" [Manifest, Upstream]
        "No config key is the empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureConfigKeyReservedName "feature.config.key-reserved-name" [Manifest, Upstream]
        "No config key is a reserved property name (whole key, not segment)."
        from "upstream validator"
        fix "Choose another name: `__proto__`, `constructor` and `prototype` cannot be used";
    FeatureConfigEntryObject "feature.config.entry-object" [Manifest, Upstream]
        "Each config value is an object."
        from "upstream validator"
        fix "Write a JSON object";
    FeatureConfigTypeString "feature.config.type-string" [Manifest, Upstream]
        "Each config value has a non-empty string `type` (the value is checked later by `slice.type-enum`)."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureHooksArray "feature.hooks.array" [Manifest, Upstream]
        "`hooks`, when present, is an array."
        from "ADR-1244 Context, D5 rule 2"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureHooksEntryObject "feature.hooks.entry-object" [Manifest, Upstream]
        "Each hook entry is an object."
        from "upstream validator"
        fix "Write a JSON object";
    FeatureHooksEventString "feature.hooks.event-string" [Manifest, Upstream]
        "`event` is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureHooksScriptString "feature.hooks.script-string" [Manifest, Upstream]
        "`script` is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureHooksScriptSafePath "feature.hooks.script-safe-path" [Manifest, Upstream]
        "`script` uses only `[A-Za-z0-9._/-]`, is not absolute, has no `..` segment and no segment starting with `-`."
        from "ADR-1244 D5 rule 5 (traversal); character list upstream"
        fix "Name a file of the bundle such as `hooks/check.sh`: letters, digits, `.`, `_`, `-`, `/` only";
    FeatureHooksMatcherString "feature.hooks.matcher-string" [Manifest, Upstream]
        "`matcher`, when present, is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureHooksMatcherControlChar "feature.hooks.matcher-control-char" [Manifest, Upstream]
        "`matcher` has no character below U+0020 and no U+007F."
        from "upstream validator"
        fix "Remove the control characters";
    FeatureActivationKeyString "feature.activation-key.string" [Manifest, Upstream]
        "`activationKey`, when present, is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureActivationKeyReservedName "feature.activation-key.reserved-name" [Manifest, Upstream]
        "`activationKey` is not a reserved property name."
        from "upstream validator"
        fix "Choose another name: `__proto__`, `constructor` and `prototype` cannot be used";
    FeatureActivationKeyDeclared "feature.activation-key.declared" [Manifest, Upstream]
        "`activationKey` is an own key of this manifest's `config` object."
        from "upstream validator"
        fix "Add the key to `config`";
    FeatureStepsArray "feature.steps.array" [Manifest, Upstream]
        "`steps` is present and is an array."
        from "ADR-1244 Context"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureStepsEntryObject "feature.steps.entry-object" [Manifest, Upstream]
        "Each `steps` entry is an object."
        from "overlay model, \"When a single overlay fails\" (last paragraph)"
        fix "Write a JSON object";
    FeatureStepsPoint "feature.steps.point" [Manifest, Upstream]
        "`point` is one of the twelve loop points."
        from "ADR-1244 Context, D2"
        fix "Use one of the known words";
    FeatureContributionsArray "feature.contributions.array" [Manifest, Upstream]
        "`contributions` is present and is an array."
        from "ADR-1244 Context"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureContributionsEntryObject "feature.contributions.entry-object" [Manifest, Upstream]
        "Each `contributions` entry is an object."
        from "overlay model, \"When a single overlay fails\" (last paragraph)"
        fix "Write a JSON object";
    FeatureContributionsPoint "feature.contributions.point" [Manifest, Upstream]
        "`point` is one of the twelve loop points."
        from "ADR-1244 Context, D2"
        fix "Use one of the known words";
    FeatureGatesArray "feature.gates.array" [Manifest, Upstream]
        "`gates` is present and is an array."
        from "ADR-1244 Context"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureGatesEntryObject "feature.gates.entry-object" [Manifest, Upstream]
        "Each `gates` entry is an object."
        from "overlay model, \"When a single overlay fails\" (last paragraph)"
        fix "Write a JSON object";
    FeatureGatesPoint "feature.gates.point" [Manifest, Upstream]
        "`point` is one of the twelve loop points."
        from "ADR-1244 Context, D2"
        fix "Use one of the known words";
    FeatureStepsRefObject "feature.steps.ref-object" [Manifest, Upstream]
        "`ref` is an object (an array falls through to the next rule)."
        from "upstream validator"
        fix "Write a JSON object";
    FeatureStepsRefTargetMissing "feature.steps.ref-target-missing" [Manifest, Upstream]
        "`ref` has at least one of the keys `skill`, `agent`, `command`."
        from "upstream validator"
        fix "Add one of `skill`, `agent`, `command`";
    FeatureStepsRefTargetExclusive "feature.steps.ref-target-exclusive" [Manifest, Upstream]
        "`ref` has at most one of those keys; a key holding null still counts."
        from "upstream validator"
        fix "Keep one of `skill`, `agent`, `command`";
    FeatureStepsRefSkillString "feature.steps.ref-skill-string" [Manifest, Upstream]
        "`ref.skill`, when the key exists, is a string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureStepsRefAgentString "feature.steps.ref-agent-string" [Manifest, Upstream]
        "`ref.agent`, when the key exists, is a string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureStepsRefCommandString "feature.steps.ref-command-string" [Manifest, Upstream]
        "`ref.command`, when the key exists, is a string (may be empty)."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureStepsRefSkillUnprefixed "feature.steps.ref-skill-unprefixed" [Manifest, Upstream]
        "`ref.skill` does not start with `gsd-`."
        from "upstream validator"
        fix "Write the skill name without `gsd-`";
    FeatureStepsRefSkillDeclared "feature.steps.ref-skill-declared" [Manifest, Upstream]
        "`ref.skill` is one of the manifest's own `skills` (skipped when `skills` is not an array, and when the prefix rule fired)."
        from "upstream validator"
        fix "List the skill in `skills`";
    FeatureStepsRefAgentDeclared "feature.steps.ref-agent-declared" [Manifest, Upstream]
        "`ref.agent` is one of the manifest's own `agents` (skipped when `agents` is not an array)."
        from "upstream validator"
        fix "List the agent in `agents`";
    FeatureStepsProducesArray "feature.steps.produces-array" [Manifest, Upstream]
        "`produces` is present and is an array."
        from "upstream validator"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureStepsProducesEntry "feature.steps.produces-entry" [Manifest, Upstream]
        "Each `produces` entry is a string (any string)."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureStepsConsumesArray "feature.steps.consumes-array" [Manifest, Upstream]
        "`consumes` is present and is an array."
        from "upstream validator"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureStepsConsumesEntry "feature.steps.consumes-entry" [Manifest, Upstream]
        "Each `consumes` entry is a string (any string)."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureContributionsProducesArray "feature.contributions.produces-array" [Manifest, Upstream]
        "`produces` is present and is an array."
        from "upstream validator"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureContributionsProducesEntry "feature.contributions.produces-entry" [Manifest, Upstream]
        "Each `produces` entry is a string (any string)."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureContributionsConsumesArray "feature.contributions.consumes-array" [Manifest, Upstream]
        "`consumes` is present and is an array."
        from "upstream validator"
        fix "Write a JSON array; `[]` when there is nothing to list";
    FeatureContributionsConsumesEntry "feature.contributions.consumes-entry" [Manifest, Upstream]
        "Each `consumes` entry is a string (any string)."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureStepsWhenString "feature.steps.when-string" [Manifest, Upstream]
        "`when`, when present, is a string."
        from "overlay model, \"The activation chain, item 4\""
        fix "Write a text that is not empty";
    FeatureContributionsWhenString "feature.contributions.when-string" [Manifest, Upstream]
        "`when`, when present, is a string."
        from "overlay model, \"The activation chain, item 4\""
        fix "Write a text that is not empty";
    FeatureGatesWhenString "feature.gates.when-string" [Manifest, Upstream]
        "`when`, when present, is a string."
        from "overlay model, \"The activation chain, item 4\""
        fix "Write a text that is not empty";
    FeatureStepsOnError "feature.steps.on-error" [Manifest, Upstream]
        "`onError` is `skip` or `halt`; required."
        from "upstream validator"
        fix "Use one of the known words";
    FeatureContributionsOnError "feature.contributions.on-error" [Manifest, Upstream]
        "`onError`, when present, is `skip` or `halt`."
        from "upstream validator"
        fix "Use one of the known words";
    FeatureGatesOnError "feature.gates.on-error" [Manifest, Upstream]
        "`onError` is `skip` or `halt`; required."
        from "upstream validator"
        fix "Use one of the known words";
    FeatureContributionsIntoString "feature.contributions.into-string" [Manifest, Upstream]
        "`into` is a string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureFragmentObject "feature.fragment.object" [Manifest, Upstream]
        "`fragment` is an object: required on contributions, optional on steps."
        from "upstream validator"
        fix "Write a JSON object";
    FeatureFragmentSourceMissing "feature.fragment.source-missing" [Manifest, Upstream]
        "`fragment` has a `path` or an `inline` key (both allowed)."
        from "upstream validator"
        fix "Add `path` or `inline`";
    FeatureFragmentInlineString "feature.fragment.inline-string" [Manifest, Upstream]
        "`inline`, when the key exists, is a string."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureFragmentInlineNonEmpty "feature.fragment.inline-non-empty" [Manifest, Upstream]
        "`inline` is not empty."
        from "upstream validator"
        fix "Write a text that is not empty";
    FeatureFragmentPathRelative "feature.fragment.path-relative" [Manifest, Upstream]
        "`path`, when the key exists, is a non-empty relative path without a `..` segment (`/` and `\\` both separate)."
        from "ADR-1244 D5 rule 5"
        fix "Name a file of the bundle such as `fragments/plan.md`";
    FeatureGatesCheckObject "feature.gates.check-object" [Manifest, Upstream]
        "`check` is an object (an array falls through to the next rule)."
        from "upstream validator"
        fix "Write a JSON object";
    FeatureGatesCheckOneForm "feature.gates.check-one-form" [Manifest, Upstream]
        "`check` has exactly one of the keys `query`, `predicate`, `agentVerdict`; a key holding null counts."
        from "upstream validator"
        fix "Keep exactly one of `query`, `predicate`, `agentVerdict`";
    FeatureGatesAgentVerdictAdvisory "feature.gates.agent-verdict-advisory" [Manifest, Upstream]
        "A check with an `agentVerdict` key has `blocking` other than true."
        from "upstream validator"
        fix "Set `blocking` to `false`, or use a `query` or `predicate`";
    FeatureGatesBlockingBoolean "feature.gates.blocking-boolean" [Manifest, Upstream]
        "`blocking` is present and boolean."
        from "upstream validator"
        fix "Write `true` or `false`";
    FeatureSkillsStemShape "feature.skills.stem-shape" [Manifest, Ours]
        "Each skill name can be a file name: no separator, no leading dot or hyphen, no control, invisible or combining character, no device name, at most 128 bytes."
        from "decision D-19"
        fix "Use letters, digits, hyphens, dots and underscores";
    FeatureAgentsStemShape "feature.agents.stem-shape" [Manifest, Ours]
        "Each agent name can be a file name, as for skills."
        from "decision D-19"
        fix "Use letters, digits, hyphens, dots and underscores";
    FeatureCommandsFamilyShape "feature.commands.family-shape" [Manifest, Ours]
        "A family is a plain command word: letters, digits, `.`, `_`, `-`, beginning with a letter or digit, at most 64 bytes."
        from "decision D-19"
        fix "Use letters, digits, hyphens, dots and underscores";
    FeatureCommandsExecString "feature.commands.exec-string" [Manifest, Ours]
        "`exec`, when present, is a non-empty string."
        from "decision D-12"
        fix "Write the path of an executable file of the bundle, or remove the key";
    FeatureCommandsExecSafePath "feature.commands.exec-safe-path" [Manifest, Ours]
        "`exec` uses only `[A-Za-z0-9._/-]`, is not absolute, has no `..` segment and no segment starting with `-`."
        from "decision D-12"
        fix "Name a file of the bundle such as `bin/tool`";
    FeatureCommandsExecExclusive "feature.commands.exec-exclusive" [Manifest, Ours]
        "An entry with `exec` has no `module` and no `router`."
        from "decision D-12"
        fix "Keep `exec`, or `module` and `router`";
    FeatureConfigKeyShape "feature.config.key-shape" [Manifest, Ours]
        "A config key has at most 256 bytes and no control or invisible character."
        from "decision D-20"
        fix "Use dotted words such as `acme.enabled`";
    FeatureLoopOwnerForged "feature.loop.owner-forged" [Manifest, Ours]
        "No step, contribution or gate has a member `capId`: the owner is set by the composer."
        from "composition oddity O11"
        fix "Remove `capId`";
    FeatureGatesQueryString "feature.gates.query-string" [Manifest, Ours]
        "A `query` is a non-empty string."
        from "suggested rule"
        fix "Write the name of a host query";
    FeatureGatesPredicateKind "feature.gates.predicate-kind" [Manifest, Ours]
        "A `predicate` has a known `kind` with the fields of that kind."
        from "suggested rule"
        fix "Use `command-exit-zero` with `command`, or `artifact-frontmatter-equals` with `artifact`, `field` and `equals`";
    ContractContributionIntoRole "contract.contribution.into-role" [Contract, Upstream]
        "`into` is one of the agent roles published for the step that owns the point."
        from "overlay model, \"First-party always wins\" (cross-capability invariants: contract roles)"
        fix "Use an agent role of the step that owns the point";
    ContractStepWhenDeclared "contract.step.when-declared" [Contract, Upstream]
        "A step's `when` is an own key of the same manifest's `config`."
        from "overlay model, \"The activation chain, item 4\""
        fix "Add the key to `config`, or remove `when`";
    ContractContributionWhenDeclared "contract.contribution.when-declared" [Contract, Upstream]
        "A contribution's `when` is an own key of the same manifest's `config`."
        from "overlay model, \"The activation chain, item 4\""
        fix "Add the key to `config`, or remove `when`";
    ContractGateWhenDeclared "contract.gate.when-declared" [Contract, Upstream]
        "A gate's `when` is an own key of the same manifest's `config`."
        from "overlay model, \"The activation chain, item 4\""
        fix "Add the key to `config`, or remove `when`";
    ContractPointWired "contract.point.wired" [Contract, Upstream]
        "First-party build only: the host renders hooks at that point. Not applied to installed capabilities."
        from "upstream validator"
        fix "Use a point that the host renders";
    RuntimeForbiddenField "runtime.forbidden-field" [Manifest, Upstream]
        "A runtime carries none of `skills`, `agents`, `steps`, `contributions`, `gates`, `hooks`, `activationKey` (null counts as present)."
        from "ADR-1016 Context (all but activationKey)"
        fix "Remove the key";
    RuntimeBodyObject "runtime.body.object" [Manifest, Upstream]
        "`runtime` is present and is an object; when not, no other runtime rule runs."
        from "ADR-1016 Context"
        fix "Write a JSON object";
    RuntimeConfigHomeObject "runtime.config-home.object" [Manifest, Upstream]
        "`configHome` is an object (recursively: so is `skillsHome` when present)."
        from "ADR-1016 D1"
        fix "Write a JSON object";
    RuntimeConfigHomeKindEnum "runtime.config-home.kind-enum" [Manifest, Upstream]
        "`kind` is `dot-home`, `dot-home-nested`, `xdg`, `generic-agents-root` or `none`."
        from "ADR-1016 D1 (`none` is upstream)"
        fix "Use one of the known words";
    RuntimeConfigHomeName "runtime.config-home.name" [Manifest, Upstream]
        "`name` is a non-empty string unless `kind` is `none`."
        from "ADR-1016 D1"
        fix "Write a text that is not empty";
    RuntimeConfigHomeNameWhenNone "runtime.config-home.name-when-none" [Manifest, Upstream]
        "With kind `none`, a present `name` is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    RuntimeConfigHomeParent "runtime.config-home.parent" [Manifest, Upstream]
        "With kind `dot-home-nested`, `parent` is a non-empty string."
        from "ADR-1016 D1"
        fix "Write a text that is not empty";
    RuntimeConfigHomeEnvArray "runtime.config-home.env-array" [Manifest, Upstream]
        "`env` is present and is an array (may be empty), whatever the kind."
        from "ADR-1016 D1"
        fix "Write a JSON array; `[]` when there is nothing to list";
    RuntimeConfigHomeEnvEntry "runtime.config-home.env-entry" [Manifest, Upstream]
        "Each `env` entry is a string."
        from "ADR-1016 D1"
        fix "Write a text that is not empty";
    RuntimeConfigHomeProbeArray "runtime.config-home.probe-array" [Manifest, Upstream]
        "`probe`, when present, is an array."
        from "ADR-1016 D1"
        fix "Write a JSON array; `[]` when there is nothing to list";
    RuntimeConfigHomeProbeEntry "runtime.config-home.probe-entry" [Manifest, Upstream]
        "Each `probe` entry is a string."
        from "ADR-1016 D1"
        fix "Write a text that is not empty";
    RuntimeConfigHomeProbeExists "runtime.config-home.probe-exists" [Manifest, Upstream]
        "`probeExists`, when present, is a non-empty string."
        from "ADR-1016 D1 and its amendment"
        fix "Write a text that is not empty";
    RuntimeConfigFormatEnum "runtime.config-format.enum" [Manifest, Upstream]
        "`configFormat` is `settings-json`, `toml`, `markdown`, `markdown-dir` or `none`."
        from "ADR-1016 D2"
        fix "Use one of the known words";
    RuntimeArtifactLayoutObject "runtime.artifact-layout.object" [Manifest, Upstream]
        "`artifactLayout` is an object."
        from "ADR-1016 D3"
        fix "Write a JSON object";
    RuntimeArtifactLayoutScopeArray "runtime.artifact-layout.scope-array" [Manifest, Upstream]
        "`global` and `local` are both arrays."
        from "ADR-1016 D3"
        fix "Write a JSON array; `[]` when there is nothing to list";
    RuntimeArtifactLayoutEntryObject "runtime.artifact-layout.entry-object" [Manifest, Upstream]
        "Each entry is an object."
        from "ADR-1016 D3"
        fix "Write a JSON object";
    RuntimeArtifactLayoutKindEnum "runtime.artifact-layout.kind-enum" [Manifest, Upstream]
        "`kind` is `commands`, `agents`, `skills` or `kimi-agents`."
        from "ADR-1016 D3"
        fix "Use one of the known words";
    RuntimeArtifactLayoutDestSubpath "runtime.artifact-layout.dest-subpath" [Manifest, Upstream]
        "`destSubpath` is a non-empty string."
        from "ADR-1016 D3"
        fix "Write a text that is not empty";
    RuntimeArtifactLayoutNestingEnum "runtime.artifact-layout.nesting-enum" [Manifest, Upstream]
        "`nesting` is `flat` or `nested`; required."
        from "ADR-1016 D3"
        fix "Use one of the known words";
    RuntimeArtifactLayoutPrefixString "runtime.artifact-layout.prefix-string" [Manifest, Upstream]
        "`prefix` is a string (may be empty); required."
        from "ADR-1016 D3"
        fix "Write a text that is not empty";
    RuntimeArtifactLayoutRecursiveBoolean "runtime.artifact-layout.recursive-boolean" [Manifest, Upstream]
        "`recursive`, when present, is boolean."
        from "ADR-1016 D3 (required there)"
        fix "Write `true` or `false`";
    RuntimeArtifactLayoutConverterRequired "runtime.artifact-layout.converter-required" [Manifest, Upstream]
        "The key `converter` exists. Not examined: entries of the design record have none, and no converter is meant then."
        from "ADR-1016 D3 (closed converter names)"
        fix "Add the key";
    RuntimeArtifactLayoutConverterType "runtime.artifact-layout.converter-type" [Manifest, Upstream]
        "`converter` is a string or null."
        from "ADR-1016 D3"
        fix "Write a text or `null`";
    RuntimeArtifactLayoutConverterEnum "runtime.artifact-layout.converter-enum" [Manifest, Upstream]
        "A string `converter` is one of the known converters."
        from "ADR-1016 D3"
        fix "Use a converter of the reference, or `null`";
    RuntimeArtifactLayoutLocalHomeForbidden "runtime.artifact-layout.local-home-forbidden" [Manifest, Upstream]
        "Entries in `local` have no `home` key."
        from "upstream validator"
        fix "Remove the key";
    RuntimeCommandStyleEnum "runtime.command-style.enum" [Manifest, Upstream]
        "`commandStyle` is `slash-hyphen` or `shell-var`."
        from "ADR-1016 D4"
        fix "Use one of the known words";
    RuntimeHooksSurfaceEnum "runtime.hooks-surface.enum" [Manifest, Upstream]
        "`hooksSurface` is one of eight words."
        from "ADR-1016 D5 (six of them)"
        fix "Use one of the known words";
    RuntimeHookEventsEnum "runtime.hook-events.enum" [Manifest, Upstream]
        "`hookEvents`, when present, is `claude`, `gemini` or `opencode-subset`."
        from "ADR-1016 D5 (which also lists `opencode-subset`)"
        fix "Use one of the known words";
    RuntimeExtensionEventsEnum "runtime.extension-events.enum" [Manifest, Upstream]
        "`extensionEvents`, when present, is `opencode`, `pi`, `hermes`, `kilo` or `none`."
        from "upstream validator"
        fix "Use one of the known words";
    RuntimeSandboxTierEnum "runtime.sandbox-tier.enum" [Manifest, Upstream]
        "`sandboxTier` is `none` or `codex-agent-sandbox`."
        from "ADR-1016 D6"
        fix "Use one of the known words";
    RuntimeSupportTierEnum "runtime.support-tier.enum" [Manifest, Upstream]
        "`supportTier` is the number 1 or 2."
        from "ADR-1016 D7"
        fix "Use one of the known words";
    RuntimeInstallSurfaceEnum "runtime.install-surface.enum" [Manifest, Upstream]
        "`installSurface` is one of seven words."
        from "ADR-1016 D7a (six of them)"
        fix "Use one of the known words";
    RuntimeWritesSharedSettingsBoolean "runtime.writes-shared-settings.boolean" [Manifest, Upstream]
        "`writesSharedSettings` is present and boolean."
        from "ADR-1016 D7a"
        fix "Write `true` or `false`";
    RuntimePermissionWriterRequired "runtime.permission-writer.required" [Manifest, Upstream]
        "The key `permissionWriter` exists."
        from "ADR-1016 D7a"
        fix "Add the key";
    RuntimePermissionWriterEnum "runtime.permission-writer.enum" [Manifest, Upstream]
        "`permissionWriter` is null, `opencode`, `kilo` or `antigravity`."
        from "ADR-1016 D7a (without antigravity)"
        fix "Use one of the known words";
    RuntimeLocalConfigDirRequired "runtime.local-config-dir.required" [Manifest, Upstream]
        "`localConfigDir`, when present, is a non-empty string unless `configHome` is an object of kind `none`."
        from "upstream validator"
        fix "Add the key";
    RuntimeLocalConfigDirDotPrefix "runtime.local-config-dir.dot-prefix" [Manifest, Upstream]
        "`localConfigDir` starts with a dot."
        from "upstream validator"
        fix "Write a folder name such as `.example`";
    RuntimeLocalConfigDirNullWhenNone "runtime.local-config-dir.null-when-none" [Manifest, Upstream]
        "With kind `none`, `localConfigDir` is null or absent."
        from "upstream validator"
        fix "Write `null` or leave the key out";
    RuntimeExtendedHookEventsArray "runtime.extended-hook-events.array" [Manifest, Upstream]
        "`extendedHookEvents` is present and is an array."
        from "ADR-1016 D7a"
        fix "Write a JSON array; `[]` when there is nothing to list";
    RuntimeExtendedHookEventsEntryEnum "runtime.extended-hook-events.entry-enum" [Manifest, Upstream]
        "Each entry is one of the eight event names."
        from "ADR-1016 D7a (seven of them)"
        fix "Use one of the known words";
    RuntimeHostIntegrationObject "runtime.host-integration.object" [Manifest, Upstream]
        "`hostIntegration`, when present, is an object."
        from "upstream validator"
        fix "Write a JSON object";
    RuntimeHostIntegrationReservedKey "runtime.host-integration.reserved-key" [Manifest, Upstream]
        "`hostIntegration` has no own key that is a reserved property name."
        from "upstream validator"
        fix "Choose another name: `__proto__`, `constructor` and `prototype` cannot be used";
    RuntimeHostIntegrationEmbeddingMode "runtime.host-integration.embedding-mode" [Manifest, Upstream]
        "`embeddingMode` is in its closed list or is `undocumented`; required."
        from "upstream validator"
        fix "Use one of the known words";
    RuntimeHostIntegrationCommandSurface "runtime.host-integration.command-surface" [Manifest, Upstream]
        "`commandSurface` is in its closed list or is `undocumented`; required."
        from "upstream validator"
        fix "Use one of the known words";
    RuntimeHostIntegrationModelMode "runtime.host-integration.model-mode" [Manifest, Upstream]
        "`modelMode` is in its closed list or is `undocumented`; required."
        from "upstream validator"
        fix "Use one of the known words";
    RuntimeHostIntegrationHookBus "runtime.host-integration.hook-bus" [Manifest, Upstream]
        "`hookBus` is in its closed list or is `undocumented`; required."
        from "upstream validator"
        fix "Use one of the known words";
    RuntimeHostIntegrationStateIo "runtime.host-integration.state-io" [Manifest, Upstream]
        "`stateIO` is in its closed list or is `undocumented`; required."
        from "upstream validator"
        fix "Use one of the known words";
    RuntimeHostIntegrationTransport "runtime.host-integration.transport" [Manifest, Upstream]
        "`transport` is in its closed list or is `undocumented`; required."
        from "upstream validator"
        fix "Use one of the known words";
    RuntimeHostIntegrationRuntime "runtime.host-integration.runtime" [Manifest, Upstream]
        "`runtime` is in its closed list or is `undocumented`; required."
        from "upstream validator"
        fix "Use one of the known words";
    RuntimeHostIntegrationEffortSurface "runtime.host-integration.effort-surface" [Manifest, Upstream]
        "`effortSurface`, when present, is in its closed list or is `undocumented`."
        from "upstream validator"
        fix "Use one of the known words";
    RuntimeDispatchObject "runtime.dispatch.object" [Manifest, Upstream]
        "`hostIntegration.dispatch` is an object."
        from "upstream validator"
        fix "Write a JSON object";
    RuntimeDispatchReservedKey "runtime.dispatch.reserved-key" [Manifest, Upstream]
        "`dispatch` has no own key that is a reserved property name."
        from "upstream validator"
        fix "Choose another name: `__proto__`, `constructor` and `prototype` cannot be used";
    RuntimeDispatchNamedDispatch "runtime.dispatch.named-dispatch" [Manifest, Upstream]
        "`namedDispatch` is boolean or `undocumented`; required."
        from "upstream validator"
        fix "Write `true`, `false` or `\"undocumented\"`";
    RuntimeDispatchNested "runtime.dispatch.nested" [Manifest, Upstream]
        "`nested` is boolean or `undocumented`; required."
        from "upstream validator"
        fix "Write `true`, `false` or `\"undocumented\"`";
    RuntimeDispatchBackground "runtime.dispatch.background" [Manifest, Upstream]
        "`background` is boolean or `undocumented`; required."
        from "upstream validator"
        fix "Write `true`, `false` or `\"undocumented\"`";
    RuntimeDispatchBackgroundDispatch "runtime.dispatch.background-dispatch" [Manifest, Upstream]
        "`backgroundDispatch` is boolean or `undocumented`; required."
        from "upstream validator"
        fix "Write `true`, `false` or `\"undocumented\"`";
    RuntimeDispatchSubagentToolkit "runtime.dispatch.subagent-toolkit" [Manifest, Upstream]
        "`subagentToolkit` is `full`, `read-only`, `built-in-only` or `undocumented`."
        from "upstream validator"
        fix "Use one of the known words";
    RuntimeDispatchMaxDepth "runtime.dispatch.max-depth" [Manifest, Upstream]
        "`maxDepth` is an integer of at least -1, or `undocumented`."
        from "upstream validator"
        fix "Write a number in the allowed range";
    RuntimeDispatchIsolation "runtime.dispatch.isolation" [Manifest, Upstream]
        "`isolation`, when present, is `harness-worktree`, `orchestrator-worktree`, `none` or `undocumented`."
        from "upstream validator"
        fix "Use one of the known words";
    RuntimeOrchestratorExecObject "runtime.orchestrator-exec.object" [Manifest, Upstream]
        "`orchestratorExec`, when present, is an object."
        from "upstream validator"
        fix "Write a JSON object";
    RuntimeOrchestratorExecReservedKey "runtime.orchestrator-exec.reserved-key" [Manifest, Upstream]
        "It has no own key that is a reserved property name."
        from "upstream validator"
        fix "Choose another name: `__proto__`, `constructor` and `prototype` cannot be used";
    RuntimeOrchestratorExecCommand "runtime.orchestrator-exec.command" [Manifest, Upstream]
        "`command` is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    RuntimeOrchestratorExecCommandReservedName "runtime.orchestrator-exec.command-reserved-name" [Manifest, Upstream]
        "`command` is not a reserved property name."
        from "upstream validator"
        fix "Choose another name: `__proto__`, `constructor` and `prototype` cannot be used";
    RuntimeOrchestratorExecArgs "runtime.orchestrator-exec.args" [Manifest, Upstream]
        "`args`, when present, is an array of strings."
        from "upstream validator"
        fix "Write a JSON array; `[]` when there is nothing to list";
    RuntimeOrchestratorExecCwdFlag "runtime.orchestrator-exec.cwd-flag" [Manifest, Upstream]
        "`cwdFlag` is absent, null or a string."
        from "upstream validator"
        fix "Write a text or `null`";
    RuntimeOrchestratorExecPromptFlag "runtime.orchestrator-exec.prompt-flag" [Manifest, Upstream]
        "`promptFlag` is absent, null or a string."
        from "upstream validator"
        fix "Write a text or `null`";
    RuntimeHarnessIsolationFlagString "runtime.harness-isolation-flag.string" [Manifest, Upstream]
        "`harnessIsolationFlag`, when present, is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    RuntimeGateInstallSurfaceHooksSurface "runtime.gate.install-surface-hooks-surface" [Manifest, Upstream]
        "When both are strings and `installSurface` is known, `hooksSurface` is in the set paired with it."
        from "upstream validator"
        fix "Use a `hooksSurface` that belongs to the `installSurface`";
    RuntimeGateExtendedEventsGemini "runtime.gate.extended-events-gemini" [Manifest, Upstream]
        "Any of `BeforeAgent`, `AfterAgent`, `BeforeModel` requires `hookEvents` to be `gemini`."
        from "upstream (R D7a calls the two axes independent)"
        fix "Set `hookEvents` to `gemini`, or remove the events";
    RuntimeGateExtendedEventsClaude "runtime.gate.extended-events-claude" [Manifest, Upstream]
        "Any of `SubagentStop`, `Stop`, `PreCompact`, `FileChanged`, `SubagentStart` requires `hookEvents` to be `claude`."
        from "upstream (R D7a calls the two axes independent)"
        fix "Set `hookEvents` to `claude`, or remove the events";
    RuntimeLocalConfigDirConfined "runtime.local-config-dir.confined" [Manifest, Ours]
        "`localConfigDir` is one plain folder name, not `.` or `..`."
        from "ADR-1016 D9 (write-confinement)"
        fix "Write a folder name such as `.example`";
    RuntimeArtifactLayoutDestConfined "runtime.artifact-layout.dest-confined" [Manifest, Ours]
        "`destSubpath` and `home` are relative paths that stay inside their root."
        from "ADR-1016 D9 (write-confinement)"
        fix "Name a folder below the root such as `skills`";
    RuntimeArtifactLayoutPrefixConfined "runtime.artifact-layout.prefix-confined" [Manifest, Ours]
        "`prefix` has no separator, no `..` and no control or invisible character: it begins file names."
        from "decision D-19"
        fix "Write a short prefix such as `acme-`, or an empty text";
    RuntimeConfigHomeConfined "runtime.config-home.confined" [Manifest, Ours]
        "`name` and `parent` of a config home are relative paths that stay below their root."
        from "ADR-1016 D9 (write-confinement)"
        fix "Name a folder such as `.example`";
    ReviewerBodyRequired "reviewer.body.required" [Manifest, Upstream]
        "A reviewer capability has a `reviewer` key."
        from "upstream validator"
        fix "Add the key";
    ReviewerRuntimeForbidden "reviewer.runtime.forbidden" [Manifest, Upstream]
        "A reviewer capability has no `runtime` key (null counts)."
        from "upstream validator"
        fix "Remove the key";
    ReviewerForbiddenField "reviewer.forbidden-field" [Manifest, Upstream]
        "A reviewer capability has none of the seven feature-only fields (null counts)."
        from "upstream validator"
        fix "Remove the key";
    ReviewerBodyObject "reviewer.body.object" [Manifest, Upstream]
        "A present `reviewer` value is an object; when not, no other lane rule runs."
        from "upstream validator"
        fix "Write a JSON object";
    ReviewerSlugNonEmpty "reviewer.slug.non-empty" [Manifest, Upstream]
        "`slug` is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    ReviewerSlugReservedName "reviewer.slug.reserved-name" [Manifest, Upstream]
        "`slug` is not a reserved property name."
        from "upstream validator"
        fix "Choose another name: `__proto__`, `constructor` and `prototype` cannot be used";
    ReviewerSlugPattern "reviewer.slug.pattern" [Manifest, Upstream]
        "`slug` matches `[a-z0-9][a-z0-9_-]*`."
        from "upstream validator"
        fix "Use lowercase letters, digits and hyphens";
    ReviewerFlagsArray "reviewer.flags.array" [Manifest, Upstream]
        "`flags` is an array."
        from "upstream validator"
        fix "Write a JSON array; `[]` when there is nothing to list";
    ReviewerFlagsNonEmpty "reviewer.flags.non-empty" [Manifest, Upstream]
        "`flags` has at least one entry."
        from "upstream validator"
        fix "Write a text that is not empty";
    ReviewerFlagsPattern "reviewer.flags.pattern" [Manifest, Upstream]
        "Each flag is a string matching `--[a-z0-9][a-z0-9-]*`."
        from "upstream validator"
        fix "Use lowercase letters, digits and hyphens";
    ReviewerFlagsDuplicate "reviewer.flags.duplicate" [Manifest, Upstream]
        "No flag appears twice (only well-formed flags are compared)."
        from "upstream validator"
        fix "Remove the repeated flag";
    ReviewerTransportEnum "reviewer.transport.enum" [Manifest, Upstream]
        "`transport` is `spawn` or `openai-http`."
        from "upstream validator"
        fix "Use one of the known words";
    ReviewerProbeObject "reviewer.probe.object" [Manifest, Upstream]
        "`probe` is an object."
        from "upstream validator"
        fix "Write a JSON object";
    ReviewerProbeKindEnum "reviewer.probe.kind-enum" [Manifest, Upstream]
        "`probe.kind` is `command-exists`, `command-capability` or `http-reachable`; when not, no other probe rule runs."
        from "upstream validator"
        fix "Use one of the known words";
    ReviewerProbeUnknownField "reviewer.probe.unknown-field" [Manifest, Upstream]
        "`probe` has only the keys `kind`, `binary`, `needle`, `timeoutMs`, `hostConfigKey`, `path` (reserved property names are tolerated)."
        from "upstream validator"
        fix "Remove the key";
    ReviewerProbeBinaryRequired "reviewer.probe.binary-required" [Manifest, Upstream]
        "`binary` is a non-empty string for both command kinds."
        from "upstream validator"
        fix "Add the key";
    ReviewerProbeBinaryForbidden "reviewer.probe.binary-forbidden" [Manifest, Upstream]
        "`binary` is absent for `http-reachable`."
        from "upstream validator"
        fix "Remove the key";
    ReviewerProbeNeedleRequired "reviewer.probe.needle-required" [Manifest, Upstream]
        "`needle` is a non-empty string for `command-capability`."
        from "upstream validator"
        fix "Add the key";
    ReviewerProbeNeedleForbidden "reviewer.probe.needle-forbidden" [Manifest, Upstream]
        "`needle` is absent for the other kinds."
        from "upstream validator"
        fix "Remove the key";
    ReviewerProbeHostConfigKeyRequired "reviewer.probe.host-config-key-required" [Manifest, Upstream]
        "`hostConfigKey` is a non-empty string for `http-reachable`."
        from "upstream validator"
        fix "Add the key";
    ReviewerProbeHostConfigKeyForbidden "reviewer.probe.host-config-key-forbidden" [Manifest, Upstream]
        "`hostConfigKey` is absent for command kinds."
        from "upstream validator"
        fix "Remove the key";
    ReviewerProbePathRequired "reviewer.probe.path-required" [Manifest, Upstream]
        "`path` is a non-empty string for `http-reachable`."
        from "upstream validator"
        fix "Add the key";
    ReviewerProbePathForbidden "reviewer.probe.path-forbidden" [Manifest, Upstream]
        "`path` is absent for command kinds."
        from "upstream validator"
        fix "Remove the key";
    ReviewerProbeTimeoutRequired "reviewer.probe.timeout-required" [Manifest, Upstream]
        "`timeoutMs` is an integer above 0 for `command-capability` and `http-reachable`."
        from "upstream validator"
        fix "Write a number in the allowed range";
    ReviewerProbeTimeoutForbidden "reviewer.probe.timeout-forbidden" [Manifest, Upstream]
        "`timeoutMs` is absent for `command-exists`."
        from "upstream validator"
        fix "Remove the key";
    ReviewerInvokeObject "reviewer.invoke.object" [Manifest, Upstream]
        "`invoke` is an object."
        from "upstream validator"
        fix "Write a JSON object";
    ReviewerInvokeMixedTransports "reviewer.invoke.mixed-transports" [Manifest, Upstream]
        "`invoke` does not carry keys of both transports."
        from "upstream validator"
        fix "Keep the keys of one transport";
    ReviewerInvokeFieldForbidden "reviewer.invoke.field-forbidden" [Manifest, Upstream]
        "`invoke` carries no key that belongs to the other transport."
        from "upstream validator"
        fix "Remove the key";
    ReviewerInvokeBinary "reviewer.invoke.binary" [Manifest, Upstream]
        "spawn: `binary` is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    ReviewerInvokeArgsArray "reviewer.invoke.args-array" [Manifest, Upstream]
        "spawn: `args` is an array."
        from "upstream validator"
        fix "Write a JSON array; `[]` when there is nothing to list";
    ReviewerInvokeArgsEntry "reviewer.invoke.args-entry" [Manifest, Upstream]
        "spawn: each argument is a string."
        from "upstream validator"
        fix "Write a text that is not empty";
    ReviewerInvokePromptChannel "reviewer.invoke.prompt-channel" [Manifest, Upstream]
        "spawn: `promptChannel` is `stdin`, `argv`, `argv-file-ref` or `none`."
        from "upstream validator"
        fix "Use one of the known words";
    ReviewerInvokeOutputChannel "reviewer.invoke.output-channel" [Manifest, Upstream]
        "spawn: `outputChannel` is `stdout` or `file-arg`."
        from "upstream validator"
        fix "Use one of the known words";
    ReviewerInvokeOutputArgRequired "reviewer.invoke.output-arg-required" [Manifest, Upstream]
        "spawn with `file-arg`: `outputArg` is a non-empty string."
        from "upstream validator"
        fix "Add the key";
    ReviewerInvokeOutputArgForbidden "reviewer.invoke.output-arg-forbidden" [Manifest, Upstream]
        "spawn with `stdout`: `outputArg` is absent."
        from "upstream validator"
        fix "Remove the key";
    ReviewerInvokeModelArg "reviewer.invoke.model-arg" [Manifest, Upstream]
        "spawn: `modelArg` is null or a non-empty string; required."
        from "upstream validator"
        fix "Write a text that is not empty";
    ReviewerInvokeEffortChannel "reviewer.invoke.effort-channel" [Manifest, Upstream]
        "spawn: `effortChannel` is `none`, `argv` or `env`."
        from "upstream validator"
        fix "Use one of the known words";
    ReviewerInvokeHostConfigKey "reviewer.invoke.host-config-key" [Manifest, Upstream]
        "openai-http: `hostConfigKey` is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    ReviewerInvokePath "reviewer.invoke.path" [Manifest, Upstream]
        "openai-http: `path` is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    ReviewerInvokeModelDiscovery "reviewer.invoke.model-discovery" [Manifest, Upstream]
        "openai-http: `modelDiscovery` is `none` or `first-from-models-endpoint`."
        from "upstream validator"
        fix "Use one of the known words";
    ReviewerInvokeEffortNone "reviewer.invoke.effort-none" [Manifest, Upstream]
        "openai-http: `effortChannel` is `none`."
        from "upstream validator"
        fix "Use one of the known words";
    ReviewerTimeoutFloorPositiveInteger "reviewer.timeout-floor.positive-integer" [Manifest, Upstream]
        "`timeoutFloorMs` is an integer above 0."
        from "upstream validator"
        fix "Write a number in the allowed range";
    ReviewerEmptyOutputEnum "reviewer.empty-output.enum" [Manifest, Upstream]
        "`emptyOutput` is `stub-with-stderr` or `handler-owned`."
        from "upstream validator"
        fix "Use one of the known words";
    ReviewerReviewsSectionNonEmpty "reviewer.reviews-section.non-empty" [Manifest, Upstream]
        "`reviewsSection` is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    ReviewerEvidenceClassEnum "reviewer.evidence-class.enum" [Manifest, Upstream]
        "`evidenceClass` is `source-grounded` or `diff-only`."
        from "upstream validator"
        fix "Use one of the known words";
    ReviewerRequiresBinariesArray "reviewer.requires-binaries.array" [Manifest, Upstream]
        "`requiresBinaries` is an array."
        from "upstream validator"
        fix "Write a JSON array; `[]` when there is nothing to list";
    ReviewerRequiresBinariesEntry "reviewer.requires-binaries.entry" [Manifest, Upstream]
        "Each entry is a non-empty string."
        from "upstream validator"
        fix "Write a text that is not empty";
    ReviewerModelConfigKeyStringOrNull "reviewer.model-config-key.string-or-null" [Manifest, Upstream]
        "`modelConfigKey` is absent, null or a non-empty string."
        from "upstream validator"
        fix "Write `null` or leave the key out";
    ReviewerPromptBudgetKeyStringOrNull "reviewer.prompt-budget-key.string-or-null" [Manifest, Upstream]
        "`promptBudgetKey` is null or a non-empty string; required."
        from "upstream validator"
        fix "Write `null` or leave the key out";
    ReviewerHandlerEnum "reviewer.handler.enum" [Manifest, Upstream]
        "`handler` is null, `antigravity`, `openai-compatible` or `opencode`; required."
        from "upstream validator"
        fix "Use one of the known words";
    ReviewerWarnUnknownField "reviewer.warn.unknown-field" [Manifest, Upstream]
        "Warning only: a lane key outside the thirteen known ones is ignored and reported."
        from "upstream validator"
        fix "Remove the key or correct its spelling";
    ReviewerReviewsSectionSingleLine "reviewer.reviews-section.single-line" [Manifest, Ours]
        "`reviewsSection` is one line."
        from "suggested rule"
        fix "Remove the line break";
    SliceObject "slice.object" [Compose, Upstream]
        "A config slice entry is an object."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Write a JSON object";
    SliceTypeEnum "slice.type-enum" [Compose, Upstream]
        "`type` is `boolean`, `string`, `number` or `enum`."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Use one of the known words";
    SliceDefaultRequired "slice.default-required" [Compose, Upstream]
        "`default` exists."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Add `default`";
    SliceDefaultBoolean "slice.default-boolean" [Compose, Upstream]
        "boolean: `default` is a boolean."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Write `true` or `false`";
    SliceDefaultString "slice.default-string" [Compose, Upstream]
        "string: `default` is a string."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Write a text that is not empty";
    SliceDefaultNumber "slice.default-number" [Compose, Upstream]
        "number: `default` is a number."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Write a number in the allowed range";
    SliceDefaultFinite "slice.default-finite" [Compose, Upstream]
        "number: `default` is finite."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Write a number in the allowed range";
    SliceEnumValuesRequired "slice.enum-values-required" [Compose, Upstream]
        "enum: `values` is a non-empty array (examined only when `default` exists)."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Add `values` with at least one word";
    SliceEnumValuesStrings "slice.enum-values-strings" [Compose, Upstream]
        "enum: every value is a string."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Write a text that is not empty";
    SliceEnumDefaultString "slice.enum-default-string" [Compose, Upstream]
        "enum: `default` is a string."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Write a text that is not empty";
    SliceEnumDefaultMember "slice.enum-default-member" [Compose, Upstream]
        "enum: `default` is one of the values, compared exactly."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Use one of `values` as the default";
    SliceDescription "slice.description" [Compose, Upstream]
        "`description` is a non-empty string."
        from "overlay model, \"When the whole compose fails\" (config-slice shape)"
        fix "Write a text that is not empty";
    ComposeConfigFormatInstallSurfaceParity "compose.config-format.install-surface-parity" [Compose, Upstream]
        "A runtime's `configFormat` is the one paired with its `installSurface`."
        from "overlay model, \"When the whole compose fails\" (format mismatch)"
        fix "Use the `configFormat` that belongs to the `installSurface`";
    ComposeClusterSetMatch "compose.cluster.set-match" [Compose, Upstream]
        "A capability that owns skills and whose id equals a built-in skill-cluster name owns exactly that cluster's skills."
        from "upstream validator"
        fix "Choose another id, or own exactly the skills of that cluster";
    CrossSkillSingleOwner "cross.skill.single-owner" [Cross, Upstream]
        "A skill stem is listed once across all features (twice in one list also fails)."
        from "ADR-1244 D2; overlay model, \"First-party always wins\""
        fix "Choose a name that no other capability uses";
    CrossAgentSingleOwner "cross.agent.single-owner" [Cross, Upstream]
        "The same for agent stems."
        from "ADR-1244 D2; overlay model, \"First-party always wins\""
        fix "Choose a name that no other capability uses";
    CrossCommandFamilySingleOwner "cross.command-family.single-owner" [Cross, Upstream]
        "A command family is declared once across all features."
        from "overlay model, \"First-party always wins\""
        fix "Choose a name that no other capability uses";
    CrossConfigKeySingleOwner "cross.config-key.single-owner" [Cross, Upstream]
        "A config key is declared by one capability, whatever its role."
        from "ADR-1244 D2; overlay model, \"First-party always wins\""
        fix "Choose a name that no other capability uses";
    CrossConfigKeyCentralCollision "cross.config-key.central-collision" [Cross, Upstream]
        "A config key is not one of the central exact keys."
        from "overlay model, \"First-party always wins\""
        fix "Choose a name that no other capability uses";
    CrossConfigKeyCentralPatternCollision "cross.config-key.central-pattern-collision" [Cross, Upstream]
        "A config key matches no central dynamic pattern."
        from "overlay model, \"First-party always wins\" (patterns are upstream)"
        fix "Choose a name that no other capability uses";
    CrossReviewerSlugUnique "cross.reviewer.slug-unique" [Cross, Upstream]
        "Lane slugs are unique."
        from "upstream validator"
        fix "Choose a name that no other capability uses";
    CrossReviewerFlagUnique "cross.reviewer.flag-unique" [Cross, Upstream]
        "Flags are unique over the flattened set of all lanes."
        from "upstream validator"
        fix "Choose a name that no other capability uses";
    CrossReviewerSectionUnique "cross.reviewer.section-unique" [Cross, Upstream]
        "`reviewsSection` values are unique."
        from "upstream validator"
        fix "Choose a name that no other capability uses";
    CrossRequiresExists "cross.requires.exists" [Cross, Upstream]
        "Every required id is in the set."
        from "ADR-1244 D2"
        fix "Install the required capability first, or remove the entry";
    CrossRequiresAcyclic "cross.requires.acyclic" [Cross, Upstream]
        "The `requires` graph has no cycle, self loops included."
        from "ADR-1244 D2"
        fix "Remove one of the entries that close the circle";
    CrossRequiresTierMonotone "cross.requires.tier-monotone" [Cross, Upstream]
        "No capability directly requires one of a higher tier (core < standard < full)."
        from "ADR-1244 D2"
        fix "Raise the tier of this capability, or do not require the other one";
    CrossRuntimeCompatKnownRuntime "cross.runtime-compat.known-runtime" [Cross, Upstream]
        "Each concrete id in `supported`/`unsupported` names a runtime capability in the set."
        from "upstream validator"
        fix "Use `*` or the id of an installed runtime";
    CrossRuntimeCompatNotesKnownRuntime "cross.runtime-compat.notes-known-runtime" [Cross, Upstream]
        "Each concrete `notes` key names a runtime capability in the set."
        from "upstream validator"
        fix "Use `*` or the id of an installed runtime";
    CrossArtifactSingleProducerPerPoint "cross.artifact.single-producer-per-point" [Cross, Upstream]
        "No two steps at one point produce the same artifact."
        from "ADR-1244 D2"
        fix "Give the artifact another name, or produce it at another point";
    CrossConsumesNeverProduced "cross.consumes.never-produced" [Cross, Upstream]
        "A step's input is a host artifact already published at that point, or some step produces it."
        from "overlay model, \"First-party always wins\" (consumes-satisfiability)"
        fix "Consume an artifact that some step or the host produces";
    CrossConsumesSelfOnly "cross.consumes.self-only" [Cross, Upstream]
        "The only producer of the input is not the step itself."
        from "overlay model, \"First-party always wins\" (consumes-satisfiability)"
        fix "Consume an artifact that another step produces";
    CrossConsumesTooLate "cross.consumes.too-late" [Cross, Upstream]
        "Some other step produces the input at the same or an earlier point."
        from "overlay model, \"First-party always wins\" (consumes-satisfiability)"
        fix "Move the step after the one that produces the artifact";
    CrossConfigKeyNested "cross.config-key.nested" [Cross, Ours]
        "No config key is a dotted prefix or extension of a key that another capability or the host owns."
        from "composition oddity O4"
        fix "Choose keys below a word of your own, such as `acme.enabled`";
    CrossConfigKeyRuntimeState "cross.config-key.runtime-state" [Cross, Ours]
        "A config key is not one of the keys in which the host keeps its state."
        from "central config schema (runtime-state keys)"
        fix "Choose a name that the host does not use";
    OrderStepsAcyclic "order.steps.acyclic" [Order, Upstream]
        "The produces/consumes graph among the steps of one point has no cycle."
        from "overlay model, \"When the whole compose fails\" (topological cycle)"
        fix "Break the circle: let one step not consume what the other produces";
    OrderContributionsAcyclic "order.contributions.acyclic" [Order, Upstream]
        "The same among the contributions of one point."
        from "overlay model, \"When the whole compose fails\" (topological cycle)"
        fix "Break the circle: let one contribution not consume what the other produces";
    OverlayIdReservedPrefix "overlay.id.reserved-prefix" [Load, Upstream]
        "The id of an installed capability does not start with `gsd-`, `gsd-core-` or `anthropic-`."
        from "ADR-1244 D5 rule 6; overlay model, \"First-party always wins\""
        fix "Choose an id that does not start with `gsd-` or `anthropic-`";
    OverlayIdFirstParty "overlay.id.first-party" [Load, Upstream]
        "The id is not taken by a first-party or an already accepted capability."
        from "ADR-1244 D2; overlay model, \"First-party always wins\""
        fix "Choose a name that no other capability uses";
    OverlaySkillClaimed "overlay.skill.claimed" [Load, Upstream]
        "No skill stem is already owned."
        from "ADR-1244 D2; overlay model, \"First-party always wins\""
        fix "Choose a name that no other capability uses";
    OverlayAgentClaimed "overlay.agent.claimed" [Load, Upstream]
        "No agent stem is already owned."
        from "ADR-1244 D2; overlay model, \"First-party always wins\""
        fix "Choose a name that no other capability uses";
    OverlayConfigKeyClaimed "overlay.config-key.claimed" [Load, Upstream]
        "No config key is already owned."
        from "overlay model, \"First-party always wins\""
        fix "Choose a name that no other capability uses";
    OverlayCommandFamilyClaimed "overlay.command-family.claimed" [Load, Upstream]
        "No command family is already owned."
        from "overlay model, \"First-party always wins\""
        fix "Choose a name that no other capability uses";
    OverlayEnginesGsd "overlay.engines.gsd" [Load, Upstream]
        "The running host version satisfies `engines.gsd` when that is a non-empty string."
        from "ADR-1244 D1, D6; overlay model, \"When a single overlay fails\""
        fix "Install a version that supports this host, or update the host";
    OverlayFragmentEscapesBundle "overlay.fragment.escapes-bundle" [Load, Upstream]
        "A `fragment.path` resolves inside the bundle folder."
        from "ADR-1244 D5 rule 5"
        fix "Name a file inside the bundle";
    OverlayFragmentUnreadable "overlay.fragment.unreadable" [Load, Upstream]
        "A `fragment.path` without `inline` names a readable regular file of at most 8 MiB."
        from "overlay model, \"When a single overlay fails\" (last paragraph)"
        fix "Add the file to the bundle: regular, at most 8 MiB";
    OverlayDescriptorDestConfined "overlay.descriptor.dest-confined" [Load, Upstream]
        "When the loader is told the approved config home, every layout `destSubpath` of an installed runtime resolves inside it."
        from "ADR-1016 D9 (write-confinement to configHome)"
        fix "Name a folder below the config home";
    OverlayCommandFamilyBuiltIn "overlay.command-family.built-in" [Load, Ours]
        "A command family is not a built-in command word of the host."
        from "composition oddity O5"
        fix "Choose another family name";
    BundleManifestPresent "bundle.manifest.present" [Bundle, Ours]
        "The folder has a `capability.json` at its root."
        from "ADR-1244 Context (folder `capabilities/<id>/`)"
        fix "Name the folder that holds `capability.json`, or write one";
    BundleMemberName "bundle.member.name" [Bundle, Ours]
        "Each file and folder of the bundle has a name that every platform can hold."
        from "ADR-1244 D5 rule 5; decision D-19"
        fix "Rename the file or folder";
    BundleMemberTwin "bundle.member.twin" [Bundle, Ours]
        "No two members of the bundle have names that differ only in case or spelling."
        from "decision D-19"
        fix "Rename one of the two";
    BundleMemberRegular "bundle.member.regular" [Bundle, Ours]
        "The bundle holds regular files and folders only: no symlink, pipe, socket or device."
        from "ADR-1244 D5 rule 5; decision D-20"
        fix "Replace it by a copy of what it stands for, or remove it";
    BundleMemberReadable "bundle.member.readable" [Bundle, Ours]
        "Each member of the bundle can be read."
        from "decision D-20"
        fix "Give yourself the permission to read it";
    BundleSize "bundle.size" [Bundle, Ours]
        "The bundle has at most 10000 files and folders and at most 16 MiB of content."
        from "ADR-1244 D5 rule 8 (what is hashed for an agreement)"
        fix "Leave out what people do not need, or let a command fetch it";
    BundleFileDeclared "bundle.file.declared" [Bundle, Ours]
        "Each declared hook script, command module and executable is a file of the bundle."
        from "ADR-1244 D5 rule 2; decision D-05"
        fix "Add the file to the bundle, or correct the path";
    BundleWarnSkillFile "bundle.warn.skill-file" [Bundle, Ours]
        "Warning only: each declared skill has its text in `skills/<name>/SKILL.md`."
        from "ADR-1244 Context; decision D-17"
        fix "Add the file, or remove the skill from the list";
    BundleWarnAgentFile "bundle.warn.agent-file" [Bundle, Ours]
        "Warning only: each declared agent has its text in `agents/<name>.md`."
        from "ADR-1244 Context; decision D-17"
        fix "Add the file, or remove the agent from the list";
    ManifestWarnUnknownMember "manifest.warn.unknown-member" [Bundle, Ours]
        "Warning only: a member that nothing reads is ignored and reported."
        from "manifest reference, unknown keys"
        fix "Correct the spelling, or remove the member";
}
