"""Who may know of a work."""

from collections.abc import Mapping

from aex_models.audiences import Audience
from aex_models.work import WorkStatus
from aex_runtime.identity.principal import Principal
from aex_work_publisher.rules.records import WorkRecord


def may_see(record: WorkRecord, reader: Principal) -> bool:
    """A consumer its own works; an agent open ones and those awarded to it; nobody else any."""
    if reader.role is Audience.CONSUMER:
        return record.consumer.id == reader.id
    if reader.role is Audience.AGENT:
        return record.status is WorkStatus.OPEN or record.agent_id == reader.id
    return False


def visible_sets(reader: Principal, status: WorkStatus | None) -> tuple[Mapping[str, str], ...]:
    """The index fields of what `reader` may list: sets that do not overlap, the union of which is the answer."""
    if reader.role is Audience.CONSUMER:
        own = {"consumer_id": reader.id}
        return (own if status is None else {**own, "status": status.value},)
    if reader.role is not Audience.AGENT:
        return ()
    opened, theirs = {"status": WorkStatus.OPEN.value}, {"agent_id": reader.id}
    if status is None:
        return (opened, theirs)
    return (opened,) if status is WorkStatus.OPEN else ({**theirs, "status": status.value},)
