"""Lines name what their message or timer is about, and nothing that stands where an id should."""

from aex_runtime.log_context import log_context


def test_the_subject_and_the_data_name_what_a_line_is_about() -> None:
    assert log_context("ctr_1", {"attempt_id": "att_1"}) == {"contract_id": "ctr_1", "attempt_id": "att_1"}
    assert log_context("att_1", {"contract_id": "ctr_1"}) == {"contract_id": "ctr_1", "attempt_id": "att_1"}
    assert log_context("work_1") == {"work_id": "work_1"}


def test_the_ids_of_an_award_and_of_an_outcome_are_found_where_they_stand() -> None:
    nested = {"outcome": {"contract_id": "ctr_1", "work_id": "work_1", "agent_id": "bot"}}
    assert log_context("ctr_1", nested) == {"contract_id": "ctr_1", "work_id": "work_1"}


def test_what_is_no_id_of_ours_is_left_out() -> None:
    for subject in ("", "ctr_", "ctr_a b", "ctr_" + "x" * 10_000, "ctr_1\n", "canary"):
        assert log_context(subject, {"contract_id": 5, "attempt_id": ["att_1"]}) == {}
