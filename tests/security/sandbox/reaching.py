"""Code that reaches for the host: files, environment, sockets, processes, and interpreter internals."""

from tests.security.sandbox.case import FILE, NO_SYNTAX, PORT, Abuse, E, body, returns, using

FILES = (
    Abuse("open a file", returns(f"int(open('{FILE}').read())"), E),
    Abuse("open it as bytes", returns(f"int(open('{FILE}', 'rb').read())"), E),
    Abuse("read it by its path", returns(f"int(Path('{FILE}').read_text())", "from pathlib import Path"), E),
    Abuse("ask whether it is there", returns(f"Path('{FILE}').exists()", "from pathlib import Path"), E),
    Abuse("list a folder", using("os", "len(os.listdir('/'))"), E),
    Abuse("walk a folder", returns("len(list(Path('/').iterdir()))", "from pathlib import Path"), E),
    Abuse("climb out of the folder", returns(f"int(open('../../../../../../..{FILE}').read())"), E),
    Abuse("read the process's environment", returns("len(open('/proc/self/environ').read())"), E),
    Abuse("read the process's memory map", returns("len(open('/proc/self/maps').read())"), E),
    Abuse("read a descriptor", returns("len(open(0).read())"), E),
    Abuse("read a descriptor by its path", returns("len(open('/proc/self/fd/0').read())"), E),
    Abuse("write a file", returns(f"open('{FILE}', 'w').write('1')"), E),
    Abuse("append to a file", returns(f"open('{FILE}', 'a').write('1')"), E),
    Abuse("delete a file", returns(f"Path('{FILE}').unlink()", "from pathlib import Path"), E),
    Abuse("rename a file", using("os", f"os.rename('{FILE}', '{FILE}.moved')"), E),
    Abuse("make a folder", using("os", f"os.mkdir('{FILE}.folder')"), E),
    Abuse("another module that opens files", using("io", f"io.open('{FILE}').read()"), E),
    Abuse("files in memory", using("tempfile", "tempfile.mkstemp()"), E),
)

ENVIRONMENT = (
    Abuse("read a variable", using("os", "int(os.getenv('AEX_CANARY'))"), E),
    Abuse("read all variables", using("os", "int(os.environ['AEX_CANARY'])"), E),
    Abuse("count the variables", using("os", "len(os.environ)"), E),
    Abuse("read the arguments", using("sys", "len(sys.argv)"), 1),
    Abuse("the user and the host", using("os", "os.uname()"), E),
    Abuse("random bytes of the host", using("os", "len(os.urandom(16))"), E),
    Abuse("the host's clock", using("time", "time.time()"), 1_767_225_600.0),
)

SOCKETS = (
    Abuse("connect", using("socket", f"socket.create_connection(('127.0.0.1', {PORT}))"), E),
    Abuse(
        "connect by the engine's own module", using("_socket", f"_socket.socket().connect(('127.0.0.1', {PORT}))"), E
    ),
    Abuse("fetch", using("urllib.request", f"urllib.request.urlopen('http://127.0.0.1:{PORT}').read()"), E),
    Abuse("speak HTTP", using("http.client", f"http.client.HTTPConnection('127.0.0.1', {PORT})"), E),
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
    Abuse("run a program", using("subprocess", "subprocess.check_output(['id'])"), E),
    Abuse("run a shell", using("os", "os.system('id')"), E),
    Abuse("read from a shell", using("os", "os.popen('id').read()"), E),
    Abuse("fork", using("os", "os.fork()"), E),
    Abuse("become another program", using("os", "os.execv('/bin/sh', ['sh'])"), E),
    Abuse("kill the service", using("os", "os.kill(os.getppid(), 9)"), E),
    Abuse("exit the process", using("os", "os._exit(0)"), E),
    Abuse("exit the interpreter", using("sys", "sys.exit(0)"), E),
    Abuse("start threads", using("threading", "threading.Thread(target=print).start()"), E),
    Abuse("start processes", using("multiprocessing", "multiprocessing.Process(target=print).start()"), E),
    Abuse("call into C", using("ctypes", "ctypes.string_at(0)"), E),
    Abuse("handle signals", using("signal", "signal.alarm(1)"), E),
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
    Abuse("import machinery", using("importlib", "importlib.import_module('os').system('id')"), E),
    Abuse("the loaded modules", using("sys", "len(sys.modules)"), E),
    Abuse("the frame", using("sys", "len(sys._getframe().f_back.f_globals)"), E),
    Abuse("globals", returns("len(globals())"), E),
    Abuse("variables of an object", returns("len(vars(output))"), E),
    Abuse("the collector's objects", using("gc", "len(gc.get_objects())"), E),
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
    Abuse("pickled code", using("pickle", "pickle.loads(b'cos\\nsystem\\n(S\"id\"\\ntR.')"), E),
    Abuse("reduce", using("copy", "len(copy.copy.__reduce_ex__(4))"), E),
    Abuse("the sandbox's own context", returns("int(len(__context) < 200)"), 1),
)
