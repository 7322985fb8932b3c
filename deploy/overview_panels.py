"""The panels of the dashboard, and the questions behind them, in PromQL.

What a process tells is added up over replicas; what is read from the store is the same from each of them, and the
largest is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Card:
    """One number. Above `red` it is a reason to look at `deploy/alarms.md`."""

    title: str
    query: str
    red: float = 0
    unit: str = "1"


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over time. `unit`: as in UCUM."""

    title: str
    lines: Mapping[str, str]
    """Query → the line's name. Those of a query with labels have none: they are named by those."""
    unit: str = "1"
    limit: float | None = None
    """Drawn as a line: where an alarm rings."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and what stands under it: cards, or charts."""

    title: str
    subtitle: str
    panels: Sequence[Card | Chart]


def quantile(metric: str, share: float, *by: str, where: str = "") -> str:
    """One percentile of a histogram, over five minutes and all replicas."""
    return f"histogram_quantile({share}, sum by ({', '.join(('le', *by))}) (rate({metric}_bucket{where}[5m])))"


def p95(metric: str, *by: str, where: str = "") -> dict[str, str]:
    """The 95th percentile, a line for each of the labels' values."""
    return {quantile(metric, 0.95, *by, where=where): ""}


def quantiles(metric: str) -> dict[str, str]:
    """The median and the 95th percentile."""
    return {quantile(metric, share): f"p{round(100 * share)}" for share in (0.5, 0.95)}


def rate(counter: str, *by: str) -> str:
    """How often a second, over five minutes and all replicas."""
    return f"sum by ({', '.join(by)}) (rate({counter}[5m]))" if by else f"sum(rate({counter}[5m]))"


def rates(counter: str, *by: str) -> dict[str, str]:
    """The same, a line for each of the labels' values."""
    return {rate(counter, *by): ""}


def within(counter: str, time: str, *by: str) -> dict[str, str]:
    """How often in that time, a line for each of the labels' values."""
    return {f"sum by ({', '.join(by)}) (increase({counter}[{time}]))": ""}


_CRITICAL = 'logging_googleapis_com:log_entry_count{monitored_resource="cloud_run_revision",severity="CRITICAL"}'
_UNACKED = 'pubsub_googleapis_com:subscription_oldest_unacked_message_age{monitored_resource="pubsub_subscription"}'
_FAILED = 'aex_http_requests_total{status=~"5.."}'
_PROMPT = '{route!~".*/(events|outputs|export|artifacts).*"}'
"""Routes whose answers do not take long by design."""

SECTIONS = (
    Section(
        "Money and what stands still",
        "All of it 0 on a good day; what a red one means, and what to do, is in deploy/alarms.md",
        (
            Card("Outcomes refused (1 h)", "sum(increase(aex_settlements_refused_total[1h]))"),
            Card("Transactions that cannot be sealed", "max(aex_journal_refused)"),
            Card("Oldest unsealed transaction", "max(aex_journal_unsealed_seconds)", 60, "s"),
            Card("Dead letters", "sum(max by (service) (aex_dead_letters))"),
            Card("Holds waiting", "max(aex_holds_waiting)", 50),
            Card("Critical log lines (1 h)", f"sum(increase({_CRITICAL}[1h]))"),
        ),
    ),
    Section(
        "Traffic",
        "What the services are asked, and how they answer",
        (
            Chart("Requests", rates("aex_http_requests_total", "service"), "1/s"),
            Chart("Answers by status", rates("aex_http_requests_total", "status"), "1/s"),
            Chart(
                "Share of answers that are 5xx",
                {f"{rate(_FAILED, 'service')} / {rate('aex_http_requests_total', 'service')}": ""},
            ),
            Chart(
                "Time to answer where nobody waits, p95",
                p95("aex_http_request_seconds", "service", where=_PROMPT),
                "s",
                1,
            ),
            Chart(
                "Slowest routes, p95",
                {f"topk(10, {quantile('aex_http_request_seconds', 0.95, 'service', 'method', 'route')})": ""},
                "s",
            ),
            Chart(
                "Refused for their rate; streams",
                {rate("aex_rate_limited_requests_total"): "refused a second", "sum(aex_event_streams)": "open streams"},
            ),
        ),
    ),
    Section(
        "From work to settlement",
        "What is published is awarded, ends and is settled, each a little later",
        (
            Chart(
                "On their way",
                {
                    rate("aex_works_submitted_total"): "works published",
                    rate("aex_contracts_awarded_total"): "contracts awarded",
                    rate("aex_contracts_ended_total"): "ended",
                    rate('aex_ledger_transactions_total{kind="settlement"}'): "settled",
                },
                "1/s",
            ),
            Chart("Verdicts", rates("aex_verdicts_total", "verdict"), "1/s"),
            Chart("Attempts, by what became of them", rates("aex_attempts_total", "status"), "1/s"),
            Chart("How contracts end", rates("aex_contracts_ended_total", "status"), "1/s"),
            Chart("What is booked", rates("aex_ledger_transactions_total", "kind"), "1/s"),
            Chart("Governance's decisions", rates("aex_validations_total", "action"), "1/s"),
        ),
    ),
    Section(
        "Verification",
        "How long agents wait for a verdict, and for what",
        (
            Chart("From receipt to verdict", quantiles("aex_verdict_lag_seconds"), "s", 30),
            Chart("Judging one candidate", quantiles("aex_verification_seconds"), "s"),
            Chart("Extractors, p95", p95("aex_extraction_seconds", "extractor"), "s"),
            Chart("Where extraction time goes", rates("aex_extraction_seconds_sum", "extractor"), "s/s"),
            Chart("Asking governance, p95", p95("aex_governance_seconds", "answer"), "s", 5),
            Chart("Custom code is served", {"min(aex_sandbox_up)": "by every instance"}),
        ),
    ),
    Section(
        "Queues",
        "How long events wait, and what becomes of their deliveries",
        (
            Chart("Age of events when handled, p95", p95("aex_event_age_seconds", "service", "topic"), "s", 60),
            Chart("Oldest message of each subscription", {f"max by (subscription_id) ({_UNACKED})": ""}, "s", 120),
            Chart("In handlers, p95", p95("aex_event_handling_seconds", "service", "topic"), "s"),
            Chart("Deliveries", rates("aex_event_deliveries_total", "service", "result"), "1/s"),
            Chart(
                "Late",
                {
                    "max(aex_outbox_oldest_seconds)": "oldest event not published",
                    "max(aex_timers_overdue_seconds)": "timer",
                    "max(aex_events_failing_seconds)": "events fail since",
                },
                "s",
                60,
            ),
            Chart("Crashes of background work (10 min)", within("aex_background_restarts_total", "10m", "service")),
        ),
    ),
    Section(
        "Settlement and the journal",
        "How late outcomes are booked, sealed, and read by finance",
        (
            Chart("From outcome to settlement", quantiles("aex_settlement_lag_seconds"), "s", 60),
            Chart("From booking to seal", quantiles("aex_seal_lag_seconds"), "s", 60),
            Chart(
                "Batches that readings are behind",
                {"max(aex_accounts_behind_batches)": "balances", "max(aex_rollups_behind_batches)": "rollups"},
                limit=100,
            ),
        ),
    ),
    Section(
        "Governance",
        "What is flagged, held and decided",
        (
            Chart("Flags (1 h)", within("aex_flags_total", "1h", "rule")),
            Chart(
                "Holds opened and decided (1 h)",
                within("aex_holds_opened_total", "1h", "cause") | within("aex_holds_decided_total", "1h", "decision"),
            ),
            Chart("Longest wait for an operator", {"max(aex_holds_oldest_seconds)": "oldest hold"}, "s", 14_400),
        ),
    ),
)
