"""The data directory of the suite, opened with errors that name the fix."""

from dataclasses import dataclass
from pathlib import Path

from aex_runtime.commandline.errors import UserError
from aex_runtime.data_dir import UnknownLayout, open_data_dir

_OURS = frozenset({"version", "lock", "keys", "logs", "bus", "blobs"})


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """An opened data directory and the places of the suite's own files in it."""

    root: Path

    @property
    def logs(self) -> Path:
        """One log file for each service."""
        return self.root / "logs"

    @property
    def lock(self) -> Path:
        """Held by the suite that runs on this directory."""
        return self.root / "lock"


def open_data_directory(path: Path) -> DataDirectory:
    """Make the directory (mode 0700) where it is missing. Raises `UserError` where it cannot serve.

    Its key is made by whoever needs it first: a service, or `aex token`.
    """
    root = path.expanduser().resolve()
    try:
        _refuse_strangers(root)
        open_data_dir(root)
        directory = DataDirectory(root)
        directory.logs.mkdir(mode=0o700, exist_ok=True)
    except UnknownLayout as error:
        raise UserError(str(error), "use the release that wrote it, or start afresh with another --data-dir") from None
    except (FileExistsError, NotADirectoryError):
        raise UserError(f"{path} is not a folder", "choose another --data-dir") from None
    except OSError as error:
        raise UserError(f"{path} cannot be used: {error.strerror}", "choose a --data-dir that you may write") from None
    return directory


def _refuse_strangers(root: Path) -> None:
    """A folder with other things in it was named by mistake: `--data-dir .` would scatter databases over it."""
    if not root.exists():
        return
    found = {entry.name for entry in root.iterdir()}
    if found and not found & _OURS:
        raise UserError(
            f"{root} holds other things and is no data directory",
            f"choose an empty one, such as --data-dir {root / '.aex'}",
        )
