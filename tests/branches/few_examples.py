"""A pytest plugin: few examples of each property, the same ones each time.

Measured code is several times slower, and it is branches that count: what only the hundredth example reaches by chance
deserves a test of its own. Figures that depend on no dice can be held to a bar.
"""

import pytest
from hypothesis import settings

_SETTINGS = "_hypothesis_internal_use_settings"
"""Where hypothesis keeps a test's settings. Were it elsewhere, all examples would run: slower, and no less right."""
_EXAMPLES = 10


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Called by pytest once all tests are found."""
    for item in items:
        test = getattr(item, "obj", None)
        test = getattr(test, "__func__", test)
        known = getattr(test, _SETTINGS, None)
        if isinstance(known, settings):
            few = min(known.max_examples, _EXAMPLES)
            setattr(test, _SETTINGS, settings(known, max_examples=few, derandomize=True, database=None))
