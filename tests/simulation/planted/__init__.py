"""Bugs, planted on purpose: a simulator that does not find them promises nothing. One file each."""

from collections.abc import Mapping

from tests.simulation.planted.accepts_late_output import ACCEPTS_LATE_OUTPUT
from tests.simulation.planted.acks_before_the_commit import ACKS_BEFORE_THE_COMMIT
from tests.simulation.planted.counts_twice_after_a_crash import COUNTS_TWICE_AFTER_A_CRASH
from tests.simulation.planted.forgets_its_event import FORGETS_ITS_EVENT
from tests.simulation.planted.forgets_the_batch_before import FORGETS_THE_BATCH_BEFORE
from tests.simulation.planted.gives_an_attempt_back import GIVES_AN_ATTEMPT_BACK
from tests.simulation.planted.overrules_governance import OVERRULES_GOVERNANCE
from tests.simulation.planted.plant import Plant
from tests.simulation.planted.posts_twice import POSTS_TWICE
from tests.simulation.planted.replays_as_new import REPLAYS_AS_NEW
from tests.simulation.planted.reviews_the_wrong_hold import REVIEWS_THE_WRONG_HOLD
from tests.simulation.planted.sealer_skips import SEALER_SKIPS
from tests.simulation.planted.settles_what_is_cancelled import SETTLES_WHAT_IS_CANCELLED
from tests.simulation.planted.writes_blindly import WRITES_BLINDLY

_ALL = (
    POSTS_TWICE,
    GIVES_AN_ATTEMPT_BACK,
    OVERRULES_GOVERNANCE,
    FORGETS_ITS_EVENT,
    ACKS_BEFORE_THE_COMMIT,
    SEALER_SKIPS,
    COUNTS_TWICE_AFTER_A_CRASH,
    REPLAYS_AS_NEW,
    SETTLES_WHAT_IS_CANCELLED,
    ACCEPTS_LATE_OUTPUT,
    WRITES_BLINDLY,
    REVIEWS_THE_WRONG_HOLD,
    FORGETS_THE_BATCH_BEFORE,
)
PLANTS: Mapping[str, Plant] = {plant.name: plant for plant in _ALL}
