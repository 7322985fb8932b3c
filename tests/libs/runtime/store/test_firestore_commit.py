"""What a transaction's writes become in one commit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.store.buffer import Place, Write
from aex_runtime.store.firestore_commit import Plan, Step, current_versions, plan_of
from aex_runtime.store.port import Collection

WORKS = Collection("works")
A: Place = ("works", "a")


def write(kind: str, key: str = "a", body: bytes = b"1") -> Write:
    if kind == "create":
        return Write("create", WORKS, key, body)
    if kind == "update":
        return Write("update", WORKS, key, body, seen=7)
    return Write("put", WORKS, key, body) if kind == "put" else Write("delete", WORKS, key)


@pytest.mark.parametrize(
    ("version", "kinds", "condition"),
    [
        (None, ["put"], None),
        (None, ["delete"], None),
        (None, ["create"], 0),
        (None, ["create", "put"], 0),
        (None, ["create", "delete"], 0),
        (None, ["delete", "create"], None),
        (None, ["put", "delete", "create"], None),
        (0, ["put"], 0),
        (0, ["create"], 0),
        (0, ["delete"], 0),
        (7, ["put"], 7),
        (7, ["update"], 7),
        (7, ["delete"], 7),
        (7, ["update", "delete", "create"], 7),
    ],
)
def test_writes_of_one_place_become_the_last_on_the_first_condition(
    version: int | None, kinds: list[str], condition: int | None
) -> None:
    writes = [write(kind, body=str(number).encode()) for number, kind in enumerate(kinds)]
    plan = plan_of({} if version is None else {A: version}, writes)
    assert plan.steps == (Step(A, writes[-1], condition),)
    assert plan.taken is None
    assert plan.created == ((A,) if version is None and kinds[0] == "create" else ())


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        (7, ["create"]),
        (7, ["update", "create"]),
        (None, ["create", "create"]),
        (None, ["put", "create"]),
        (None, ["delete", "create", "create"]),
        (0, ["put", "create"]),
    ],
)
def test_a_create_that_meets_a_document_for_sure_is_no_commit(version: int | None, kinds: list[str]) -> None:
    plan = plan_of({} if version is None else {A: version}, [write(kind) for kind in kinds])
    assert plan == Plan((), (), A)


def test_what_was_read_and_not_written_is_checked() -> None:
    plan = plan_of({("works", "b"): 0, A: 7, ("works", "c"): 9}, [write("update")])
    assert plan.steps == (Step(A, write("update"), 7), Step(("works", "b"), None, 0), Step(("works", "c"), None, 9))


def test_two_versions_of_one_place_can_never_both_be() -> None:
    assert current_versions([(A, 7), (A, 8)]) is None
    assert current_versions([(A, 7), (A, 7)]) == {A: 7}


def test_places_that_hold_nothing_ever_need_no_check() -> None:
    assert current_versions([(("works", "a/b"), 0), (("works", "\ud800"), 0), (A, 0)]) == {A: 0}


@given(
    st.lists(st.tuples(st.sampled_from(["create", "put", "delete"]), st.sampled_from("abc")), max_size=8),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([0, 7])),
)
def test_a_commit_leaves_what_the_writes_would_leave_one_after_the_other(
    kinds: list[tuple[str, str]], versions: dict[str, int]
) -> None:
    writes = [write(kind, key, str(number).encode()) for number, (kind, key) in enumerate(kinds)]
    plan = plan_of({("works", key): version for key, version in versions.items()}, writes)
    left = _left(writes, {key: b"old" for key, version in versions.items() if version})
    assert (plan.taken is not None) == (left is None)
    for step in plan.steps:
        if left is not None and step.write is not None:
            assert left.get(step.place[1]) == (None if step.write.kind == "delete" else step.write.body)
    assert len({step.place for step in plan.steps}) == len(plan.steps)


def _left(writes: list[Write], there: dict[str, bytes]) -> dict[str, bytes] | None:
    """What is there after all writes; None where a create meets a document."""
    for each in writes:
        if each.kind == "create" and each.key in there:
            return None
        if each.kind == "delete":
            there.pop(each.key, None)
        else:
            there[each.key] = each.body
    return there
