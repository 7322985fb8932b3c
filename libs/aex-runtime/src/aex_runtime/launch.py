"""The first step of a service's process, before large imports."""

import gc


def launch(target: str) -> None:
    """Serve an application factory; imports run without garbage collection, which `serve` enables."""
    gc.disable()
    from aex_runtime.process import serve  # noqa: PLC0415 garbage collection would take a tenth of the start

    serve(target)
