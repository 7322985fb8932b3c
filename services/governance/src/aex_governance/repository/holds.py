"""Holds: what waits for an operator, and what operators decided."""

from collections.abc import Iterator
from typing import Any

from aex_models.canonical import sha256_hex
from aex_models.frozen import Frozen, Instant
from aex_models.governance import Hold, HoldCause, HoldStatus
from aex_runtime.clock import epoch_micros
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Collection, Index
from aex_runtime.store.table import Table


class HoldOfRule(Frozen):
    """An entry for each rule that a hold was flagged by: an indexed field has one value, a hold many flags."""

    hold_id: str
    rule: str
    status: HoldStatus
    cause: HoldCause
    held_at: Instant
    decided_at: Instant | None = None


class HoldTrace(Frozen):
    """Of the contract that is held: an operator's decision belongs there. Apart from the hold, which operators read."""

    traceparent: str
    """W3C trace context of the hold's opening."""


def hold_id_of(attempt_id: str) -> str:
    """A hold is keyed by its attempt: a repeated event makes no second one."""
    return f"hold_{sha256_hex(attempt_id.encode())[:32]}"


def holds_of_rules(hold: Hold) -> dict[str, HoldOfRule]:
    """The entries of a hold, by key. Written with it, whenever it is."""
    return {
        key_of(f"{rule}:{hold.hold_id}"): HoldOfRule(
            hold_id=hold.hold_id,
            rule=rule,
            status=hold.status,
            cause=hold.cause,
            held_at=hold.held_at,
            decided_at=hold.decided_at,
        )
        for rule in dict.fromkeys(flag.rule for flag in hold.flags)
    }


def _times(hold: Hold | HoldOfRule) -> dict[str, Any]:
    decided_at = None if hold.decided_at is None else epoch_micros(hold.decided_at)
    return {"held_at": epoch_micros(hold.held_at), "decided_at": decided_at}


def _hold_index(hold: Hold) -> dict[str, Any]:
    named = {"cause": hold.cause.value, "contract_id": hold.contract_id, "agent_id": hold.agent_id}
    return {"status": hold.status.value, **named, **_times(hold)}


def _rule_index(entry: HoldOfRule) -> dict[str, Any]:
    return {"rule": entry.rule, "status": entry.status.value, "cause": entry.cause.value, **_times(entry)}


def _queues(*equal: str) -> Iterator[Index]:
    """What waits, the longest first; what was decided, the latest first; both of any cause and of one."""
    for names in ((*equal, "status"), (*equal, "status", "cause")):
        yield Index(names, "held_at")
        yield Index(names, "decided_at", "desc")


HOLDS = Table(
    Collection(
        "governance-holds",
        (
            Index((), "held_at", "desc"),
            Index(("status",), "held_at", "desc"),
            Index(("contract_id",), "held_at", "desc"),
            Index(("contract_id", "status"), "held_at", "desc"),
            Index(("agent_id",), "held_at", "desc"),
            *_queues(),
        ),
    ),
    Hold,
    _hold_index,
)
HOLDS_OF_RULES = Table(Collection("governance-holds-of-rules", tuple(_queues("rule"))), HoldOfRule, _rule_index)
HOLD_TRACES = Table(Collection("governance-hold-traces"), HoldTrace)
