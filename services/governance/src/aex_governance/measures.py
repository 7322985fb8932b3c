"""Counters of governance. Each is incremented in the transaction of the change that it counts."""

from aex_governance.rules.table import RULES
from aex_models.governance import Action, Decision, HoldCause
from aex_runtime.measures import CounterSpec, Spec

VALIDATIONS_TOTAL = CounterSpec(
    "aex_validations_total",
    "Attempts that were decided on, by the action",
    {"action": (Action.ALLOW, Action.HOLD, Action.REJECT)},
)
FLAGS_TOTAL = CounterSpec(
    "aex_flags_total", "Flags that were raised, by the rule", {"rule": tuple(r.name for r in RULES)}
)
HOLDS_OPENED_TOTAL = CounterSpec(
    "aex_holds_opened_total", "Attempts that were held for an operator", {"cause": tuple(HoldCause)}
)
HOLDS_DECIDED_TOTAL = CounterSpec("aex_holds_decided_total", "Holds that were decided", {"decision": tuple(Decision)})
MEASURES: tuple[Spec, ...] = (VALIDATIONS_TOTAL, FLAGS_TOTAL, HOLDS_OPENED_TOTAL, HOLDS_DECIDED_TOTAL)
