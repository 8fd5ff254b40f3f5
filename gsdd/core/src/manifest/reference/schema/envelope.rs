//! The members that every role has.

use serde_json::{Value, json};

use super::forms::{free, list, object, shaped, text, texts, with, word};
use crate::manifest::vocabulary::{ROLES, TIERS};

/// SemVer 2.0.0, as its specification gives it.
const SEMVER: &str = r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-((0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?(\+([0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*))?$";
/// The characters of a range; whether it can be satisfied is beyond a schema.
const RANGE: &str = r"^[0-9A-Za-z.+ |<>=~^*()-]*[0-9*xX][0-9A-Za-z.+ |<>=~^*()-]*$";
/// An id; the reserved property names are told apart beside it.
pub(super) const ID: &str = "^[a-z][a-z0-9-]*$";

/// The envelope.
pub(super) fn envelope() -> Value {
    let id = with(
        shaped(
            ID,
            "Name of the capability; equals the name of its folder. Put the name of your team in front.",
        ),
        "not",
        json!({"enum": crate::ids::RESERVED_PROPERTY_NAMES}),
    );
    let engines = object(
        "What the capability needs of its surroundings.",
        &[],
        [("gsd", shaped(RANGE, "Range of GSD versions, for example `>=1.6.0`. Absent: any."))],
    );
    let compat = json!({
        "type": "object",
        "description": "Older versions of this capability, each with the range of GSD versions it works with.",
        "propertyNames": {"pattern": SEMVER},
        "additionalProperties": shaped(RANGE, "Range; a bare version is a minimum."),
    });
    let integrity = shaped("^sha512-[A-Za-z0-9+/]{86}==$", "Digest of the published archive.");
    let provenance = object(
        "Where the content was made.",
        &["sourceRepo", "commit"],
        [("sourceRepo", text("Repository.")), ("commit", text("Commit."))],
    );
    object(
        "Members of every capability.",
        &["id", "role", "version", "title", "description", "tier", "requires"],
        [
            ("$schema", free("Schema for editors; nothing else reads it.")),
            ("id", id),
            (
                "role",
                word(
                    ROLES,
                    "What it is: `feature` for nearly all; `runtime` describes a host, `reviewer` a second opinion.",
                ),
            ),
            ("version", shaped(SEMVER, "Version of the capability: full SemVer, such as `1.2.0`.")),
            ("title", text("A few words for lists.")),
            ("description", text("One or two sentences for people who decide whether to install it.")),
            ("tier", word(TIERS, "From which profile on its skills are offered.")),
            ("requires", texts("Ids of capabilities it cannot do without; `[]` when there are none.")),
            ("engines", with(engines, "additionalProperties", json!(true))),
            ("compatVersions", compat),
            ("integrity", integrity),
            ("provenance", provenance),
            ("author", free("Who wrote it: a text, or an object with name, email and url.")),
            ("homepage", free("Web page.")),
            ("repository", free("Where the source is kept.")),
            ("license", free("SPDX id of the licence.")),
            ("keywords", free("Words to find it by.")),
            ("mcpServers", mcp_servers()),
        ],
    )
}

/// No rule looks at the servers: the forms are suggestions, anything else is accepted.
fn mcp_servers() -> Value {
    let config = object(
        "One server.",
        &[],
        [
            (
                "command",
                json!({"type": "string", "description": "Program to start; a file of the bundle or one of the machine."}),
            ),
            ("args", list(&json!(true), "Its arguments.")),
            ("env", json!({"type": "object", "description": "Its environment."})),
            ("cwd", json!({"type": "string", "description": "Its working directory."})),
            ("type", json!({"type": "string", "description": "`stdio`, `http` or `sse`."})),
            ("url", json!({"type": "string", "description": "Endpoint of a remote server."})),
            ("headers", json!({"type": "object", "description": "Headers for a remote server."})),
        ],
    );
    let by_name =
        json!({"type": "object", "additionalProperties": with(config, "additionalProperties", json!(true))});
    json!({
        "description": "MCP servers that hosts start or talk to, by name.",
        "anyOf": [by_name, true],
    })
}
