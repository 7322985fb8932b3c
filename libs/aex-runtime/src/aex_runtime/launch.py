"""The start of a service's process, before any large import."""

import gc


def launch(target: str) -> None:
    """Serve the application factory `target` (`module:function`) until the process is stopped.

    Garbage collection is off during imports; `serve` enables it.
    """
    gc.disable()
    from aex_runtime.process import serve  # noqa: PLC0415 garbage collection would take a tenth of the start

    serve(target)
