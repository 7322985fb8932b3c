"""The append-only log: validations by attempt, outcomes by contract, both under `key_of`."""

from aex_governance.rules.projection.records import OutcomeEntry, ValidationRecord
from aex_runtime.store.port import Collection, Index
from aex_runtime.store.table import Table

BY_KEY = (Index(),)
"""Read from end to end in the order of their keys: every store keeps them so, at no cost."""
VALIDATIONS = Table(Collection("governance-validations", BY_KEY), ValidationRecord)
OUTCOMES = Table(Collection("governance-outcomes", BY_KEY), OutcomeEntry)
