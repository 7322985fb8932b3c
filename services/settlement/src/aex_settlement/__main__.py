"""Entry point of the service process: `python -m aex_settlement`."""

from aex_runtime.launch import launch

if __name__ == "__main__":
    launch("aex_settlement.main:create_app")
