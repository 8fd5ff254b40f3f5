//! Configuration values, already read, as the loop sees them.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::ids::is_reserved_property_name;
use crate::manifest::ConfigSlice;
use crate::registry::Registry;

/// The configuration documents that exist, parsed; a document that is not an object counts as absent.
#[derive(Clone, Debug, Default)]
pub struct ConfigLayers {
    /// The main file: the workstream's when one is active, else the project's root file.
    pub main: Option<Value>,
    /// The project's root file, when it is another file than the main one.
    pub root: Option<Value>,
    /// Whether the folder that should hold the main file exists: then machine-wide defaults stay out.
    pub main_folder_exists: bool,
    /// Machine-wide defaults.
    pub defaults: Option<Value>,
}

/// Which document a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfigOrigin {
    /// The main file: the workstream's when one is active, else the project's root file.
    Main,
    /// The project's root file, below the workstream's.
    Root,
    /// Machine-wide defaults.
    Defaults,
    /// The capability that declares the key: nothing sets it, or with a value of another type.
    Declared,
}

/// Answers what a dotted key is set to.
#[derive(Clone, Debug, Default)]
pub struct ConfigView {
    loaded: Value,
    main: Option<Value>,
    root: Option<Value>,
    /// Whose keys have declared types and defaults.
    registry: Arc<Registry>,
}

impl ConfigView {
    /// Combines the layers with the keys of the composed capabilities.
    #[must_use]
    pub fn new(layers: ConfigLayers, registry: Arc<Registry>) -> Self {
        let usable = |layer: Option<Value>| layer.filter(Value::is_object);
        let (main, root, defaults) = (usable(layers.main), usable(layers.root), usable(layers.defaults));
        let loaded = match (&main, &root) {
            (Some(main), Some(root)) => merged(root.clone(), main),
            (Some(main), None) => main.clone(),
            (None, Some(root)) => root.clone(),
            (None, None) if layers.main_folder_exists => Value::Object(Map::new()),
            (None, None) => defaults.unwrap_or_else(|| Value::Object(Map::new())),
        };
        Self { loaded, main, root, registry }
    }

    /// The value of `key`; the first level that has it wins: a capability's own key with its declared type or its
    /// default, then the main file, then the root file.
    #[must_use]
    pub fn resolve(&self, key: &str) -> Option<&Value> {
        if let Some(slice) = self.slice(key) {
            return Some(
                walk(&self.loaded, key).filter(|value| slice.admits(value)).unwrap_or(&slice.default),
            );
        }
        walk(&self.loaded, key)
            .or_else(|| self.main.as_ref().and_then(|main| walk(main, key)))
            .or_else(|| self.root.as_ref().and_then(|root| walk(root, key)))
    }

    /// [`ConfigView::resolve`] with the document that the value comes from.
    #[must_use]
    pub fn resolve_with_origin(&self, key: &str) -> Option<(&Value, ConfigOrigin)> {
        let value = self.resolve(key)?;
        let in_layer = |layer: &Option<Value>| layer.as_ref().is_some_and(|at| walk(at, key).is_some());
        let set = walk(&self.loaded, key)
            .is_none_or(|found| self.slice(key).is_none_or(|slice| slice.admits(found)));
        let origin = if !set {
            ConfigOrigin::Declared
        } else if in_layer(&self.main) {
            ConfigOrigin::Main
        } else if in_layer(&self.root) {
            ConfigOrigin::Root
        } else if walk(&self.loaded, key).is_some() {
            ConfigOrigin::Defaults
        } else {
            ConfigOrigin::Declared
        };
        Some((value, origin))
    }

    /// Whether every key has the same value here as in `other`.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.loaded == other.loaded
            && self.main == other.main
            && self.root == other.root
            && (Arc::ptr_eq(&self.registry, &other.registry) || self.declared().eq(other.declared()))
    }

    fn declared(&self) -> impl Iterator<Item = (&str, &ConfigSlice)> {
        self.registry.config().map(|entry| (entry.key, entry.slice))
    }

    fn slice(&self, key: &str) -> Option<&ConfigSlice> {
        self.registry.config_entry(key).map(|entry| entry.slice)
    }

    /// Whether `key` resolves to something that switches a hook on.
    #[must_use]
    pub fn is_on(&self, key: &str) -> bool {
        self.resolve(key).is_some_and(is_truthy)
    }
}

/// Everything is true except `false`, 0, the empty string and null.
#[must_use]
pub fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(on) => *on,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

fn walk<'a>(document: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.').try_fold(document, |at, segment| {
        if is_reserved_property_name(segment) { None } else { at.as_object()?.get(segment) }
    })
}

/// Objects are merged member by member; lists and scalars are replaced; null wins.
fn merged(mut base: Value, over: &Value) -> Value {
    match (&mut base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over.iter().filter(|(key, _)| !is_reserved_property_name(key)) {
                let below = base.remove(key).unwrap_or(Value::Null);
                let value =
                    if below.is_object() && value.is_object() { merged(below, value) } else { value.clone() };
                base.insert(key.clone(), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
    base
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::compose::Scope;
    use crate::manifest::assess;
    use crate::registry::{Composed, HostContract};

    fn view(layers: ConfigLayers) -> ConfigView {
        let manifest = json!({
            "id": "acme", "role": "feature", "version": "1.0.0", "title": "Acme", "description": "D",
            "tier": "full", "requires": [], "runtimeCompat": {"supported": ["*"], "unsupported": []},
            "skills": [], "agents": [], "steps": [], "contributions": [], "gates": [],
            "config": {
                "acme.on": {"type": "boolean", "default": true, "description": "D"},
                "acme.depth":
                    {"type": "enum", "values": ["quick", "deep"], "default": "quick", "description": "D"}
            }
        });
        let assessed = assess("acme", manifest.to_string().as_bytes(), &HostContract::builtin());
        let composed = Composed::new(assessed.manifest.unwrap(), Scope::Global, |_| None);
        ConfigView::new(layers, Arc::new(Registry::build(vec![Arc::new(composed)]).unwrap()))
    }

    #[test]
    fn a_value_of_another_type_falls_back_to_the_default() {
        let main = Some(json!({"acme": {"on": "false", "depth": "deep"}}));
        let view = view(ConfigLayers { main, ..ConfigLayers::default() });
        assert_eq!(view.resolve("acme.on"), Some(&json!(true)));
        assert_eq!(view.resolve("acme.depth"), Some(&json!("deep")));
        assert_eq!(view.resolve("acme.none"), None);
        assert!(!view.is_on("constructor"));
    }

    #[test]
    fn a_value_says_where_it_comes_from() {
        let layers = ConfigLayers {
            main: Some(json!({"acme": {"on": "no"}})),
            root: Some(json!({"acme": {"depth": "deep"}, "x": 1})),
            ..ConfigLayers::default()
        };
        let looked = view(layers);
        let origin = |key: &str| looked.resolve_with_origin(key).map(|(_, origin)| origin);
        assert_eq!(origin("acme.on"), Some(ConfigOrigin::Declared));
        assert_eq!(origin("acme.depth"), Some(ConfigOrigin::Root));
        assert_eq!(origin("x"), Some(ConfigOrigin::Root));
        assert_eq!(origin("y"), None);
        let away =
            view(ConfigLayers { defaults: Some(json!({"acme": {"on": false}})), ..ConfigLayers::default() });
        assert_eq!(away.resolve_with_origin("acme.on"), Some((&json!(false), ConfigOrigin::Defaults)));
        assert_eq!(away.resolve_with_origin("acme.depth").unwrap().1, ConfigOrigin::Declared);
    }

    #[test]
    fn a_workstream_is_laid_over_the_root_file() {
        let layers = ConfigLayers {
            main: Some(json!({"acme": {"on": false}})),
            root: Some(json!({"acme": {"depth": "deep", "on": true}, "x": [1]})),
            ..ConfigLayers::default()
        };
        let view = view(layers);
        assert!(!view.is_on("acme.on"));
        assert_eq!(view.resolve("acme.depth"), Some(&json!("deep")));
        assert!(view.is_on("x"));
    }

    #[test]
    fn machine_defaults_count_only_without_a_planning_folder() {
        let defaults = Some(json!({"acme": {"on": false}}));
        let away = ConfigLayers { defaults: defaults.clone(), ..ConfigLayers::default() };
        assert!(!view(away).is_on("acme.on"));
        let inside = ConfigLayers { defaults, main_folder_exists: true, ..ConfigLayers::default() };
        assert!(view(inside).is_on("acme.on"));
    }
}
