"""View model of a hold's page."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from aex_governance.handlers.read_holds import HoldContext, RelatedHolds
from aex_governance.handlers.read_profile import ProfilePage
from aex_governance.review.escaped_text import EscapedText, escape_hidden_characters
from aex_governance.review.figures import Figure, build_json_figure
from aex_governance.review.words import (
    CAUSE_NOTES,
    CAUSES,
    DECISION_TEXTS,
    SEVERITIES,
    DecisionOption,
    decision_options,
    format_duration,
)
from aex_governance.rules.projection_documents import ValidationRecord
from aex_governance.rules.table import RULES
from aex_models.governance import Flag, Hold
from aex_runtime.identity.principals import Principal

_DESCRIPTIONS = {rule.name: rule.description for rule in RULES}
_TIMES = {"duration_ms": "Duration", "ttfb_ms": "Time to first byte", "processing_ms": "Processing"}


@dataclass(frozen=True, slots=True)
class MetricRow:
    """Metric with its extracted and claimed values; None for a missing one."""

    name: EscapedText
    extracted: Figure | None
    claimed: Figure | None
    difference: str
    """Deviation of the claim from the extracted value, such as `+23.4 %`; empty unless both are numbers."""


@dataclass(frozen=True, slots=True)
class TimeRow:
    """Row for one duration in ms: as the agent reported it and, if known, as the platform measured it."""

    name: str
    reported: Figure
    measured: Figure | None


@dataclass(frozen=True, slots=True)
class AttemptView:
    """Attempt as the page displays it."""

    record: ValidationRecord
    domain: EscapedText
    metrics: tuple[MetricRow, ...]
    times: tuple[TimeRow, ...]
    reported: Figure | None
    """Execution metadata of the agent apart from durations; None if there are none."""
    computed: Mapping[str, Figure]
    """Figures that verification computed, by title."""
    earlier: Figure | None
    """Earlier attempts of the contract; None if there are none."""


def build_attempt_view(record: ValidationRecord) -> AttemptView:
    """Return the part of the hold's page that describes the attempt."""
    request = record.request
    others = {name: each for name, each in request.execution_metadata.items() if name not in _TIMES}
    # The platform measures how long the agent had the work, which compares with its duration alone.
    measured = {"duration_ms": build_json_figure(request.platform_latency_ms)}
    times = tuple(
        TimeRow(title, build_json_figure(request.execution_metadata.get(name)), measured.get(name))
        for name, title in _TIMES.items()
    )
    parts = {
        "Likeness to the reference": request.reference_similarity,
        "Required keywords": request.keyword_stats,
        "Science": request.science,
    }
    return AttemptView(
        record=record,
        domain=escape_hidden_characters(request.domain),
        metrics=_metrics(request.extracted_metrics, request.claimed_metrics),
        times=times,
        reported=build_json_figure(others) if others else None,
        computed={
            name: build_json_figure(part.model_dump(mode="json")) for name, part in parts.items() if part is not None
        },
        earlier=build_json_figure([each.model_dump(mode="json") for each in request.previous_attempts])
        if request.previous_attempts
        else None,
    )


def _metrics(
    extracted: Mapping[str, bool | float | int | None], claimed: Mapping[str, bool | float | int]
) -> tuple[MetricRow, ...]:
    return tuple(
        MetricRow(
            name=escape_hidden_characters(name),
            extracted=build_json_figure(extracted[name]) if name in extracted else None,
            claimed=build_json_figure(claimed[name]) if name in claimed else None,
            difference=_difference(extracted.get(name), claimed.get(name)),
        )
        for name in sorted({*extracted, *claimed})
    )


def _difference(extracted: float | None, claimed: float | None) -> str:
    """Return text such as `+23.4 %`; empty unless both are numbers."""
    if not extracted or claimed is None or isinstance(extracted, bool) or isinstance(claimed, bool):
        return ""
    return f"{(claimed - extracted) / abs(extracted):+.1%}".replace("%", " %")


@dataclass(frozen=True, slots=True)
class FlagSection:
    """Flag with the description of its rule, which is empty if the rule no longer exists."""

    flag: Flag
    description: str
    message: EscapedText
    evidence: Figure


@dataclass(frozen=True, slots=True)
class HoldView:
    """Content of a hold's page."""

    cause: str
    cause_note: str
    waited: str
    """Time from the opening to the decision, or to now."""
    flags: tuple[FlagSection, ...]
    """Flags sorted by severity, the most severe first."""
    attempt: AttemptView | None
    contract: RelatedHolds
    agent: RelatedHolds
    profile: ProfilePage | None
    next_hold: Hold | None
    options: tuple[DecisionOption, ...]
    decided: str
    """Text such as `released this outcome`; empty for a waiting hold."""
    effect: str
    """Effect of the decision on contract and money; empty for a waiting hold."""
    by_you: bool
    """True if the operator who reads the page made the decision."""
    reason: EscapedText


def build_hold_view(hold: Hold, context: HoldContext, operator: Principal, now: datetime) -> HoldView:
    """Return the content of a hold's page for this operator."""
    options = decision_options(hold.cause)
    return HoldView(
        cause=CAUSES[hold.cause],
        cause_note=CAUSE_NOTES[hold.cause],
        waited=format_duration((hold.decided_at or now) - hold.held_at),
        flags=tuple(map(_flag, sorted(hold.flags, key=lambda each: SEVERITIES.index(each.severity)))),
        attempt=build_attempt_view(context.record) if context.record else None,
        contract=context.contract,
        agent=context.agent,
        profile=context.profile,
        next_hold=context.next_hold,
        options=options,
        decided=DECISION_TEXTS[hold.decision] if hold.decision else "",
        effect=next((each.effect for each in options if each.decision is hold.decision), ""),
        by_you=hold.decided_by == operator.id,
        reason=escape_hidden_characters(hold.reason or ""),
    )


def _flag(flag: Flag) -> FlagSection:
    return FlagSection(
        flag, _DESCRIPTIONS.get(flag.rule, ""), escape_hidden_characters(flag.message), build_json_figure(flag.evidence)
    )
