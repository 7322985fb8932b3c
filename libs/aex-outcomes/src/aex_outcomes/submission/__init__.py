"""Checks of submitted works, which report all problems at once."""

from aex_outcomes.submission.appraisal import Appraisals
from aex_outcomes.submission.check import Checked, check_criteria, check_submission

__all__ = ["Appraisals", "Checked", "check_criteria", "check_submission"]
