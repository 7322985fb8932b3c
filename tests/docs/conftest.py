"""Fixtures of the tests of documents."""

from tests.e2e.conftest import start_suite

__all__ = ["start_suite"]
