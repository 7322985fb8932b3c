"""What governance keeps: the only place that knows the collections' names.

The log is appended to and never edited. Projections are made from the log alone and can be made anew.
"""

from aex_governance.repository.holds import HOLD_TRACES, HOLDS, HOLDS_OF_RULES
from aex_governance.repository.log import OUTCOMES, VALIDATIONS
from aex_governance.repository.projections import BANDS, DOMAINS, HASHES, HEAD, PACES, PROFILES
from aex_governance.repository.rebuild_marks import REBUILD_MARKS

COLLECTIONS = (
    VALIDATIONS.collection,
    OUTCOMES.collection,
    HOLDS.collection,
    HOLDS_OF_RULES.collection,
    HOLD_TRACES.collection,
    HEAD.collection,
    PROFILES.collection,
    DOMAINS.collection,
    PACES.collection,
    HASHES.collection,
    BANDS.collection,
    REBUILD_MARKS.collection,
)
"""All of them, for the indexes that Firestore needs."""
