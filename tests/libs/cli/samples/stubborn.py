"""A service that ignores SIGTERM, with a worker of its own that does the same."""

import os
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

SLEEP = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


class Ready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    worker = subprocess.Popen([sys.executable, "-c", SLEEP])
    Path(os.environ["AEX_DATA_DIR"], "worker").write_text(str(worker.pid))
    HTTPServer(("127.0.0.1", int(os.environ["AEX_PORT"])), Ready).serve_forever()
