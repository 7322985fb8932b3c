"""The key that the services sign with, for commands that mint tokens."""

from pathlib import Path

from aex_cli.suite.data_directory import open_data_directory
from aex_runtime.commandline.embedded import read_settings
from aex_runtime.commandline.errors import UserError
from aex_runtime.identity.local_key import LocalKey, UnsafeKey, given_key, local_key


def signing_key(data_dir: Path) -> LocalKey:
    """The key of `AEX_KEY_FILE`, else that of the data directory, made where there is none. Raises `UserError`."""
    given = read_settings(data_dir).key_file
    try:
        return given_key(given) if given else local_key(open_data_directory(data_dir).root)
    except UnsafeKey as error:
        raise UserError(str(error)) from None
