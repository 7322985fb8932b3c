"""A file that is there once it is whole: what breaks off leaves what was there before."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from aex_runtime.commandline.errors import Failed, UserError


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Something to write to, which takes the place of `path` at the end.

    Raises `UserError` where the path will not do, `Failed` where writing fails.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder", "name a file")
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}", "name a file in a folder of yours") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as error:
        raise Failed(f"{path} could not be written: {error.strerror}") from None
    finally:
        Path(name).unlink(missing_ok=True)
