"""What every handler is given."""

from dataclasses import dataclass, field

from aex_outcomes.catalog import Catalog
from aex_outcomes.science.review.port import PeerReviewer
from aex_runtime.blobs.port import Blobs
from aex_runtime.clock import Clock
from aex_runtime.ids import Ids
from aex_runtime.store.port import Store
from aex_runtime.unit_of_work import UnitOfWork
from aex_verification.followers import Followers
from aex_verification.ports import Awards, Examiner, Governance, Judge, RawData, Trials, Verifiers
from aex_verification.replay_limit import ReplayLimit
from aex_verification.rules.policy import Policy
from aex_verification.turnstile import Turnstile
from aex_verification.under_way import UnderWay
from aex_verification.waits import Waits


@dataclass(frozen=True, slots=True)
class Deps:
    """The service's collaborators, all injected."""

    unit_of_work: UnitOfWork
    store: Store
    blobs: Blobs
    clock: Clock
    ids: Ids
    judge: Judge
    examiner: Examiner
    spool: RawData
    verifiers: Verifiers
    trials: Trials
    slow_places: Turnstile
    """Runs of custom code and of named verifiers, and examinations of raw data, that event and timer handlers wait for
    at once: they take long, and others have to go on."""
    governance: Governance
    awards: Awards
    waits: Waits
    under_way: UnderWay
    policy: Policy
    catalog: Catalog
    reviewer: PeerReviewer | None = None
    """Who is asked where a work wants a peer review; None: nobody, and arithmetic alone decides."""
    followers: Followers = field(default_factory=Followers)
    replays: ReplayLimit = field(default_factory=ReplayLimit)
