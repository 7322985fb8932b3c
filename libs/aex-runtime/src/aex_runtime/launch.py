"""What a service's `__main__` calls: the first step of its process, before anything large is imported."""

import gc


def launch(target: str) -> None:
    """Import everything with the collector at rest, then `aex_runtime.process.serve`, which wakes it."""
    gc.disable()
    from aex_runtime.process import serve  # noqa: PLC0415 a tenth of the start goes to the collector where it is awake

    serve(target)
