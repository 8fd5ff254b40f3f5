//! What the host's loop offers: agent roles and artifacts per step.

use serde_json::Value;

use super::loop_point::LoopPoint;

/// The published contract of the loop.
///
/// Source: overlay model, "First-party always wins" (contract roles, consumes-satisfiability).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostContract {
    steps: Vec<HostStep>,
    step_at: [usize; 12],
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct HostStep {
    name: String,
    points: Vec<LoopPoint>,
    agent_roles: Vec<String>,
    produces: Vec<String>,
    consumes: Vec<String>,
}

/// Why a document is not a contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host contract is unusable: {0}")]
pub struct InvalidContract(&'static str);

impl HostContract {
    /// The contract of the embedded base.
    #[must_use]
    pub fn builtin() -> Self {
        use LoopPoint as P;
        let step = |name: &str, points: &[P], roles: &[&str], produces: &[&str], consumes: &[&str]| {
            let owned = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
            HostStep {
                name: name.to_owned(),
                points: points.to_vec(),
                agent_roles: owned(roles),
                produces: owned(produces),
                consumes: owned(consumes),
            }
        };
        let execute = [P::ExecutePre, P::ExecuteWavePre, P::ExecuteWavePost, P::ExecutePost];
        Self {
            steps: vec![
                step("discuss", &[P::DiscussPre, P::DiscussPost], &["orchestrator"], &["CONTEXT.md"], &[]),
                step(
                    "plan",
                    &[P::PlanPre, P::PlanPost],
                    &["researcher", "planner", "checker"],
                    &["PLAN.md"],
                    &["CONTEXT.md"],
                ),
                step("execute", &execute, &["executor", "verifier"], &["SUMMARY.md"], &["PLAN.md"]),
                step(
                    "verify",
                    &[P::VerifyPre, P::VerifyPost],
                    &["orchestrator"],
                    &["UAT.md"],
                    &["SUMMARY.md"],
                ),
                step("ship", &[P::ShipPre, P::ShipPost], &["orchestrator"], &[], &["UAT.md"]),
            ],
            step_at: [0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4],
        }
    }

    /// Reads a contract: a list of steps, or an object with the list under `steps`; both spellings of the
    /// members are known (`agentRoles` and `coreArtifacts`, or `agent_roles`, `produces`, `consumes`).
    ///
    /// # Errors
    /// [`InvalidContract`] when a point is unknown, missing, or owned twice.
    pub fn from_json(document: &Value) -> Result<Self, InvalidContract> {
        let list = document.as_array().or_else(|| document.get("steps")?.as_array());
        let list = list.ok_or(InvalidContract("there is no list of steps"))?;
        let steps: Vec<HostStep> = list.iter().map(host_step).collect::<Result<_, _>>()?;
        let mut step_at = [usize::MAX; 12];
        for (index, step) in steps.iter().enumerate() {
            for point in &step.points {
                let slot = step_at.get_mut(point.index()).filter(|slot| **slot == usize::MAX);
                *slot.ok_or(InvalidContract("a point belongs to two steps"))? = index;
            }
        }
        if step_at.contains(&usize::MAX) {
            return Err(InvalidContract("a point belongs to no step"));
        }
        Ok(Self { steps, step_at })
    }

    fn step_of(&self, point: LoopPoint) -> Option<&HostStep> {
        self.steps.get(*self.step_at.get(point.index())?)
    }

    /// Name of the step that owns a point.
    #[must_use]
    pub fn step_name(&self, point: LoopPoint) -> &str {
        self.step_of(point).map_or("", |step| step.name.as_str())
    }

    /// Agent roles that a contribution at this point may address.
    #[must_use]
    pub fn roles_at(&self, point: LoopPoint) -> &[String] {
        self.step_of(point).map_or(&[], |step| step.agent_roles.as_slice())
    }

    /// From which point on the host publishes an artifact: the last point of the step that makes it.
    #[must_use]
    pub fn available_from(&self, artifact: &str) -> Option<LoopPoint> {
        let makers = self.steps.iter().filter(|step| step.produces.iter().any(|name| name == artifact));
        makers.filter_map(|step| step.points.iter().max().copied()).min()
    }
}

fn host_step(value: &Value) -> Result<HostStep, InvalidContract> {
    let texts = |list: Option<&Value>| -> Result<Vec<String>, InvalidContract> {
        let items = list.and_then(Value::as_array).ok_or(InvalidContract("a list is missing"))?;
        let text = |item: &Value| item.as_str().map(str::to_owned);
        items
            .iter()
            .map(text)
            .collect::<Option<_>>()
            .ok_or(InvalidContract("a list has an entry that is no text"))
    };
    let artifacts = value.get("coreArtifacts").unwrap_or(value);
    let points = texts(value.get("points"))?;
    Ok(HostStep {
        name: value
            .get("step")
            .and_then(Value::as_str)
            .ok_or(InvalidContract("a step has no name"))?
            .to_owned(),
        points: points
            .iter()
            .map(|point| LoopPoint::parse(point))
            .collect::<Option<_>>()
            .ok_or(InvalidContract("a point is unknown"))?,
        agent_roles: texts(value.get("agentRoles").or_else(|| value.get("agent_roles")))?,
        produces: texts(artifacts.get("produces"))?,
        consumes: texts(artifacts.get("consumes"))?,
    })
}
