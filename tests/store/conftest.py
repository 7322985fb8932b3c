"""The contract's assertions tell what they compared, though they lie in no test module."""

import pytest

pytest.register_assert_rewrite("tests.store.contract")
