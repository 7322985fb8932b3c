"""`python -m aex_runtime.probe [PATH]`: whether the service beside it answers. What a container's health check runs.

It starts every few seconds: it imports the standard library alone, and reads the two variables that it needs itself;
the settings would take ten times as long, and much of a processor where several services share one.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException

TIMEOUT_S = 4.0
"""Less than the health check's own: what is wrong is said before it is killed."""
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 nothing is bound here
_SHOWN = 200


def probe(path: str, environment: Mapping[str, str]) -> tuple[bool, str]:
    """Ask the service at `AEX_HOST` and `AEX_PORT`: whether it answered with 200, and one line that says what it did.

    `path`: `/healthz`, or `/readyz` for the parts that it stands on too.
    """
    host, port = environment.get("AEX_HOST") or "127.0.0.1", environment.get("AEX_PORT") or ""
    if not port.isdecimal():
        return False, "AEX_PORT says no port to ask"
    connection = HTTPConnection(_ANY.get(host, host), int(port), timeout=TIMEOUT_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        told = " ".join(answer.read(_SHOWN).decode("utf-8", "replace").split())
    except (OSError, HTTPException) as error:
        return False, f"{path}: {str(error) or type(error).__name__}"
    finally:
        connection.close()
    return answer.status == 200, f"{path}: {answer.status} {told}"


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Print the line; 0 where all is well, else 1."""
    well, line = probe(arguments[0] if arguments else "/healthz", environment)
    sys.stdout.write(f"{line}\n")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
