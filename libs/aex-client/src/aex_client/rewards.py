"""Rewards for reinforcement learning, by the criteria that outcomes are paid by."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog

from aex_client.client import AexClient
from aex_client.errors import ProblemError
from aex_client.reward_graders import Graded, OfflineGrader, OutputGrader, ServiceGrader
from aex_models.batch import BatchOutput
from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import EVALUATION_KEYS, Evaluation
from aex_models.results import Verdict

WEIGHTED_SCORE, SUCCESS = "weighted_score", "success"
Completion = str | Sequence[Mapping[str, Any]]
"""Text, or the messages of a conversation's turn."""
_OUTPUT = "/output"
_log = structlog.get_logger(__name__)


def build_text_output(text: str) -> dict[str, Any]:
    """Return the output that criteria on texts read: `{"text": …}`."""
    return {"text": text}


class OutcomeReward:
    """Reward function that scores completions by success criteria, as TRL's `GRPOTrainer` calls it.

    Scores equal those of `aex verify` on the same outputs. Without a client the engine grades in this process, which
    needs `aex-outcomes[measuring]`; slow metrics run in confined workers that stay alive until `close`.
    """

    def __init__(
        self,
        criteria: SuccessCriteria | Mapping[str, Any],
        score: str = WEIGHTED_SCORE,
        client: AexClient | None = None,
        *,
        input: Mapping[str, Any] | None = None,  # noqa: A002 the field's name
        evaluation: Evaluation | Mapping[str, Any] | None = None,
        build_output: Callable[[str], Any] = build_text_output,
        config: Path | None = None,
    ) -> None:
        """Check the arguments. Raises `ValueError` for an unknown score and for invalid criteria.

        `score`: `weighted_score`, `success` (1 or 0), or the metric of a criterion, whose value is the reward. `input`,
        `evaluation`: what all completions share. `build_output`: makes the output of a completion's text; where it
        raises `ValueError`, as `json.loads` does, the output is None. `config`: an `outcome-verification.yaml` for
        grading without a client. Without a client, problems of criteria and shared data
        raise `InvalidRequest` here; with one, the first call raises them.
        """
        parsed = SuccessCriteria.model_validate(criteria)
        metrics = {each.metric for each in parsed.criteria}
        if score not in {WEIGHTED_SCORE, SUCCESS, *metrics}:
            known = ", ".join([WEIGHTED_SCORE, SUCCESS, *sorted(metrics)])
            raise ValueError(f"{score!r} is no score of these criteria; choose one of {known}")
        self.__name__ = f"outcome_{score}"
        self._score, self._build_output = score, build_output
        shared = {"input": input and dict(input), "evaluation": _to_mapping(evaluation)}
        given = {name: value for name, value in shared.items() if value is not None}
        self._grader: OutputGrader = (
            OfflineGrader(parsed, given, config) if client is None else ServiceGrader(client, parsed, given)
        )

    def __call__(
        self, prompts: Sequence[Any] | None = None, completions: Sequence[Completion] = (), **columns: Any
    ) -> list[float | None]:
        """Return the reward of each completion; None where the verdict is indeterminate or the score unknown.

        A conversational completion counts by its last message of the assistant. A column named like a key of evaluation
        data, such as `reference`, has one value for each completion. It replaces the shared one, unless it is None.
        Other columns are ignored. Raises `ValueError` for a column of another length, and the problem of an output that
        a column makes invalid.
        """
        del prompts
        number_of_rows = len(completions)
        own = {
            name: _require_column(name, values, number_of_rows)
            for name, values in columns.items()
            if name in EVALUATION_KEYS
        }
        outputs = [
            BatchOutput(
                id=number,
                output=self._make_output(completion),
                evaluation={name: values[number] for name, values in own.items() if values[number] is not None},
            )
            for number, completion in enumerate(completions)
        ]
        return [self._to_reward(number, graded) for number, graded in enumerate(self._grader.grade(outputs))]

    def close(self) -> None:
        """End the workers that were started. A client stays open."""
        self._grader.close()

    def _make_output(self, completion: Completion) -> Any:
        try:
            return self._build_output(read_completion_text(completion))
        except ValueError:
            return None

    def _to_reward(self, number: int, graded: Graded) -> float | None:
        if isinstance(graded, ProblemError):
            if not graded.retryable and not _is_about_output(graded):
                raise graded
            _log.warning("reward_unknown", completion=number, code=graded.code)
            return None
        if graded.verdict is Verdict.INDETERMINATE:
            return None
        value = {WEIGHTED_SCORE: graded.weighted_score, SUCCESS: graded.success}.get(
            self._score, graded.metrics.get(self._score)
        )
        return None if value is None else float(value)


def read_completion_text(completion: Completion) -> str:
    """Return the text of a completion: of messages, the last one of the assistant; empty if there is none."""
    if isinstance(completion, str):
        return completion
    texts = [each.get("content") for each in completion if each.get("role", "assistant") == "assistant"]
    content = texts[-1] if texts else None
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text") or "" for part in content)


def _is_about_output(problem: ProblemError) -> bool:
    """Return whether a problem is of the output alone, such as a character that JSON cannot carry."""
    paths = [each.path for each in problem.errors]
    return bool(paths) and all(path == _OUTPUT or path.startswith(f"{_OUTPUT}/") for path in paths)


def _require_column(name: str, values: Any, number: int) -> Sequence[Any]:
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise ValueError(f"the column {name} is no list; give what all completions share as evaluation={{...}}")  # noqa: TRY004 one error for all columns
    if len(values) != number:
        raise ValueError(f"the column {name} has {len(values)} values for {number} completions")
    return values


def _to_mapping(evaluation: Evaluation | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return evaluation.model_dump(mode="json", exclude_none=True) if isinstance(evaluation, Evaluation) else evaluation
