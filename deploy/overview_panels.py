"""The panels of the dashboard with their PromQL queries.

Metrics of processes are summed over replicas. Metrics that every replica reads from the store are shown as maximum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Card:
    """A panel with one number. Above `red` it is shown in red; `deploy/alarms.md` says what to do."""

    title: str
    query: str
    red: float = 0
    unit: str = "1"


@dataclass(frozen=True, slots=True)
class Chart:
    """A panel with lines over time. `unit` is a UCUM code."""

    title: str
    lines: Mapping[str, str]
    """Query → the line's name; lines of a query with labels are named by their labels."""
    unit: str = "1"
    limit: float | None = None
    """The threshold of an alarm, drawn as a line."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its panels, which are either all cards or all charts."""

    title: str
    subtitle: str
    panels: Sequence[Card | Chart]


def query_quantile(metric: str, share: float, *by: str, where: str = "") -> str:
    """Return the query of a quantile over five minutes and all replicas."""
    return f"histogram_quantile({share}, sum by ({', '.join(('le', *by))}) (rate({metric}_bucket{where}[5m])))"


def query_p95(metric: str, *by: str, where: str = "") -> dict[str, str]:
    """Return the query of the 95th percentile, with a line per label value."""
    return {query_quantile(metric, 0.95, *by, where=where): ""}


def query_quantiles(metric: str) -> dict[str, str]:
    """Return the queries of the median and the 95th percentile."""
    return {query_quantile(metric, share): f"p{round(100 * share)}" for share in (0.5, 0.95)}


def query_rate(counter: str, *by: str) -> str:
    """Return the query of a rate per second over five minutes and all replicas."""
    return f"sum by ({', '.join(by)}) (rate({counter}[5m]))" if by else f"sum(rate({counter}[5m]))"


def query_rates(counter: str, *by: str) -> dict[str, str]:
    """Return the query of a rate, with a line per label value."""
    return {query_rate(counter, *by): ""}


def query_increase(counter: str, time: str, *by: str) -> dict[str, str]:
    """Return the query of an increase within a time, with a line per label value."""
    return {f"sum by ({', '.join(by)}) (increase({counter}[{time}]))": ""}


_CRITICAL = 'logging_googleapis_com:log_entry_count{monitored_resource="cloud_run_revision",severity="CRITICAL"}'
_UNACKED = 'pubsub_googleapis_com:subscription_oldest_unacked_message_age{monitored_resource="pubsub_subscription"}'
_FAILED = 'aex_http_requests_total{status=~"5.."}'
_PROMPT = '{route!~".*/(events|outputs|export|artifacts).*"}'
"""Routes that do not wait or stream by design."""

SECTIONS = (
    Section(
        "Money and blocked work",
        "All 0 in normal operation; deploy/alarms.md explains each red value",
        (
            Card("Outcomes refused (1 h)", "sum(increase(aex_settlements_refused_total[1h]))"),
            Card("Transactions that cannot be sealed", "max(aex_journal_refused)"),
            Card("Oldest unsealed transaction", "max(aex_journal_unsealed_seconds)", 60, "s"),
            Card("Dead letters", "sum(max by (service) (aex_dead_letters))"),
            Card("Refused events", "sum(max by (service) (aex_outbox_parked))"),
            Card("Holds waiting", "max(aex_holds_waiting)", 50),
            Card("Critical log lines (1 h)", f"sum(increase({_CRITICAL}[1h]))"),
        ),
    ),
    Section(
        "Traffic",
        "Requests and responses of the services",
        (
            Chart("Requests", query_rates("aex_http_requests_total", "service"), "1/s"),
            Chart("Responses by status", query_rates("aex_http_requests_total", "status"), "1/s"),
            Chart(
                "Share of 5xx responses",
                {f"{query_rate(_FAILED, 'service')} / {query_rate('aex_http_requests_total', 'service')}": ""},
            ),
            Chart(
                "Response time without waits and streams, p95",
                query_p95("aex_http_request_seconds", "service", where=_PROMPT),
                "s",
                1,
            ),
            Chart(
                "Slowest routes, p95",
                {f"topk(10, {query_quantile('aex_http_request_seconds', 0.95, 'service', 'method', 'route')})": ""},
                "s",
            ),
            Chart(
                "Rate-limited requests; streams",
                {
                    query_rate("aex_rate_limited_requests_total"): "refused per second",
                    "sum(aex_event_streams)": "open streams",
                },
            ),
        ),
    ),
    Section(
        "From work to settlement",
        "Works are published, awarded, ended and settled",
        (
            Chart(
                "Progress of works",
                {
                    query_rate("aex_works_submitted_total"): "works published",
                    query_rate("aex_contracts_awarded_total"): "contracts awarded",
                    query_rate("aex_contracts_ended_total"): "ended",
                    query_rate('aex_ledger_transactions_total{kind="settlement"}'): "settled",
                },
                "1/s",
            ),
            Chart("Verdicts", query_rates("aex_verdicts_total", "verdict"), "1/s"),
            Chart("Attempts by status", query_rates("aex_attempts_total", "status"), "1/s"),
            Chart("Ended contracts by status", query_rates("aex_contracts_ended_total", "status"), "1/s"),
            Chart("Ledger transactions", query_rates("aex_ledger_transactions_total", "kind"), "1/s"),
            Chart("Governance's decisions", query_rates("aex_validations_total", "action"), "1/s"),
        ),
    ),
    Section(
        "Verification",
        "Waiting times of agents for a verdict",
        (
            Chart("From receipt to verdict", query_quantiles("aex_verdict_lag_seconds"), "s", 30),
            Chart("Grading of one candidate", query_quantiles("aex_verification_seconds"), "s"),
            Chart("Extractors, p95", query_p95("aex_extraction_seconds", "extractor"), "s"),
            Chart("Hidden tests by outcome", query_rates("aex_tests_total", "outcome")),
            Chart("Hidden tests, duration of one", query_quantiles("aex_test_seconds"), "s"),
            Chart("Extraction time by extractor", query_rates("aex_extraction_seconds_sum", "extractor"), "s/s"),
            Chart("Governance calls, p95", query_p95("aex_governance_seconds", "answer"), "s", 5),
            Chart("Custom code available", {"min(aex_sandbox_up)": "by every instance"}),
        ),
    ),
    Section(
        "Queues",
        "Waiting times of events, and results of deliveries",
        (
            Chart("Age of events when handled, p95", query_p95("aex_event_age_seconds", "service", "topic"), "s", 60),
            Chart("Oldest message of each subscription", {f"max by (subscription_id) ({_UNACKED})": ""}, "s", 120),
            Chart("Time in handlers, p95", query_p95("aex_event_handling_seconds", "service", "topic"), "s"),
            Chart("Deliveries", query_rates("aex_event_deliveries_total", "service", "result"), "1/s"),
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
            Chart(
                "Crashes of background work (10 min)", query_increase("aex_background_restarts_total", "10m", "service")
            ),
        ),
    ),
    Section(
        "Settlement and the journal",
        "Delays of settlement, seal and projections",
        (
            Chart("From outcome to settlement", query_quantiles("aex_settlement_lag_seconds"), "s", 60),
            Chart("From ledger transaction to seal", query_quantiles("aex_seal_lag_seconds"), "s", 60),
            Chart(
                "Batches not yet projected",
                {"max(aex_accounts_behind_batches)": "balances", "max(aex_rollups_behind_batches)": "rollups"},
                limit=100,
            ),
        ),
    ),
    Section(
        "Governance",
        "Flags, holds and decisions",
        (
            Chart("Flags (1 h)", query_increase("aex_flags_total", "1h", "rule")),
            Chart(
                "Holds opened and decided (1 h)",
                query_increase("aex_holds_opened_total", "1h", "cause")
                | query_increase("aex_holds_decided_total", "1h", "decision"),
            ),
            Chart("Oldest hold", {"max(aex_holds_oldest_seconds)": "oldest hold"}, "s", 14_400),
        ),
    ),
)
