"""Entry point of `python -m aex_cli`."""

from aex_cli.main import run

if __name__ == "__main__":
    run()
