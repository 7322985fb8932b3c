"""Runs the service: `python -m aex_settlement`."""

from aex_runtime.process import serve

if __name__ == "__main__":
    serve("aex_settlement.main:create_app")
