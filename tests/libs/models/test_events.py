import json
from datetime import UTC, datetime
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from aex_models.audiences import project_event_data
from aex_models.events import (
    SERVICES,
    TOPICS,
    ContractAwarded,
    ContractCancelled,
    Event,
    OutcomeVerified,
    UnreadableEvent,
    WorkChecked,
    WorkSubmitted,
    derive_event_id,
    find_subscribed_topics,
    parse_event_data,
)
from aex_models.frozen import Frozen
from aex_models.work import EvaluationRef, LintWarning, Problem, Work
from tests.libs.models.test_audiences import AWARD, TERMS, WORK, record

NOW = datetime(2026, 1, 1, tzinfo=UTC)

SAMPLES: dict[str, Frozen] = {
    "work.submitted": WorkSubmitted(
        work_id="work_1",
        has_cpa=True,
        consumer_id="acme",
        domain="general",
        evaluation=EvaluationRef(digest="a" * 64, size=3),
    ),
    "work.checked": WorkChecked(
        work_id="work_1",
        ok=False,
        problems=(Problem(path="/a", code="c", message="m"),),
        warnings=(LintWarning(code="c", path="/a", message="m", suggestion="s"),),
    ),
    "contract.awarded": ContractAwarded(award=AWARD, work=Work.model_validate(WORK), terms=TERMS),
    "outcome.verified": OutcomeVerified(outcome=record()),
    "contract.cancelled": ContractCancelled(contract_id="ctr_1", work_id="work_1"),
}


def event(data: dict[str, Any], event_type: str = "contract.cancelled") -> Event:
    return Event(id="evt_1", type=event_type, source="/aex/verification", subject="ctr_1", time=NOW, data=data)


def test_event_id_depends_only_on_its_cause() -> None:
    assert derive_event_id("a.b", "ctr_1", 1) == derive_event_id("a.b", "ctr_1", 1)
    assert derive_event_id("a.b", "ctr_1", 1) != derive_event_id("a.b", "ctr_1", 2)
    assert derive_event_id("a.b", "ctr_1") != derive_event_id("a.c", "ctr_1")
    assert derive_event_id("a.b", "xy", "z") != derive_event_id("a.b", "x", "yz")


def test_subscriptions_are_those_of_the_specification() -> None:
    assert {topic.publisher for topic in TOPICS.values()} <= set(SERVICES)
    assert {service: set(find_subscribed_topics(service)) for service in SERVICES} == {
        "work-publisher": {"work.checked", "outcome.verified", "contract.cancelled"},
        "verification": {
            *("work.submitted", "contract.awarded", "output.submitted", "outcome.reviewed"),
            "settlement.adjusted",  # file 15; by it a consumer that a correction charges reads the output (file 17)
        },
        "governance": {"outcome.held", "outcome.verified"},
        "settlement": {"outcome.verified"},
    }


@pytest.mark.parametrize("event_type", SAMPLES)
def test_published_event_reads_back_and_fits_its_schema(event_type: str) -> None:
    from aex_models.event_schemas import build_event_schema  # noqa: PLC0415

    published = json.loads(json.dumps(project_event_data(SAMPLES[event_type])))
    Draft202012Validator(build_event_schema(event_type)).validate(published)
    repeated = parse_event_data(event(published, event_type), TOPICS[event_type].data)
    assert project_event_data(repeated) == published


def test_reader_ignores_unknown_fields() -> None:
    data = {"contract_id": "ctr_1", "work_id": "work_1", "since": "version 9"}
    assert parse_event_data(event(data), ContractCancelled) == ContractCancelled(contract_id="ctr_1", work_id="work_1")
    nested = project_event_data(SAMPLES["contract.awarded"])
    nested["award"]["consumer"]["since"] = "version 9"
    assert parse_event_data(event(nested), ContractAwarded).award == AWARD


def test_reader_refuses_data_of_another_event() -> None:
    with pytest.raises(
        UnreadableEvent, match=r"contract.cancelled is not readable at: contract_id, work_id"
    ) as refused:
        parse_event_data(event({"work_id": ["a secret"]}), ContractCancelled)
    assert "a secret" not in str(refused.value)


def test_the_envelope_is_cloudevents_and_closed() -> None:
    made = event({})
    assert (made.specversion, made.datacontenttype) == ("1.0", "application/json")
    with pytest.raises(ValidationError):
        Event.model_validate({**made.model_dump(), "specversion": "0.3"})
    with pytest.raises(ValidationError):
        Event.model_validate({**made.model_dump(), "time": datetime(2026, 1, 1)})  # noqa: DTZ001 no time zone is the point
