"""A pytest plugin with few, fixed examples per property.

Measured code is several times slower, and a coverage limit needs figures that do not depend on chance.
"""

import pytest
from hypothesis import settings

_SETTINGS = "_hypothesis_internal_use_settings"
"""The attribute where hypothesis keeps the settings; without it all examples would run."""
_EXAMPLES = 10


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Reduce the examples of each test."""
    for item in items:
        test = getattr(item, "obj", None)
        test = getattr(test, "__func__", test)
        current = getattr(test, _SETTINGS, None)
        if isinstance(current, settings):
            examples = min(current.max_examples, _EXAMPLES)
            setattr(test, _SETTINGS, settings(current, max_examples=examples, derandomize=True, database=None))
