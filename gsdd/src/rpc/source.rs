//! `source.*`: what a source is, and what would be taken from it.

use gsd_proto::api::source::{Hash, HashParams, HashResult, Parse, ParseParams, ParseResult};
use gsd_proto::{Code, WireError};
use gsdd_core::source::{GitRef, NpmSelector, SourceSpec};
use gsdd_core::text::{shown, shown_up_to};
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;

use super::register_blocking;
use crate::app::App;
use crate::fs::bundle_tree::{BundleTree, Reading};
use crate::{lifecycle, source};

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register_blocking::<Parse, _>(module, parse)?;
    register_blocking::<Hash, _>(module, hash)
}

fn parse(app: &App, params: ParseParams) -> Result<ParseResult, WireError> {
    let spec = source::parse(&params.spec)?;
    let mut result = ParseResult {
        snapshot: app.engine.generation(),
        kind: spec.kind().name().to_owned(),
        target: shown_up_to(&spec.target(), 4096),
        host: spec.host().map(shown),
        recorded: shown_up_to(&spec.recorded(), 4096),
        ..ParseResult::default()
    };
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    match &spec {
        SourceSpec::Git { reference, subdir, .. } => {
            result.reference = given(reference.to_string());
            result.folder = subdir.as_ref().map(|folder| folder.as_str().to_owned());
            result.pinned = matches!(reference, GitRef::Commit(_));
        }
        SourceSpec::Npm { selector, .. } => {
            result.selector = given(selector.as_str().to_owned());
            result.pinned = matches!(selector, NpmSelector::Exact(_));
        }
        SourceSpec::Registry { registry, selector, .. } => {
            result.registry.clone_from(registry);
            result.selector.clone_from(selector);
        }
        SourceSpec::Oci { tag, digest, .. } => {
            result.selector.clone_from(tag);
            result.pinned = digest.is_some();
        }
        SourceSpec::Local { .. } | SourceSpec::Tarball { .. } => {}
    }
    Ok(result)
}

fn hash(app: &App, params: HashParams) -> Result<HashResult, WireError> {
    let folder = params.ctx.cwd.join(&params.dir);
    if !folder.exists() {
        let told = shown(&params.dir.to_string_lossy());
        return Err(WireError::new(Code::NotFound, format!("there is no folder {told}")).at_file(folder));
    }
    let tree =
        BundleTree::read(&folder, Reading::Installed).map_err(|refusal| lifecycle::from_tree(&refusal))?;
    Ok(HashResult {
        snapshot: app.engine.generation(),
        content_hash: tree.content_hash().as_str().to_owned(),
        files: tree.files.len() as u64,
        bytes: tree.files.values().map(|file| file.bytes.len() as u64).sum(),
        ..HashResult::default()
    })
}
