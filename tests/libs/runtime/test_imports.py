import subprocess
import sys

import pytest

LOADED = "print([name for name in {names} if name in sys.modules])\n"
SERVICE = """
import sys
import aex_runtime.http.app
from aex_runtime.bus.factory import open_bus
from aex_runtime.settings import RuntimeSettings
from aex_runtime.store.factory import open_store
from aex_runtime.tracing.exporters import open_tracers
open_store("sqlite:///unused.sqlite3")
print(open_tracers(RuntimeSettings(), "settlement"))
"""
REFUSED = """
sys.modules |= {"grpc": None, "google.pubsub_v1": None}
for opened, url in ((open_bus, "pubsub://a-project"), (open_store, "firestore://my-project")):
    try:
        opened(url)
    except ValueError as error:
        print(error)
"""
NEEDS = "needs Google's libraries: pip install 'aex-runtime[google]'"
PROBE = "import sys, aex_runtime.probe\n"


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (
            SERVICE + LOADED.format(names=("opentelemetry.sdk", "httpx", "grpc", "google.auth")) + REFUSED,
            ["None", "[]", f"a Pub/Sub bus {NEEDS}", f"a Firestore store {NEEDS}"],
        ),
        (PROBE + LOADED.format(names=("pydantic", "fastapi", "structlog", "uvicorn")), ["[]"]),
    ],
    ids=["embedded service", "probe"],
)
def test_process_loads_only_the_libraries_it_uses(program: str, printed: list[str]) -> None:
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.stdout.splitlines(), ran.stderr) == (printed, "")
