import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.services.work_publisher.over_http import Api
from tests.services.work_publisher.samples import ACME, submission

INVALID = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
    | st.sampled_from(["rougeL", "accuracy", "eq", "contains_all", "percentage", "weighted", "1e3", "-1", "(", "0.5"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def positions(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(position for key, item in parts for position in positions(item, (*path, key)))]


def replaced(value: Any, path: tuple[str | int, ...], invalid: Any) -> Any:
    if not path:
        return invalid
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], invalid)
    return copy


POSITIONS = positions(json.loads(json.dumps(submission())))


@given(position=st.sampled_from(POSITIONS), invalid=INVALID)
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_value_in_a_work_is_accepted_or_refused(
    shared_api: Api, position: tuple[str | int, ...], invalid: Any
) -> None:
    body = replaced(submission(), position, invalid)
    try:
        content = json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    client = shared_api.client(ACME)
    headers = {"Content-Type": "application/json"}
    answer = await client.post("/v1/work", content=content, headers=headers)
    assert answer.status_code in {201, 400, 422}, answer.text
    checked = await client.post("/v1/work/validate", content=content, headers=headers)
    if checked.status_code == 200:
        assert checked.json()["valid"] is (answer.status_code == 201)
    if answer.status_code == 201:
        visible = await client.get(answer.headers["location"])
        assert visible.status_code == 200
        cancelled = await client.post(f"{answer.headers['location']}/cancel")
        assert cancelled.json()["status"] == "cancelled"
