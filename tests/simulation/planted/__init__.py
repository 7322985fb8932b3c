"""Planted bugs, which the simulator must find to prove that its checks work."""

from collections.abc import Mapping

from tests.simulation.planted import handler_bugs, store_bugs
from tests.simulation.planted.plant import Plant

_ALL = (
    handler_bugs.POSTS_TWICE,
    handler_bugs.GIVES_AN_ATTEMPT_BACK,
    handler_bugs.OVERRULES_GOVERNANCE,
    store_bugs.FORGETS_ITS_EVENT,
    handler_bugs.ACKS_BEFORE_THE_COMMIT,
    store_bugs.SEALER_SKIPS,
    store_bugs.COUNTS_TWICE_AFTER_A_CRASH,
    store_bugs.REPLAYS_AS_NEW,
    handler_bugs.SETTLES_WHAT_IS_CANCELLED,
    store_bugs.ACCEPTS_LATE_OUTPUT,
    store_bugs.WRITES_BLINDLY,
    handler_bugs.REVIEWS_THE_WRONG_HOLD,
    store_bugs.FORGETS_THE_BATCH_BEFORE,
)
PLANTS: Mapping[str, Plant] = {plant.name: plant for plant in _ALL}
