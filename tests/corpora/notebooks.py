"""Notebooks handed in for the course of `support.check_course`, each with the truth about it.

They look like those of courses: plain ones, nbgrader's and otter's, from Colab, out of order, half-finished.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from support.notebooks import Cell, code, nbgrader_answer, nbgrader_tests, notebook, text

IMPORT = "import numpy as np"
MEAN = "def mean_of(x):\n    return x.mean(axis=-1, keepdims=True)"
CENTRE = "def centre(x):\n    return x - mean_of(x)"
SCALE = "def scale(x, factor=3.0):\n    return x * factor"
COUNTER = (
    "class Counter:\n    def __init__(self, size):\n        self.start = np.random.randn(size)\n\n"
    "    def total(self, x):\n        return self.start + x.sum(axis=0)"
)
ALL = (IMPORT, MEAN, CENTRE, SCALE, COUNTER)
RIGHT = {"centred": "agrees", "scaled": "agrees", "counted": "agrees"}
TRAINING = (
    "model = Counter(3)\nfor epoch in range(10**9):\n    loss = model.total(np.ones((2, 3)))\n    loss.backward()"
)


@dataclass(frozen=True)
class HandedIn:
    """A notebook, what is true of each case, and texts that its feedback must contain."""

    cells: tuple[Cell, ...]
    outcomes: dict[str, str] = field(default_factory=dict)
    says: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        return notebook(*self.cells)

    @property
    def truth(self) -> dict[str, str]:
        return RIGHT | self.outcomes


def _wrong(case: str, outcome: str = "differs") -> dict[str, str]:
    return {case: outcome}


NOTEBOOKS = {
    "plain": HandedIn(ALL),
    "one-cell": HandedIn(("\n\n".join(ALL),)),
    "with-text-and-output": HandedIn((text("# Homework"), *ALL, "print(centre(np.ones((2, 2))))", "1 / 0")),
    "magics": HandedIn(
        (
            "%matplotlib inline\n%load_ext autoreload\n%autoreload 2",
            f"!pip install numpy \\\n    --quiet\n{IMPORT}\nnp.mean?",
            f"%%time\n{MEAN}\n{CENTRE}",
            f"%%capture\n{SCALE}",
            COUNTER,
            "%timeit centre(np.ones((3, 3)))",
            "%%bash\nrm -rf /tmp/nothing",
        )
    ),
    "colab": HandedIn(
        (
            "from google.colab import drive, files\ndrive.mount('/content/drive')\n%cd /content/drive/MyDrive",
            "from IPython.display import display, clear_output\nimport ipywidgets as widgets",
            "from tqdm.notebook import tqdm",
            IMPORT,
            MEAN,
            "def centre(x):\n    out = np.empty_like(x)\n    for i in tqdm(range(len(x))):\n"
            "        out[i] = x[i] - mean_of(x[i])\n    display(out)\n    return out",
            SCALE,
            COUNTER,
            "uploaded = files.upload()",
        )
    ),
    "training-and-plots": HandedIn(
        (*ALL, TRAINING, "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", "history = [loss]")
    ),
    "downloads": HandedIn(
        (
            IMPORT,
            "import urllib.request\ndata = urllib.request.urlopen('http://localhost:9/data.npz').read()",
            "def batches():\n    yield from data",
            *ALL[1:],
        )
    ),
    "functions-out-of-order": HandedIn((CENTRE, SCALE, COUNTER, MEAN, IMPORT)),
    "import-at-the-end": HandedIn(
        (
            "class Base(abc.ABC):\n    pass",
            *ALL[1:4],
            COUNTER.replace("Counter:", "Counter(Base):"),
            f"{IMPORT}\nimport abc",
        ),
        says=("uses abc before cell 6 defines it",),
    ),
    "constants": HandedIn(
        (
            IMPORT,
            "AXIS = -1\nOPTIONS = {}\nOPTIONS['keepdims'] = True\nOPTIONS.update(axis=AXIS)",
            "def mean_of(x):\n    return x.mean(**OPTIONS)",
            *ALL[2:],
        )
    ),
    "imports-what-is-given": HandedIn((f"{IMPORT}\nfrom ops import mean_of", CENTRE, SCALE, COUNTER)),
    "imports-all-that-is-given": HandedIn(("from ops import *", IMPORT, CENTRE, SCALE, COUNTER)),
    "monkey-patched": HandedIn(
        (*ALL[:4], COUNTER.replace("return self.start + x.sum(axis=0)", "raise NotImplementedError"),
         "def total(self, x):\n    return self.start + x.sum(axis=0)\n\nCounter.total = total")
    ),
    "extended-cell-by-cell": HandedIn(
        (
            *ALL[:4],
            "def add_to_class(kind):\n    def wrap(function):\n        setattr(kind, function.__name__, function)\n"
            "        return function\n    return wrap",
            "class Counter:\n    def __init__(self, size):\n        self.start = np.random.randn(size)",
            "@add_to_class(Counter)\ndef total(self, x):\n    return self.start + x.sum(axis=0)",
        )
    ),
    "second-definition-right": HandedIn(
        (*ALL[:3], SCALE.replace("x * factor", "x + factor"), COUNTER, SCALE),
        says=("scale is defined 2 times: cell 6 counts, not cell 4",),
    ),
    "second-definition-wrong": HandedIn((*ALL, SCALE.replace("x * factor", "x + factor")), _wrong("scaled")),
    "second-definition-broken": HandedIn(
        (*ALL, "# once more\ndef scale(x, factor=3.0)\n    return x * factor"),
        _wrong("scaled", "could not run"),
        says=("SyntaxError: expected ':' (second-definition-broken.ipynb, cell 6, line 2)",),
    ),
    "scratch-cell-broken": HandedIn(
        (*ALL, "for x in range(3) print(x)"), says=("cell 6 was left out: Python cannot parse it",)
    ),
    "wrong": HandedIn((*ALL[:2], "def centre(x):\n    return x + mean_of(x)", *ALL[3:]), _wrong("centred")),
    "raises": HandedIn(
        (*ALL[:3], "def scale(x, factor=3.0):\n    y = x * factor\n    return y[\n        7, 7]", COUNTER),
        _wrong("scaled", "could not run"),
        says=("raises.ipynb, cell 4, line",),
    ),
    "half-finished": HandedIn(
        ALL[:3], {"scaled": "could not run", "counted": "could not run"}, says=("ops.scale is not in the submission",)
    ),
    "left-to-write": HandedIn(
        (*ALL[:3], "def scale(x, factor=3.0):\n    # TODO: multiply by factor\n    raise NotImplementedError", COUNTER),
        _wrong("scaled", "could not run"),
    ),
    "name-of-a-skipped-cell": HandedIn(
        (*ALL[:3], "%%javascript\nFACTOR = 3", "def scale(x, factor=3.0):\n    return x * FACTOR", COUNTER),
        _wrong("scaled", "could not run"),
        says=("FACTOR is only defined in cell 4, which was left out: %%javascript is not Python",),
    ),
    "name-of-a-training-loop": HandedIn(
        (
            *ALL[:3],
            "for step in range(10**9):\n    best = 3\n    best.backward()",
            "def scale(x, factor=3.0):\n    return x * best",
            COUNTER,
        ),
        _wrong("scaled", "could not run"),
        says=("best is only defined in cell 4, line 1, which was left out: it trains",),
    ),
    "nbgrader": HandedIn(
        (
            code(IMPORT, nbgrader={"grade": False, "grade_id": "i", "locked": True, "solution": False}),
            nbgrader_answer(f"{MEAN}\n{CENTRE}"),
            nbgrader_tests("import not_installed_here\ndef centre(x):\n    return None\nassert centre(1) is None"),
            nbgrader_answer(f"{SCALE}\n### BEGIN HIDDEN TESTS\nscale = None\n### END HIDDEN TESTS"),
            nbgrader_answer(COUNTER),
        )
    ),
    "otter": HandedIn(
        (
            code("# Initialize Otter\nimport otter\ngrader = otter.Notebook('hw1.ipynb')", deletable=False),
            IMPORT,
            MEAN,
            CENTRE,
            code('grader.check("q1")', deletable=False, editable=False),
            text("# BEGIN TESTS", "raw"),
            "def scale(x, factor=3.0):\n    return None",
            text("# END TESTS", "raw"),
            SCALE,
            COUNTER,
            "grader.check_all()",
            "grader.export(pdf=False)",
        )
    ),
}  # fmt: skip
