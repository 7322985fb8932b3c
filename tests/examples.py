"""Numbers of hypothesis examples: few in `make check` and `make test`, all in the profile `nightly`."""

from hypothesis import settings

CHECK, NIGHTLY = "check", "nightly"

# Nothing here is a timed test, and machines are busy.
settings.register_profile(CHECK, deadline=None, max_examples=25)
settings.register_profile(NIGHTLY, deadline=None, max_examples=100)


def examples(nightly: int) -> int:
    """Return how many examples the loaded profile allows a test that has this number in `nightly`."""
    return nightly if settings.get_current_profile_name() == NIGHTLY else min(nightly, settings().max_examples)
