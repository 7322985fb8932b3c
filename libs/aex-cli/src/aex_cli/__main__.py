"""`python -m aex_cli` is `aex`."""

from aex_cli.main import run

if __name__ == "__main__":
    run()
