"""Entry point of the service process: `python -m aex_verification`."""

from aex_runtime.launch import launch

if __name__ == "__main__":
    launch("aex_verification.main:create_app")
