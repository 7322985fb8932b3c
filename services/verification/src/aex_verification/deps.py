"""Collaborators of the handlers, such as store and grader, which each handler receives as `deps`."""

from dataclasses import dataclass, field

from aex_outcomes.catalog import Catalog
from aex_outcomes.science.peer_review_port import PeerReviewer
from aex_runtime.blobs.port import Blobs
from aex_runtime.clock import Clock
from aex_runtime.ids import Ids
from aex_runtime.quotas import UNBOUNDED, StorageBounds
from aex_runtime.store.port import Store
from aex_runtime.unit_of_work import UnitOfWork
from aex_verification.limits import EventSubscribers, InFlightAttempts, ReplayLimit
from aex_verification.notifier import Notifier
from aex_verification.ports import Awards, Examiner, GovernanceClient, Grader, RawDataFiles, Trials, VerifierRunner
from aex_verification.rules.records import Policy
from aex_verification.slow_jobs import SlowJobs


@dataclass(frozen=True, slots=True)
class Deps:
    """Collaborators of the handlers: store, clock, grader, clients of other services, and others."""

    unit_of_work: UnitOfWork
    store: Store
    blobs: Blobs
    clock: Clock
    ids: Ids
    grader: Grader
    examiner: Examiner
    spool: RawDataFiles
    verifiers: VerifierRunner
    trials: Trials
    slow_jobs: SlowJobs
    governance: GovernanceClient
    awards: Awards
    notifier: Notifier
    in_flight: InFlightAttempts
    policy: Policy
    catalog: Catalog
    reviewer: PeerReviewer | None = None
    """Peer reviewer of scientific claims; None if none is configured."""
    subscribers: EventSubscribers = field(default_factory=EventSubscribers)
    replay_limit: ReplayLimit = field(default_factory=ReplayLimit)
    bounds: StorageBounds = UNBOUNDED
