import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.store.firestore_documents import DocumentStep, merge_expected_versions, plan_commit
from aex_runtime.store.port import Collection, DocumentKey, Write

WORKS = Collection("works")
A: DocumentKey = ("works", "a")


def write(kind: str, key: str = "a", body: bytes = b"1") -> Write:
    if kind == "create":
        return Write("create", WORKS, key, body)
    if kind == "update":
        return Write("update", WORKS, key, body, expected_version=7)
    return Write("put", WORKS, key, body) if kind == "put" else Write("delete", WORKS, key)


@pytest.mark.parametrize(
    ("version", "kinds", "condition"),
    [
        (None, ["put"], None),
        (None, ["create"], 0),
        (None, ["create", "delete"], 0),
        (None, ["put", "delete", "create"], None),
        (0, ["create"], 0),
        (7, ["update"], 7),
        (7, ["delete"], 7),
        (7, ["update", "delete", "create"], 7),
    ],
)
def test_writes_of_a_document_become_the_last_on_the_first_condition(
    version: int | None, kinds: list[str], condition: int | None
) -> None:
    writes = [write(kind, body=str(number).encode()) for number, kind in enumerate(kinds)]
    plan = plan_commit({} if version is None else {A: version}, writes)
    assert plan.steps == (DocumentStep(A, writes[-1], condition),)
    assert plan.existing is None
    assert plan.created == ((A,) if version is None and kinds[0] == "create" else ())


def test_unwritten_reads_are_checked() -> None:
    plan = plan_commit({("works", "b"): 0, A: 7, ("works", "c"): 9}, [write("update")])
    assert plan.steps == (
        DocumentStep(A, write("update"), 7),
        DocumentStep(("works", "b"), None, 0),
        DocumentStep(("works", "c"), None, 9),
    )


def test_two_expected_versions_of_a_document_conflict() -> None:
    assert merge_expected_versions([(A, 7), (A, 8)]) is None
    assert merge_expected_versions([(A, 7), (A, 7)]) == {A: 7}


def test_keys_that_cannot_be_stored_need_no_check() -> None:
    assert merge_expected_versions([(("works", "a/b"), 0), (("works", "\ud800"), 0), (A, 0)]) == {A: 0}


@given(
    st.lists(st.tuples(st.sampled_from(["create", "put", "delete"]), st.sampled_from("abc")), max_size=8),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([0, 7])),
)
def test_commit_has_the_effect_of_its_writes_in_order(kinds: list[tuple[str, str]], versions: dict[str, int]) -> None:
    writes = [write(kind, key, str(number).encode()) for number, (kind, key) in enumerate(kinds)]
    plan = plan_commit({("works", key): version for key, version in versions.items()}, writes)
    left = _left(writes, {key: b"old" for key, version in versions.items() if version})
    assert (plan.existing is not None) == (left is None)
    for step in plan.steps:
        if left is not None and step.write is not None:
            assert left.get(step.key[1]) == (None if step.write.kind == "delete" else step.write.body)
    assert len({step.key for step in plan.steps}) == len(plan.steps)


def _left(writes: list[Write], there: dict[str, bytes]) -> dict[str, bytes] | None:
    for each in writes:
        if each.kind == "create" and each.key in there:
            return None
        if each.kind == "delete":
            there.pop(each.key, None)
        else:
            there[each.key] = each.body
    return there
