"""Runs the service: `python -m aex_verification`."""

from aex_runtime.process import serve

if __name__ == "__main__":
    serve("aex_verification.main:create_app")
