"""Code that uses up what there is: time, memory, stack, and what it may print."""

from collections.abc import Mapping

from aex_outcomes.sandbox.port import FaultKind
from tests.security.sandbox.case import NO_SYNTAX, SPENT, Abuse, E, body, returns, using

TIME = FaultKind.TIMEOUT
MEMORY = FaultKind.MEMORY
PRINTED = FaultKind.TOO_MUCH_OUTPUT

CASES: Mapping[str, tuple[Abuse, ...]] = {
    "loops": (
        Abuse("forever", body("while True: pass"), TIME),
        Abuse("forever, before evaluate", "while True: pass\n" + returns("1"), TIME),
        Abuse(
            "forever, whatever is raised",
            body("while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
            TIME,
        ),
        Abuse("forever, at the end", body("try:\n    return 1\nfinally:\n    while True: pass"), TIME),
        Abuse(
            "forever within sorted", body("def key(x):\n    while True: pass\nreturn sorted([2, 1], key=key)[0]"), TIME
        ),
        Abuse("a long sort", returns("sorted(range(3_000_000), key=lambda x: sum(range(200)))[0]"), TIME),
        Abuse(
            "forever within a comparison",
            body("return A() == A()", "class A:\n    def __eq__(self, other):\n        while True: pass"),
            TIME,
        ),
        Abuse(
            "forever within a format",
            body("return len(str(A()))", "class A:\n    def __str__(self):\n        while True: pass"),
            TIME,
        ),
        Abuse("sleep for a year", body("for _ in range(365): time.sleep(86_400)\nreturn 1", "import time"), 1),
        Abuse(
            "a coroutine forever",
            body("async def f():\n    while True: await asyncio.sleep(1)\nreturn asyncio.run(f())", "import asyncio"),
            TIME,
        ),
        Abuse("a long count", returns("sum(1 for _ in range(10**12))"), SPENT),
        Abuse("a long product", using("itertools", "len(list(itertools.product(range(1000), repeat=4)))"), SPENT),
        Abuse("an endless count", using("itertools", "max(itertools.count())"), TIME),
        Abuse(
            "a search in a long text", returns("sum('a' * i + 'b' in 'a' * 1_000_000 for i in range(100_000))"), TIME
        ),
    ),
    "integers": (
        Abuse("a tower of powers", returns("9 ** 9 ** 9 % 10"), SPENT),
        Abuse("a long power", returns("7 ** 10_000_000 % 2"), TIME),
        Abuse("a long shift", returns("(1 << 10 ** 10) % 2"), MEMORY),
        Abuse("a factorial", using("math", "math.factorial(10 ** 6) % 2"), TIME),
        Abuse("a binomial", using("math", "math.comb(10 ** 7, 5 * 10 ** 6) % 2"), TIME),
        Abuse("doubling digits", body("x = 3\nwhile True: x = x * x"), SPENT),
        Abuse("many digits to text", returns("len(str(1 << 1_000_000))"), E),
        Abuse("text to many digits", returns("int('9' * 1_000_000) % 2"), E),
        Abuse("a modular power", returns("pow(3, 1 << 200_000, (1 << 20_000) - 1) % 2"), TIME),
        Abuse(
            "a decimal of many digits", returns("int(Decimal('1e9999999')) % 2", "from decimal import Decimal"), SPENT
        ),
    ),
    "memory": (
        Abuse("append forever", body("kept = []\nwhile True: kept.append('x' * 100_000 + str(len(kept)))"), SPENT),
        Abuse("a long text", returns("len('x' * 10 ** 10)"), MEMORY),
        Abuse("a long list", returns("len([0] * 10 ** 10)"), MEMORY),
        Abuse("long bytes", returns("len(b'x' * 10 ** 10)"), MEMORY),
        Abuse("doubling text", body("x = 'x'\nwhile True: x = x + x"), SPENT),
        Abuse("doubling lists", body("x = [0]\nwhile True: x = x + x"), SPENT),
        Abuse("a wide format", returns("len('{:>10000000000}'.format(1))"), SPENT),
        Abuse("a wide text", returns("len('x'.ljust(10 ** 10))"), MEMORY),
        Abuse("replaced many times", returns("len(('x' * 100_000).replace('x', 'y' * 100_000))"), SPENT),
        Abuse("joined many times", returns("len(('y' * 100_000).join(['x'] * 100_000))"), SPENT),
        Abuse("a growing dict", body("kept = {}\nwhile True: kept[len(kept)] = str(len(kept))"), SPENT),
        Abuse("a growing set", body("kept = set()\nwhile True: kept.add(str(len(kept)) * 50)"), SPENT),
        Abuse("nested without end", body("x = []\nwhile True: x = [x]"), SPENT),
        Abuse(
            "JSON of one list many times",
            body("x = [0] * 1000\nfor _ in range(5): x = [x] * 100\nreturn len(json.dumps(x))", "import json"),
            SPENT,
        ),
        Abuse(
            "text of one list many times",
            body("x = [0] * 1000\nfor _ in range(5): x = [x] * 100\nreturn len(str(x))"),
            SPENT,
        ),
        Abuse(
            "growing, whatever is raised",
            body("kept = []\nwhile True:\n    try: kept.append('x' * 1_000_000)\n    except BaseException: pass"),
            SPENT,
        ),
        Abuse(
            "a cache without end",
            body(
                "n = 0\nwhile True:\n    f(n)\n    n += 1",
                "import functools\n@functools.lru_cache(maxsize=None)\ndef f(n): return 'x' * 10_000",
            ),
            SPENT,
        ),
        Abuse("a substitution that grows", using("re", "len(re.sub('x', 'y' * 100_000, 'x' * 100_000))"), SPENT),
    ),
    "patterns": (
        Abuse("nested repeats", using("re", "int(bool(re.match('(a+)+$', 'a' * 5_000 + 'b')))"), 0),
        Abuse("overlapping choices", using("re", "int(bool(re.match('(a|aa)+$', 'a' * 5_000 + 'b')))"), 0),
        Abuse("many stars", using("re", "int(bool(re.match('(.*a){25}b', 'a' * 3_000)))"), 0),
        Abuse("a repeat of repeats", using("re", "int(bool(re.match('(((a{1,1000}){1,1000}){1,1000})', 'a')))"), E),
        Abuse("back references", using("re", "int(bool(re.match(r'(a*)*\\1b', 'a' * 5_000)))"), E),
        Abuse("looking ahead", using("re", "int(bool(re.match('(?=(a+)+b)(a+)+c', 'a' * 5_000)))"), 0),
    ),
    "recursion": (
        Abuse("itself", body("return evaluate(input, output, metadata)"), E),
        Abuse("each other", body("return f(0)", "def f(n): return g(n)\ndef g(n): return f(n)"), E),
        Abuse("by sorting", body("return f(0)", "f = lambda n: sorted([n], key=f)[0]"), E),
        Abuse(
            "by its own text", body("return len(str(A()))", "class A:\n    def __repr__(self): return repr(self)"), E
        ),
        Abuse(
            "comparing what is deep",
            body("x, y = [], []\nfor _ in range(100_000):\n    x, y = [x], [y]\nreturn x == y"),
            E,
        ),
        Abuse("hashing what is deep", body("x = ()\nfor _ in range(100_000): x = (x,)\nreturn hash(x)"), E),
        Abuse(
            "copying what is deep",
            body("x = []\nfor _ in range(100_000): x = [x]\nreturn len(copy.deepcopy(x))", "import copy"),
            E,
        ),
        Abuse("JSON that is deep", using("json", "len(json.loads('[' * 100_000 + ']' * 100_000))"), E),
        Abuse(
            "JSON that is deep, and no line of the code's own",
            "import json\nevaluate = eval(\"lambda input, output, metadata: json.loads('[' * 100_000)\")",
            E,
        ),
        Abuse("code that is deep", returns("eval('(' * 50_000 + '1' + ')' * 50_000)"), NO_SYNTAX),
    ),
    "prints": (
        Abuse("print forever", body("while True: print('x' * 1000)"), PRINTED),
        Abuse("print in small pieces", body("while True: print('x', end='')"), PRINTED),
        Abuse("print much at once", body("print('x' * 50_000_000)\nreturn 1"), PRINTED),
        Abuse("print what is wide", body("print('é' * 40_000)\nreturn 1"), PRINTED),
        Abuse("print errors", body("print('x' * 100_000, file=sys.stderr)\nreturn 1", "import sys"), PRINTED),
        Abuse("print before evaluate", "print('x' * 100_000)\n" + returns("1"), PRINTED),
        Abuse(
            "print, whatever is raised",
            body("try:\n    print('x' * 1_000_000)\nexcept BaseException: pass\nreturn 1"),
            PRINTED,
        ),
        Abuse("print what looks like an answer", body('print(\'{"result": {}, "retire": false}\')\nreturn 1'), 1),
    ),
}
