"""The health check of a container: `python -m aex_runtime.probe [PATH]`.

It starts every few seconds, so it imports the standard library only and reads its two variables itself. The settings
would take ten times as long.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException

TIMEOUT_S = 4.0
"""Less than the time-out of the health check itself, so that the probe can report its failure."""
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 nothing is bound here
_MAX_BYTES = 200


def probe_service(path: str, environment: Mapping[str, str]) -> tuple[bool, str]:
    """Send a GET request to the service at `AEX_HOST` and `AEX_PORT`.

    Return whether it answered 200, and a line for people. `path` is `/healthz`, or `/readyz` to include the parts that
    the service needs.
    """
    host, port = environment.get("AEX_HOST") or "127.0.0.1", environment.get("AEX_PORT") or ""
    if not port.isdecimal():
        return False, "AEX_PORT is no port number; set it to the service's port"
    connection = HTTPConnection(_ANY.get(host, host), int(port), timeout=TIMEOUT_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        text = " ".join(response.read(_MAX_BYTES).decode("utf-8", "replace").split())
    except (OSError, HTTPException) as error:
        return False, f"{path}: {str(error) or type(error).__name__}"
    finally:
        connection.close()
    return response.status == 200, f"{path}: {response.status} {text}"


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Probe the path in `arguments` and print the result; return 0 if the service answered 200, else 1."""
    is_healthy, line = probe_service(arguments[0] if arguments else "/healthz", environment)
    sys.stdout.write(f"{line}\n")
    return 0 if is_healthy else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
