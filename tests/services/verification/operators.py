import asyncio
import os
import socket
import time
from typing import Any, Literal

from pydantic import BaseModel

from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.rejection import FatalAgentError, VerificationRejected


class Order(BaseModel):
    do: Literal["tell", "reject", "give_up", "raise", "hang", "die", "hoard", "connect", "return_nan", "take_time"]


async def obey(output: Order, agent_ctx: AgentContext, execution_ctx: ExecutionContext) -> Any:
    match output.do:
        case "tell":
            return {
                "attempt": agent_ctx.attempt,
                "query": agent_ctx.query,
                "contract_id": execution_ctx.contract_id,
                "agent_id": execution_ctx.agent_id,
                "in_time": execution_ctx.clock.now() < execution_ctx.deadline,
            }
        case "reject":
            raise VerificationRejected("not good enough", "quality", {"missing": ["a", "b"]})
        case "give_up":
            raise FatalAgentError("no attempt can help")
        case "raise":
            raise LookupError("canary: the operator's own words")
        case "hang":
            time.sleep(60)  # noqa: ASYNC251 nothing but a kill ends it
        case "die":
            os._exit(3)
        case "hoard":
            return len(bytearray(4 << 30))
        case "connect":
            socket.socket().close()
            return "open"
        case "return_nan":
            return float("nan")
        case "take_time":
            await asyncio.sleep(0.05)
            return None
    raise AssertionError(output.do)


def wants_a_database(output: Order, database: str) -> None:
    """Have a signature that no caller can serve."""


def says_nothing_of_its_output(output) -> None:  # type: ignore[no-untyped-def]
    """Have no annotation for the output type."""
