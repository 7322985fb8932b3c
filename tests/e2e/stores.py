"""The services' own stores and queues, read (and fed) from outside while the suite runs."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from typing import TypeVar

from aex_cli.suite.service_spec import MODULES
from aex_models.events import Event, OutcomeVerified, event_id
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import LedgerTransaction
from aex_runtime.audience_free import unused
from tests.e2e.live import Live
