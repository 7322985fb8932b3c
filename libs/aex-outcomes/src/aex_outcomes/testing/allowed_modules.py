"""Modules of the standard library that tests and tested programs may import.

They compute. Modules that open files, sockets or processes, or that call native code, are left out.
"""

import importlib
import importlib.abc
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

ALLOWED_MODULES = frozenset(
    {
        "__future__", "abc", "argparse", "array", "ast", "atexit", "base64", "binascii", "bisect", "builtins",
        "calendar", "cmath", "codecs", "collections", "colorsys", "configparser", "contextlib", "contextvars", "copy",
        "copyreg", "csv", "dataclasses", "datetime", "decimal", "difflib", "dis", "encodings", "enum", "errno",
        "fnmatch", "fractions", "functools", "gc", "getopt", "graphlib", "hashlib", "heapq", "hmac", "html",
        "importlib", "inspect", "io", "ipaddress", "itertools", "json", "keyword", "linecache", "locale", "logging",
        "math", "numbers", "operator", "opcode", "os", "pathlib", "pickle", "posixpath", "pprint", "queue",
        "random", "re", "reprlib", "sched", "secrets", "shlex", "stat", "statistics", "string", "stringprep",
        "struct", "sys", "textwrap", "threading", "time", "timeit", "token", "tokenize", "tomllib", "traceback",
        "types", "typing", "unicodedata", "unittest", "urllib", "uuid", "warnings", "weakref", "xml", "zlib",
        "zoneinfo",
    }
)  # fmt: skip
"""Top-level names of the allowed modules. `os` and `pathlib` handle paths; every access to files is refused."""
_SUBMODULES = (
    "collections.abc", "encodings.ascii", "encodings.cp1252", "encodings.hex_codec", "encodings.idna",
    "encodings.latin_1", "encodings.punycode", "encodings.raw_unicode_escape", "encodings.rot_13",
    "encodings.unicode_escape", "encodings.utf_16", "encodings.utf_16_be", "encodings.utf_16_le", "encodings.utf_32",
    "encodings.utf_8_sig", "html.entities", "html.parser", "importlib.abc", "importlib.util", "json.decoder",
    "logging.handlers", "os.path", "unittest._log", "unittest.mock", "urllib.parse", "xml.dom.expatbuilder",
    "xml.dom.minidom", "xml.etree.ElementTree",
)  # fmt: skip
_LOADED_LATE = ("_strptime", "_pydecimal", "_pydatetime", "_markupbase", "_compat_pickle", "_sitebuiltins", "shutil")
"""Modules that the standard library imports on first use."""


def import_allowed_modules() -> None:
    """Import all allowed modules, and those that they import late; later imports find them without a file."""
    for name in (*sorted(ALLOWED_MODULES), *_SUBMODULES, *_LOADED_LATE):
        with suppress(ImportError):  # not in every version or build of Python
            importlib.import_module(name)


def is_allowed_module(name: str) -> bool:
    """Return True if the module of this dotted name may be imported."""
    return name.partition(".")[0] in ALLOWED_MODULES


def is_standard_module(name: str) -> bool:
    """Return True if the standard library has a module of this dotted name's first part."""
    return name.partition(".")[0] in sys.stdlib_module_names


class RefusingFinder(importlib.abc.MetaPathFinder):
    """Last finder: refuses modules that no other finder has."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """Raise `ModuleNotFoundError`."""
        del path, target
        if fullname.partition(".")[0] in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"The module {fullname} is not available to tested programs", name=fullname)
        return None


def remove_other_modules() -> None:
    """Remove loaded modules that may not be imported from `sys.modules`; code that uses them keeps them."""
    for name in list(sys.modules):
        top = name.partition(".")[0]
        if top not in ALLOWED_MODULES and not top.startswith("_") and top not in _LOADED_LATE:
            del sys.modules[name]


def use_memory_importers(*finders: Any) -> None:
    """Import only from these finders and from the allowed modules that are loaded already."""
    sys.meta_path[:] = [*finders, RefusingFinder()]
    sys.path[:] = []
    sys.path_hooks[:] = []
    sys.path_importer_cache.clear()
