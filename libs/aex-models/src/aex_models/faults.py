"""Whose doing it is that something could not be told."""

from enum import StrEnum


class Fault(StrEnum):
    """Whose doing it is that a metric has no value."""

    AGENT = "agent"
    PLATFORM = "platform"
