"""Runs the service: `python -m aex_governance`."""

from aex_runtime.process import serve

if __name__ == "__main__":
    serve("aex_governance.main:create_app")
