"""What a hold's page shows. Pure: the hold and what is known beside it in, figures to render out."""

from dataclasses import dataclass
from datetime import datetime

from aex_governance.handlers.holds.context import HoldContext
from aex_governance.handlers.holds.queue import Related
from aex_governance.handlers.read_profile import ProfilePage
from aex_governance.review.attempt_view import AttemptView, attempt_view
from aex_governance.review.figures import Figure, figure
from aex_governance.review.visible import Visible, visible
from aex_governance.review.words import CAUSES, CAUSES_TOLD, DONE, SEVERITIES, Choice, choices, lasting
from aex_governance.rules.table import RULES
from aex_models.governance import Flag, Hold
from aex_runtime.identity.principal import Principal

_DESCRIBED = {rule.name: rule.description for rule in RULES}


@dataclass(frozen=True, slots=True)
class FlagView:
    """A flag, with what its rule says of itself; empty for a rule that is no more."""

    flag: Flag
    description: str
    message: Visible
    evidence: Figure


@dataclass(frozen=True, slots=True)
class HoldView:
    """The page's content."""

    cause: str
    cause_told: str
    waited: str
    """Until it was decided, or until now."""
    flags: tuple[FlagView, ...]
    """The gravest first."""
    attempt: AttemptView | None
    contract: Related
    agent: Related
    profile: ProfilePage | None
    following: Hold | None
    choices: tuple[Choice, ...]
    decided: str
    """Such as `released`; empty while it waits."""
    effect: str
    by_you: bool
    reason: Visible


def hold_view(hold: Hold, context: HoldContext, operator: Principal, now: datetime) -> HoldView:
    """Everything on the page."""
    options = choices(hold.cause)
    return HoldView(
        cause=CAUSES[hold.cause],
        cause_told=CAUSES_TOLD[hold.cause],
        waited=lasting((hold.decided_at or now) - hold.held_at),
        flags=tuple(map(_flag, sorted(hold.flags, key=lambda each: SEVERITIES.index(each.severity)))),
        attempt=attempt_view(context.record) if context.record else None,
        contract=context.contract,
        agent=context.agent,
        profile=context.profile,
        following=context.following,
        choices=options,
        decided=DONE[hold.decision] if hold.decision else "",
        effect=next((each.effect for each in options if each.decision is hold.decision), ""),
        by_you=hold.decided_by == operator.id,
        reason=visible(hold.reason or ""),
    )


def _flag(flag: Flag) -> FlagView:
    return FlagView(flag, _DESCRIBED.get(flag.rule, ""), visible(flag.message), figure(flag.evidence))
