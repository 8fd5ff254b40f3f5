//! The format as a JSON Schema, for those who write indexes with other tools.

use serde_json::{Value, json};

use super::FORMAT;
use super::entry::{ARCHIVE_ENDINGS, MAX_VERSIONS};

/// Three numbers, prerelease, build.
const VERSION: &str =
    r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$";
const NAME: &str = "^(@[a-z][a-z0-9-]*/)?[a-z][a-z0-9-]*$";
const DIGEST: &str = "^sha512-[A-Za-z0-9+/]{86}==$";

/// The schema of an entry, with that of `config.json` among its definitions.
#[must_use]
pub fn schema() -> Value {
    let endings = ARCHIVE_ENDINGS.map(|end| end.replace('.', "\\.")).join("|");
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Entry of a registry index",
        "description": "entries/<first two digits of the SHA-256 of the name>/<name>.json",
        "type": "object",
        "required": ["format", "name", "versions"],
        "properties": {
            "format": {"const": FORMAT},
            "name": {"type": "string", "pattern": NAME, "maxLength": 200},
            "title": {"type": "string"},
            "publisher": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "key": {
                        "description": "Public key of minisign, the second line of its file",
                        "type": "string",
                        "pattern": "^RW[Q-T][A-Za-z0-9+/]{53}$"
                    }
                }
            },
            "compatVersions": {
                "description": "Version to range of GSD: the publisher's later word on older versions",
                "type": "object",
                "additionalProperties": {"type": "string"}
            },
            "versions": {"type": "array", "maxItems": MAX_VERSIONS, "items": {"$ref": "#/$defs/version"}}
        },
        "$defs": {
            "version": {
                "type": "object",
                "required": ["version", "contentHash"],
                "oneOf": [
                    {"required": ["archive", "integrity"], "not": {"required": ["source"]}},
                    {"required": ["source"], "not": {"required": ["archive"]}}
                ],
                "if": {"required": ["source"], "properties": {"source": {"pattern": "^(git\\+|oci://|ssh://)|#|\\.git(//|$)"}}},
                "then": {},
                "else": {"required": ["integrity"]},
                "properties": {
                    "version": {"type": "string", "pattern": VERSION},
                    "archive": {
                        "description": "Path of an archive below the folder of the index",
                        "type": "string",
                        "pattern": format!("^[^/\\\\:].*({endings})$")
                    },
                    "source": {
                        "description": "A source that names one content: a commit, an exact version, an archive, a digest",
                        "type": "string",
                        "minLength": 1
                    },
                    "integrity": {
                        "description": "Digest of the archive, in the form of Subresource Integrity",
                        "type": "string",
                        "pattern": DIGEST
                    },
                    "contentHash": {
                        "description": "Hash of the bundle: `gsdctl hash DIR`",
                        "type": "string",
                        "pattern": DIGEST
                    },
                    "signature": {
                        "description": "Signature of minisign, all four lines of its file: over the archive, or, where there is a source instead, over the content hash and a line feed",
                        "type": "string",
                        "maxLength": 4096,
                        "pattern": "^untrusted comment:.*\n[A-Za-z0-9+/=]+\r?\ntrusted comment: .*\n[A-Za-z0-9+/=]+\r?\n?$"
                    },
                    "engines": {"type": "object", "properties": {"gsd": {"type": "string", "minLength": 1}}},
                    "yanked": {
                        "description": "Taken back: true, or the reason",
                        "type": ["boolean", "string"]
                    }
                }
            },
            "config": {
                "description": "config.json, which marks the folder as an index",
                "type": "object",
                "required": ["format"],
                "properties": {"format": {"const": FORMAT}, "title": {"type": "string"}}
            }
        }
    })
}
