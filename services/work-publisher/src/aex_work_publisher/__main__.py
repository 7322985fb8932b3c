"""Runs the service: `python -m aex_work_publisher`."""

from aex_runtime.process import serve

if __name__ == "__main__":
    serve("aex_work_publisher.main:create_app")
