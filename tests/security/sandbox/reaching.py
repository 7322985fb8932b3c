"""Code that reaches for the host: files, environment, sockets, processes, and the interpreter's own insides."""

from aex_outcomes.sandbox.port import FaultKind
from tests.security.sandbox.case import FILE, PORT, Abuse, body, returns

E = FaultKind.EXCEPTION
NO_SYNTAX = FaultKind.SYNTAX

FILES = (
    Abuse("open a file", returns(f"int(open('{FILE}').read())"), E),
    Abuse("open it as bytes", returns(f"int(open('{FILE}', 'rb').read())"), E),
    Abuse("read it by its path", returns(f"int(Path('{FILE}').read_text())", "from pathlib import Path"), E),
    Abuse("ask whether it is there", returns(f"Path('{FILE}').exists()", "from pathlib import Path"), E),
    Abuse("list a folder", returns("len(os.listdir('/'))", "import os"), E),
    Abuse("walk a folder", returns("len(list(Path('/').iterdir()))", "from pathlib import Path"), E),
    Abuse("climb out of the folder", returns(f"int(open('../../../../../../..{FILE}').read())"), E),
    Abuse("read the process's environment", returns("len(open('/proc/self/environ').read())"), E),
    Abuse("read the process's memory map", returns("len(open('/proc/self/maps').read())"), E),
    Abuse("read a descriptor", returns("len(open(0).read())"), E),
    Abuse("read a descriptor by its path", returns("len(open('/proc/self/fd/0').read())"), E),
    Abuse("write a file", returns(f"open('{FILE}', 'w').write('1')"), E),
    Abuse("append to a file", returns(f"open('{FILE}', 'a').write('1')"), E),
    Abuse("delete a file", returns(f"Path('{FILE}').unlink()", "from pathlib import Path"), E),
    Abuse("rename a file", returns(f"os.rename('{FILE}', '{FILE}.moved')", "import os"), E),
    Abuse("make a folder", returns(f"os.mkdir('{FILE}.folder')", "import os"), E),
    Abuse("another module that opens files", returns(f"io.open('{FILE}').read()", "import io"), E),
    Abuse("files in memory", returns("tempfile.mkstemp()", "import tempfile"), E),
)

ENVIRONMENT = (
    Abuse("read a variable", returns("int(os.getenv('AEX_CANARY'))", "import os"), E),
    Abuse("read all variables", returns("int(os.environ['AEX_CANARY'])", "import os"), E),
    Abuse("count the variables", returns("len(os.environ)", "import os"), E),
    Abuse("read the arguments", returns("len(sys.argv)", "import sys"), 1),
    Abuse("the user and the host", returns("os.uname()", "import os"), E),
    Abuse("random bytes of the host", returns("len(os.urandom(16))", "import os"), E),
    Abuse("the host's clock", returns("time.time()", "import time"), 1_767_225_600.0),
)

SOCKETS = (
    Abuse("connect", returns(f"socket.create_connection(('127.0.0.1', {PORT}))", "import socket"), E),
    Abuse(
        "connect by the engine's own module",
        returns(f"_socket.socket().connect(('127.0.0.1', {PORT}))", "import _socket"),
        E,
    ),
    Abuse("fetch", returns(f"urllib.request.urlopen('http://127.0.0.1:{PORT}').read()", "import urllib.request"), E),
    Abuse("speak HTTP", returns(f"http.client.HTTPConnection('127.0.0.1', {PORT})", "import http.client"), E),
    Abuse(
        "connect within a coroutine",
        body(
            f"async def go(): return await asyncio.open_connection('127.0.0.1', {PORT})\nreturn asyncio.run(go())",
            "import asyncio",
        ),
        E,
    ),
)

PROCESSES = (
    Abuse("run a program", returns("subprocess.check_output(['id'])", "import subprocess"), E),
    Abuse("run a shell", returns("os.system('id')", "import os"), E),
    Abuse("read from a shell", returns("os.popen('id').read()", "import os"), E),
    Abuse("fork", returns("os.fork()", "import os"), E),
    Abuse("become another program", returns("os.execv('/bin/sh', ['sh'])", "import os"), E),
    Abuse("kill the service", returns("os.kill(os.getppid(), 9)", "import os"), E),
    Abuse("exit the process", returns("os._exit(0)", "import os"), E),
    Abuse("exit the interpreter", returns("sys.exit(0)", "import sys"), E),
    Abuse("start threads", returns("threading.Thread(target=print).start()", "import threading"), E),
    Abuse("start processes", returns("multiprocessing.Process(target=print).start()", "import multiprocessing"), E),
    Abuse("call into C", returns("ctypes.string_at(0)", "import ctypes"), E),
    Abuse("handle signals", returns("signal.alarm(1)", "import signal"), E),
)

INTROSPECTION = (
    Abuse("the classes above a tuple", returns("len(().__class__.__bases__[0].__subclasses__())"), E),
    Abuse("the same, assembled", returns("len(getattr((), '__cla' + 'ss__').__mro__)"), E),
    Abuse("subclasses of object", returns("len(object.__subclasses__())"), E),
    Abuse("subclasses of a type found", returns("len(type(1).__base__.__subclasses__())"), E),
    Abuse("a function's globals", returns("len(evaluate.__globals__)"), E),
    Abuse("a function's code", returns("evaluate.__code__.co_code[0]"), E),
    Abuse("a function's closure", returns("len((lambda: input).__closure__)"), E),
    Abuse("a built-in's module", returns("len.__self__.open('/etc/passwd')"), E),
    Abuse("the built-ins", returns("__builtins__['open']"), E),
    Abuse("import by name", returns("__import__('os').system('id')"), E),
    Abuse("import machinery", returns("importlib.import_module('os').system('id')", "import importlib"), E),
    Abuse("the loaded modules", returns("len(sys.modules)", "import sys"), E),
    Abuse("the frame", returns("len(sys._getframe().f_back.f_globals)", "import sys"), E),
    Abuse("globals", returns("len(globals())"), E),
    Abuse("variables of an object", returns("len(vars(output))"), E),
    Abuse("the collector's objects", returns("len(gc.get_objects())", "import gc"), E),
    Abuse("attributes in a format string", returns("len('{0.__class__.__mro__}'.format(()))"), E),
    Abuse("attributes in a format map", returns("len('{a.__class__}'.format_map({'a': 1}))"), E),
    Abuse(
        "the frame of an exception",
        body("try:\n    1 / 0\nexcept Exception as e:\n    return len(e.__traceback__.tb_frame.f_globals)"),
        E,
    ),
    Abuse("the frame of a coroutine", body("async def f(): pass\nreturn len(f().cr_frame.f_globals)"), E),
    Abuse("import in eval", returns("eval(\"__import__('os').system('id')\")"), E),
    Abuse("files in exec", body(f"exec(\"x = open('{FILE}').read()\")\nreturn 1"), E),
    Abuse("compile", returns("compile('1', 'x', 'eval')"), E),
    Abuse("make a class with a base", returns("type('X', (dict,), {})"), E),
    Abuse("inherit", returns("1", "class X(dict): pass"), NO_SYNTAX),
    Abuse(
        "code in a named tuple",
        returns("1", "from collections import namedtuple\nnamedtuple('x', 'a __import__(\"os\")')"),
        E,
    ),
    Abuse(
        "code in annotations",
        body(f"def f(x: \"open('{FILE}')\"): pass\nreturn len(typing.get_type_hints(f))", "import typing"),
        E,
    ),
    Abuse("pickled code", returns("pickle.loads(b'cos\\nsystem\\n(S\"id\"\\ntR.')", "import pickle"), E),
    Abuse("reduce", returns("len(copy.copy.__reduce_ex__(4))", "import copy"), E),
    Abuse("the sandbox's own context", returns("int(len(__context) < 200)"), 1),
)
