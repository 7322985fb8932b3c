"""The science of a candidate, looked at on this machine: arithmetic alone, as there is no reviewer."""

import asyncio

from rich.console import Console

from aex_cli.offline.confined import NotJudged
from aex_cli.offline.raw_data import RawData
from aex_models.contract import Candidate
from aex_models.examination import DataOwner
from aex_models.science import GateReason, Science, ScienceResult
from aex_models.science_checks import PEER_REVIEW
from aex_outcomes.catalog import Catalog
from aex_outcomes.science.confined import ExaminationLost
from aex_outcomes.science.given_files import GivenFile, UnusableFile, data_given
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.local import Claimed, LocalScience
from aex_runtime.commandline.errors import UserError
from aex_runtime.logs import configure_logging

UNREVIEWED = GateReason(code="reviewer_unreachable", message="The work demands a peer review, and there is none here")


def concluded(science: Science, domain: str, candidate: Candidate, given: RawData, catalog: Catalog) -> ScienceResult:
    """What the science gate concludes of a candidate. `domain`: the work's, for where its science names none.

    Raises `UserError` for files that are missing or not the ones that are meant, and `NotJudged` where no worker could
    examine them.

    What arithmetic passes and a reader would still have to see is passed by nobody: the gate cannot tell.
    """
    configure_logging("aex", "error", "console")
    try:
        theirs = [
            GivenFile(each.name, each.media_type, given.artifacts[each.name], DataOwner.AGENT)
            for each in candidate.artifacts
        ]
        files = (*data_given(science.data, given.data), *theirs)
        claimed = Claimed(candidate.output, candidate.claimed_values, candidate.reasoning, files)
        bounds = catalog.config.sections()["statistics"].sandbox
        local = LocalScience(bounds, DataLimits.within(bounds))
        with Console(stderr=True).status("examining the data"):
            found = asyncio.run(local.concluded(science, catalog.domain_of(science.domain, domain), claimed))
    except UnusableFile as error:
        raise UserError(str(error), "name the consumer's own files by --data NAME=FILE") from None
    except ExaminationLost as error:
        raise NotJudged(str(error)) from None
    if PEER_REVIEW not in science.checks or not found.passed:
        return found
    return found.model_copy(update={"passed": None, "reasons": (UNREVIEWED,)})
