"""Code that returns no metric, raises no message, is no code, or leaves something behind."""

from aex_outcomes.sandbox.port import FaultKind
from tests.security.sandbox.case import NO_SYNTAX, SPENT, Abuse, E, body, returns, using

BAD = FaultKind.BAD_RESULT

RESULTS = (
    Abuse("nothing", body("pass"), BAD),
    Abuse("a text", returns("'1'"), BAD),
    Abuse("a list", returns("[1]"), BAD),
    Abuse("not a number", returns("float('nan')"), BAD),
    Abuse("infinity", returns("{'m': float('inf')}"), BAD),
    Abuse("a huge integer", returns("10 ** 400"), BAD),
    Abuse("an integer that no double holds", returns("2 ** 53 + 1"), BAD),
    Abuse("a complex number", returns("1j"), BAD),
    Abuse("a dict in a dict", returns("{'m': {'x': 1}}"), BAD),
    Abuse("too many metrics", returns("{f'k{i}': i for i in range(65)}"), BAD),
    Abuse("a million metrics", returns("{str(i): i for i in range(1_000_000)}"), SPENT),
    Abuse("a long key", returns("{'k' * 129: 1, 'm': 1}"), BAD),
    Abuse("a key with a line break", returns("{'k\\n': 1, 'm': 1}"), BAD),
    Abuse("a key that is no text", returns("{1: 1, 'm': 1}"), BAD),
    Abuse("a key that is true", returns("{True: 1, 'm': 1}"), BAD),
    Abuse("a key in letters of another script", returns("{'\\u043c': 1}"), BAD),
    Abuse("metrics that are a list", returns("{'metrics': [1]}"), BAD),
    Abuse("more beside the metrics", returns("{'metrics': {'m': 1}, 'm': 1}"), BAD),
    Abuse("an instance", returns("A()", "class A: pass"), BAD),
    Abuse("a class", returns("A", "class A: pass"), BAD),
    Abuse("a function", returns("evaluate"), BAD),
    Abuse("a module", using("json", "json"), BAD),
    Abuse("a coroutine", returns("f()", "async def f(): return 1"), BAD),
    Abuse("itself", body("x = {}\nx['m'] = x\nreturn x"), BAD),
    Abuse("one list ten billion times", body("x = [1]\nfor _ in range(60): x = [x, x]\nreturn {'m': x}"), BAD),
    Abuse("a million lists in each other", body("x = 1\nfor _ in range(300_000): x = [x]\nreturn x"), BAD),
    Abuse("a long text", returns("'x' * 80_000_000"), SPENT),
    Abuse("another name's entry", returns("{'other': 1}"), BAD),
    Abuse("a number like a built-in metric's", returns("{'accuracy': 1, 'rougeL': 1, 'm': 0.25}"), 0.25),
)

RAISED = (
    Abuse("a long message", body("raise ValueError('x' * 80_000_000)"), SPENT),
    Abuse("a long key that is missing", body("return output['x' * 80_000_000]"), SPENT),
    Abuse("a long assertion", body("assert False, 'x' * 80_000_000"), SPENT),
    Abuse("a long path", returns("open('x' * 50_000_000)"), SPENT),
    Abuse("a long line, many times over", "def f(n): return f(n + 1) #" + "x" * 200_000 + returns("f(0)", "\n"), SPENT),
    Abuse("a message that looks like the sandbox's", body("raise TimeoutError('feed time limit')"), E),
    Abuse("an exit", body("raise SystemExit(0)"), E),
    Abuse("an interrupt", body("raise KeyboardInterrupt"), E),
    Abuse("a stop", body("raise StopIteration"), E),
    Abuse("what is no exception", body("raise 1"), E),
    Abuse("surrogates", body("raise ValueError('\\ud800')"), E),
)

PARSERS = (
    Abuse("brackets in brackets", returns("(" * 100_000 + "1" + ")" * 100_000), NO_SYNTAX),
    Abuse("open brackets", "[" * 250_000, NO_SYNTAX),
    Abuse("many signs", returns("-" * 200_000 + "1"), NO_SYNTAX),
    Abuse("a chain of attributes", returns("input" + ".a" * 100_000), NO_SYNTAX),
    Abuse("a chain of calls", returns("evaluate" + "()" * 100_000), NO_SYNTAX),
    Abuse("a chain of powers", returns("1" + "**1" * 70_000), NO_SYNTAX),
    Abuse(
        "blocks in blocks", "\n".join(" " * depth + "if 1:" for depth in range(600)) + "\n" + returns("1"), NO_SYNTAX
    ),
    Abuse("lambdas in lambdas", returns("lambda: " * 25_000 + "1"), NO_SYNTAX),
    Abuse("many parts of a text", returns("len(f'" + "{1}" * 60_000 + "')"), 60_000),
    Abuse("many names", "\n".join(f"v{i}=1" for i in range(25_000)) + returns("1", "\n"), 1),
    Abuse("as much code as is taken", "x = 1\n" * 43_600 + returns("1"), 1),
    Abuse("more code than is taken", "x = 1\n" * 43_700 + returns("1"), NO_SYNTAX),
    Abuse("a long integer", returns("1" * 200_000), NO_SYNTAX),
    Abuse("a null character", returns("len('\x00')"), 1),
    Abuse("an open text that takes the end with it", returns("1") + "x = '''", NO_SYNTAX),
    Abuse("no function", "x = 1", E),
    Abuse("an answer without evaluate", "return 1e9", 1e9),
    Abuse("a backslash at the end", returns("1") + "\\", 1),
)

LEFT_BEHIND = (
    Abuse("a name", "global left\nleft = 1\n" + returns("left"), 1),
    Abuse("and whether it is still there", returns("left"), E),
    Abuse("a built-in replaced", "len = lambda x: 999\n" + returns("len([])"), 999),
    Abuse("and whether it is as it was", returns("len([])"), 0),
    Abuse("a module changed", body("json.loads = lambda x: [{}, {}, {}]\nreturn 1", "import json"), E),
    Abuse("a module's list changed", body("sys.argv.append('left')\nreturn len(sys.argv)", "import sys"), 2),
    Abuse("and whether it is as it was", using("sys", "len(sys.argv)"), 1),
    Abuse("the random numbers", body("random.seed(7)\nrandom.random()\nreturn 1", "import random"), 1),
    Abuse("and whether they restart", using("random", "round(random.random(), 6)"), 0.844422),
    Abuse("the sandbox's own names", "__json = None\n__context = '[0, 0, 0]'\n" + returns("1"), 1),
    Abuse("an attribute of a function", body("evaluate.left = 1\nreturn 1"), E),
    Abuse("the arguments", body("input['left'] = 1\nreturn len(input)"), 2),
    Abuse("and whether they are as they were", returns("len(input)"), 1),
)
