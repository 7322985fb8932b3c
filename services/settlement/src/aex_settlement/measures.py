"""Counters and histograms of settlement. Amounts of money are only in the ledger, which is exact."""

from aex_models.settlement import TransactionKind
from aex_runtime.measures import LONG_S, CounterSpec, HistogramSpec, Spec

TRANSACTIONS_TOTAL = CounterSpec(
    "aex_ledger_transactions_total", "Transactions that were posted", {"kind": tuple(TransactionKind)}
)
SETTLEMENT_LAG_SECONDS = HistogramSpec(
    "aex_settlement_lag_seconds", "Time from an outcome's commit until it was settled", buckets=LONG_S
)
REFUSED_TOTAL = CounterSpec(
    "aex_settlements_refused_total", "Deliveries of outcomes that were refused because their amounts do not add up"
)
SEAL_LAG_SECONDS = HistogramSpec(
    "aex_seal_lag_seconds", "Time from the commit of a batch's oldest transaction until its seal", buckets=LONG_S
)
MEASURES: tuple[Spec, ...] = (TRANSACTIONS_TOTAL, SETTLEMENT_LAG_SECONDS, REFUSED_TOTAL, SEAL_LAG_SECONDS)
