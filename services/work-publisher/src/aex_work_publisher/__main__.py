"""Entry point of the service process: `python -m aex_work_publisher`."""

from aex_runtime.launch import launch

if __name__ == "__main__":
    launch("aex_work_publisher.main:create_app")
