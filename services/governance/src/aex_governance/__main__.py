"""Entry point of the service process: `python -m aex_governance`."""

from aex_runtime.launch import launch

if __name__ == "__main__":
    launch("aex_governance.main:create_app")
