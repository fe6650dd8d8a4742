"""Which code of a notebook is kept, and where its lines come from."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from goldsmith.courses.notebooks.convert import convert, is_notebook
from goldsmith.errors.notebooks import BadNotebook
from goldsmith.targets.target import NotebookModule
from support.notebooks import Cell, code, nbgrader_tests, notebook, text


def made(*cells: Cell, wanted: tuple[str, ...] = ()) -> NotebookModule:
    return convert(notebook(*cells).encode(), "work.ipynb", wanted)


def kept(*cells: Cell, wanted: tuple[str, ...] = ()) -> list[str]:
    lines = made(*cells, wanted=wanted).source.decode().splitlines()
    return [line for line in lines if line and not line.startswith("# cell")]


def test_only_what_definitions_need_is_kept() -> None:
    found = kept(
        "import os, math; print('hi')",
        "SIZE = 3\nOTHER = 4\nBASE = object",
        "@print\ndef f(x=SIZE):\n    return math.pi",
        "class A(BASE):\n    pass",
        "a = A()\nprint(a)",
    )
    assert found == [
        "import os, math",
        "SIZE = 3",
        "BASE = object",
        "@print",
        "def f(x=SIZE):",
        "    return math.pi",
        "class A(BASE):",
        "    pass",
    ]


def test_what_only_other_functions_need_when_called_is_not_computed() -> None:
    cells = ("data = download()", "def show():\n    return data", "LIMIT = 3\ndef model():\n    return LIMIT")
    assert "data = download()" not in kept(*cells, wanted=("model",))
    assert "LIMIT = 3" in kept(*cells, wanted=("model",))
    assert "data = download()" in kept(*cells)


@pytest.mark.parametrize(
    "statement",
    [
        "try:\n    import torch\nexcept ImportError:\n    torch = None",
        "if True:\n    from math import pi\nelse:\n    pi = 3",
        "try:\n    import apex\nexcept ImportError:\n    print('no apex')",
        "from __future__ import annotations",
        "A = B = C.real",
        "Model.forward = forward",
        "setattr(Model, 'other', forward)",
        "TABLE[1] = 2",
        "for word in WORDS:\n    TABLE[word] = len(TABLE)",
        "with open('x') as file:\n    FROM_FILE = file.read()",
        "COUNT += 1",
        "(LEFT, *RIGHT) = 1, 2, 3",
        "if LEFT:\n    CHOICE = 1\nelse:\n    CHOICE = 2",
    ],
)
def test_what_a_definition_uses_is_kept_however_it_is_written(statement: str) -> None:
    around = "TABLE = {}\nWORDS = []\nCOUNT = 0\nC = 1j\nclass Model: pass\ndef forward(self): pass"
    use = "def use():\n    return TABLE, COUNT, A, FROM_FILE, LEFT, RIGHT, CHOICE"
    found = "\n".join(kept(around, "LEFT = 1", statement, use))
    assert statement in found


def test_a_main_block_and_training_loops_are_left_out() -> None:
    main = "if __name__ == '__main__':\n    import sys\n    def helper(): pass\n    helper()"
    loop = "while True:\n    loss.backward()\n    best = 1"
    module = made("def f():\n    return best", main, loop)
    assert b"__main__" not in module.source
    assert module.missing == {"best": "cell 3, line 1, which was left out: it trains"}


def test_a_class_that_extends_itself_keeps_both_definitions_and_is_no_note() -> None:
    module = made("class A:\n    x = 1", "class A(A):\n    y = 2")
    scope: dict[str, Any] = {}
    exec(module.source, scope)
    assert (scope["A"].x, scope["A"].y, module.notes) == (1, 2, ())


def test_the_last_definition_counts_and_the_first_is_a_note() -> None:
    module = made("def f(): return 1", "def f(): return 2")
    scope: dict[str, Any] = {}
    exec(module.source, scope)
    assert scope["f"]() == 2
    assert module.notes == ("f is defined 2 times: cell 2 counts, not cell 1",)


def test_an_earlier_cell_gets_what_it_needs_at_once_from_a_later_one() -> None:
    module = made("class A(Base):\n    size = SIZE", "import abc\nclass Base(abc.ABC): pass", "SIZE = 2")
    exec(module.source, {})
    assert "cell 1 uses Base before cell 2 defines it; it was defined first here" in module.notes


def test_lines_that_only_look_like_magics_stay() -> None:
    source = 'TEXT = """\n%matplotlib\n!ls\n"""\nREST = (7\n% 4)\n%time\ndef f():\n    return TEXT, REST'
    scope: dict[str, Any] = {}
    exec(made(source).source, scope)
    assert scope["f"]() == ("\n%matplotlib\n!ls\n", 3)


def test_a_magic_in_a_block_leaves_the_block_valid() -> None:
    source = "try:\n    import json\nexcept ImportError:\n    !pip install json\n    %pip install x \\\n  y"
    exec(made(source).source, {})


def test_cells_are_counted_as_jupyter_counts_them() -> None:
    module = made(text("# Title"), "x = 1", "", "  \n", "!ls", "def f():\n    return 1")
    assert [(cell, line) for _, cell, line in module.places] == [(3, 1)]


def test_tests_of_graders_are_left_out_and_given_code_is_kept() -> None:
    found = kept(
        code("import math", nbgrader={"grade": False, "locked": True, "solution": False}),
        code("def f():\n    return 1", nbgrader={"grade": True, "solution": True}),
        nbgrader_tests("def f():\n    return 2"),
        "# TEST\ndef f():\n    return 3",
        "import otter\ngrader = otter.Notebook()",
    )
    assert found == ["import math", "def f():", "    return 1"]


def test_what_every_cell_has_from_ipython_is_imported() -> None:
    assert "from IPython.display import display" in kept("def f(x):\n    display(x)")


def test_a_broken_last_definition_leaves_the_others_in_place() -> None:
    module = made("def f(): return 1\ndef g(): return 2", "def f( return", wanted=("f", "g"))
    scope: dict[str, Any] = {"__file__": "f.py"}
    with pytest.raises(SyntaxError) as raised:
        exec(module.source, scope)
    assert "f" not in scope
    assert scope["g"]() == 2
    assert raised.value.lineno
    assert module.place(raised.value.lineno) == (2, 1)


def test_what_is_said_of_a_notebook_is_short_whatever_its_names_are() -> None:
    long = "x" * 10**5
    module = made(f"def {long}(): return y{long}", f"def {long}(: pass", f"%%bash\ny{long} = 1", wanted=(long,))
    said = [*module.notes, *module.missing, *module.missing.values(), *module.errors.values()]
    assert said
    assert max(map(len, said)) < 1000


def test_text_that_is_no_text_is_left_out_and_told() -> None:
    module = made("def f(): return 1", "Y = 1\0")
    assert module.notes[0].startswith("cell 2 was left out: Python cannot parse it")


def test_an_old_notebook_with_worksheets_is_read() -> None:
    cells = [{"cell_type": "code", "input": ["def f():\n", "    return 1"], "language": "python", "outputs": []}]
    old = json.dumps({"metadata": {}, "nbformat": 3, "worksheets": [{"cells": cells}]})
    assert b"def f():" in convert(old.encode(), "old.ipynb").source


def test_a_hundred_megabytes_of_outputs_are_skipped() -> None:
    output = [{"output_type": "display_data", "data": {"image/png": "A" * 100 * 2**20}, "metadata": {}}]
    cell = {**code("def f():\n    return 1"), "outputs": output}
    assert len(convert(notebook(cell).encode(), "large.ipynb").source) < 100


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (notebook("x = [" + "1, " * 2**20 + "]"), "512 KiB of code"),
        (notebook("x = 1\n" * 20_001), "more than 20000 statements"),
        ('{"cells": [{"cell_type": "code", "source": 3}]}', "it is no Jupyter notebook"),
        ("[" * 100_000, "Jupyter notebook"),
    ],
)
def test_what_nobody_wrote_is_refused(content: str, problem: str) -> None:
    with pytest.raises(BadNotebook, match=problem):
        convert(content.encode(), "odd.ipynb")


PERCENT = """\
# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # Title

# %%
import math

# %% nbgrader={"grade": true, "solution": false}
def f():
    return 0

# %%
# %matplotlib inline
def f():
    return math.pi
"""

MARIMO = """\
import marimo

__generated_with = "0.9.0"
app = marimo.App(width="medium")


@app.cell
def __(math):
    def f():
        return math.pi
    return (f,)


@app.cell
def __():
    import math
    return (math,)


@app.function
def g():
    return 2


if __name__ == "__main__":
    app.run()
"""

MARKDOWN = """\
---
jupyter:
  kernelspec:
    language: python
---
# Title

```python
import math
```

```{code-cell} ipython3
:tags: [x]
def f():
    return math.pi
```

```bash
ls
```
"""

NBCONVERT = """\
#!/usr/bin/env python
# coding: utf-8

# In[1]:


import math
get_ipython().run_line_magic('matplotlib', 'inline')


# In[ ]:


def f():
    return math.pi
"""


LIGHT = """\
# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:light
# ---

# # Title

import math

# + [markdown]
# Some words.

# +
print(undefined_name)

def f():
    return math.pi
"""

COLAB = '''\
# -*- coding: utf-8 -*-
"""hw1.ipynb

Automatically generated by Colab.

Original file is located at
    somewhere
"""

# Commented out IPython magic to ensure Python compatibility.
# %matplotlib inline
import math
from google.colab import drive

drive.mount("/content/drive")

"""## Text"""

def f():
    return math.pi
'''


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.py", PERCENT), ("a.py", LIGHT), ("a.py", MARIMO), ("a.md", MARKDOWN), ("a.py", NBCONVERT), ("a.py", COLAB)],
    ids=["percent", "light", "marimo", "markdown", "nbconvert", "colab"],
)
def test_notebooks_that_are_text_are_known_by_how_they_begin(name: str, content: str) -> None:
    assert is_notebook(name, content.encode())
    module = convert(content.encode(), name)
    scope: dict[str, Any] = {}
    exec(module.source.replace(b"from google.colab import drive", b""), scope)
    assert round(scope["f"](), 2) == 3.14
    lines = content.splitlines()
    for number, line in enumerate(module.source.decode().splitlines(), 1):
        cell, inside = module.place(number)
        if inside and line and not line.startswith("# line"):
            assert (cell, lines[inside - 1].strip()) == (0, line.strip())


@pytest.mark.parametrize("content", ["import marimo\n", "# %%\nimport math\n", '"""A module."""\n', "# ---\n# a: b\n"])
def test_an_ordinary_module_is_no_notebook(content: str) -> None:
    assert not is_notebook("a.py", content.encode())


def test_semicolons_and_unicode_are_split_where_they_are() -> None:
    source = textwrap.dedent("π = 'ü'; print(π); ö = π; x = '''a\n'''; y = ö\ndef f(): return y, x")
    scope: dict[str, Any] = {}
    exec(made(source).source, scope)
    assert scope["f"]() == ("ü", "a\n")
