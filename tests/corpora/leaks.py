"""Files that leak the bundled course's solutions, and files that do not: what `goldsmith guard` is measured on.

PYTHONPATH=tests python -m corpora.leaks
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tempfile
import textwrap
from pathlib import Path

from corpora.packed_leaks import FORMS
from goldsmith.courses.guard.leaks import Guarded, leaks_in
from goldsmith.courses.guard.nested_files import unpacked
from goldsmith.courses.guard.scan import guarded_by
from goldsmith.courses.layout.example import copy_example

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "vla-course"


def solution(name: str) -> str:
    (path,) = (EXAMPLE / "private" / "solutions" / name).glob("*_solution.py")
    return path.read_text()


def starter(path: str) -> str:
    return (EXAMPLE / "src" / "assignments" / path).read_text()


def function(source: str, name: str) -> str:
    """The text of a function or method, dedented."""
    *owner, last = name.split(".")
    for node in ast.walk(ast.parse(source)):
        inside = not owner or (isinstance(node, ast.ClassDef) and node.name == owner[0])
        for item in getattr(node, "body", []) if inside else []:
            if isinstance(item, ast.FunctionDef) and item.name == last:
                return textwrap.dedent("\n".join(source.splitlines()[item.lineno - 1 : item.end_lineno]))
    raise LookupError(name)


def renamed(text: str, **names: str) -> str:
    for old, new in names.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text


def notebook(*cells: tuple[str, str]) -> str:
    listed = [{"cell_type": kind, "source": text.splitlines(keepends=True), "metadata": {}} for kind, text in cells]
    return json.dumps({"cells": listed, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}, indent=1)


BACKBONE, VISION, POLICY = solution("scratch-1"), solution("scratch-2"), solution("scratch-3")
ATTENTION = function(BACKBONE, "CausalSelfAttention.forward")
NORM = function(BACKBONE, "RMSNorm.forward")
ROTARY = function(BACKBONE, "RotaryEmbedding.forward")
TRAIN = function(BACKBONE, "train_epoch")
LOSS = function(POLICY, "FlowPolicy.loss")
ACT = function(POLICY, "FlowPolicy.act")
EMBED = function(POLICY, "time_embedding")
BODY = textwrap.dedent(ATTENTION.partition("\n")[2])
STUB = starter("scratch-1/backbone.py")
SPREAD = ATTENTION.replace("(-2, -1)", "(\n            -2,\n            -1,\n        )").replace(
    " / ", "\\\n            / "
)

CONFLICT = BACKBONE.replace("class FeedForward", "<<<<<<< HEAD\nclass FeedForward", 1).replace(
    "class TransformerBlock", "=======\n>>>>>>> other\nclass TransformerBlock", 1
)
PATCH = "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,20 @@\n" + "\n".join(f"+{line}" for line in ATTENTION.splitlines())

LEAKS: dict[str, tuple[str, str | bytes]] = {
    "the whole solution under another name": ("src/assignments/scratch-1/reference.py", BACKBONE),
    "the whole solution over the starter": ("src/assignments/scratch-1/backbone.py", BACKBONE),
    "one method filled in": (
        "src/assignments/scratch-1/backbone.py",
        STUB.replace("        raise NotImplementedError", textwrap.indent(NORM.partition("\n")[2], "    "), 1),
    ),
    "one function in a file of helpers": ("src/helpers.py", f"import torch\n\n\n{TRAIN}\n"),
    "variables renamed": (
        "src/extra.py",
        renamed(ATTENTION, q="a", k="b", v="c", scores="s", future="m", batch="n", length="t", dim="d", attended="o"),
    ),
    "function and arguments renamed": ("src/extra.py", renamed(ROTARY, forward="spin", x="inputs", cos="c", sin="s")),
    "attributes renamed": ("src/extra.py", renamed(ATTENTION, qkv_proj="fused", out_proj="final", rope="positions")),
    "formatted otherwise": ("src/extra.py", SPREAD),
    "annotated and commented": (
        "src/extra.py",
        "def forward(self, x: torch.Tensor) -> torch.Tensor:\n"
        '    """Normalise, as Zhang and Sennrich do."""\n    # the mean of squares first\n'
        + NORM.partition("\n")[2].replace("mean_square =", "mean_square: torch.Tensor ="),
    ),
    "other import names": (
        "src/extra.py",
        "import torch.nn.functional as func\nfrom torch import nn\n\n"
        + function(BACKBONE, "next_token_loss").replace("F.cross_entropy", "nn.functional.cross_entropy"),
    ),
    "moved into another class": ("src/lib/layers.py", f"class Other:\n{textwrap.indent(ATTENTION, '    ')}\n"),
    "a method made a function": ("src/extra.py", renamed(ATTENTION, self="layer")),
    "in a notebook": ("notebooks/intro.ipynb", notebook(("code", TRAIN))),
    "in a notebook with magics": ("notebooks/intro.ipynb", notebook(("code", f"%time\n!ls\n{EMBED}"))),
    "in a notebook's text": ("notebooks/intro.ipynb", notebook(("markdown", f"Try:\n\n```python\n{ACT}\n```\n"))),
    "in Markdown": ("docs/hints.md", f"# Hints\n\n```python\n{LOSS}\n```\n"),
    "in Markdown, in a list": (
        "docs/hints.md",
        f"- like so\n\n{textwrap.indent(f'~~~py{chr(10)}{TRAIN}{chr(10)}~~~', '  ')}\n",
    ),
    "in Markdown, quoted": ("README.md", "\n".join(f"> {line}" for line in f"```\n{ATTENTION}\n```".splitlines())),
    "the body alone, in Markdown": ("docs/hints.md", f"```\n{BODY}\n```\n"),
    "commented out below the stub": (
        "src/assignments/scratch-1/backbone.py",
        STUB + "\n" + "\n".join(f"# {line}" for line in TRAIN.splitlines()) + "\n",
    ),
    "in a string": ("src/extra.py", f'HINT = """\n{ATTENTION}\n"""\n'),
    "in a backup": ("src/assignments/scratch-1/backbone.py.bak", BACKBONE),
    "in a text file": ("notes.txt", f"see\n\n```\n{LOSS}\n```\n"),
    "as reference in a public test": (
        "tests/public/test_norm.py",
        f"import torch\n\n\ndef test_norm():\n    def expected(self, x):\n{textwrap.indent(NORM.partition(chr(10))[2], '    ')}\n\n    assert expected\n",
    ),
    "cut into two functions": (
        "src/extra.py",
        "def first(self, x):\n" + "\n".join(ATTENTION.splitlines()[1:7]) + "\n    return self.second(q, k, v)\n\n\n"
        "def second(self, q, k, v):\n" + "\n".join(ATTENTION.splitlines()[6:]) + "\n",
    ),
    "with prints in between": (
        "src/extra.py",
        "\n".join(
            f"{line}\n    print('here')" if line.startswith("    q, k = ") else line for line in ATTENTION.splitlines()
        ),
    ),
    "statements in another order": (
        "src/extra.py",
        "\n".join(sorted(LOSS.splitlines(), key=lambda line: (line[:1] == " ", "at =" not in line, "return" in line))),
    ),
    "another constant": ("src/extra.py", EMBED.replace("1000.0", "500.0")),
    "of the vision assignment": ("src/extra.py", function(VISION, "PatchEmbedding.forward")),
    "with a byte-order mark": ("src/extra.py", b"\xef\xbb\xbf" + BACKBONE.encode()),
    "in UTF-16": ("src/extra.py", BACKBONE.encode("utf-16")),
    "with conflict markers": ("src/extra.py", CONFLICT),
    "in a file that does not parse": ("src/extra.py", f"def broken(:\n    pass\n\n\n{TRAIN}\n"),
    "with a print of Python 2": ("src/extra.py", f"{TRAIN}\n\nprint 'done'\n"),
    "in a patch": ("fix.patch", PATCH),
    "in a diff block": ("docs/hints.md", f"```diff\n{PATCH}\n```\n"),
    "raw in a text file": ("notes.txt", f"Here is how it goes.\n\n{ATTENTION}\n\nThat is all.\n"),
    "indented in Markdown": ("docs/hints.md", f"Like this:\n\n{textwrap.indent(ATTENTION, '    ')}\n\nEnjoy.\n"),
    "in reStructuredText": ("docs/hints.rst", f".. code-block:: python\n\n{textwrap.indent(LOSS, '   ')}\n"),
    "in HTML": ("docs/hints.html", f"<html><pre><code>{ATTENTION.replace('>', '&gt;')}</code></pre></html>"),
    "in LaTeX": ("slides.tex", f"\\begin{{lstlisting}}\n{TRAIN}\n\\end{{lstlisting}}\n"),
    "in a fence nobody closed": ("docs/hints.md", f"# Hints\n\n```python\n{LOSS}\n"),
    "in a fence with prose": ("docs/hints.md", f"```python\nNow comes the attention:\n{ATTENTION}\n```\n"),
    "at a prompt": ("docs/log.md", "```\n" + "\n".join(f">>> {line}" for line in TRAIN.splitlines()) + "\n```\n"),
    "commented out below a remark": (
        "src/extra.py",
        "x = 1\n# Reference solution, remove before release:\n"
        + "\n".join(f"# {line}" for line in ATTENTION.splitlines()),
    ),
    "commented out with two signs": ("src/extra.py", "\n".join(f"## {line}" for line in TRAIN.splitlines()) + "\n"),
    "in a docstring after prose": (
        "src/extra.py",
        f'def f():\n    """Do it.\n\n{textwrap.indent(ATTENTION, "    ")}\n    """\n',
    ),
    "in a commented-out cell": ("lab.ipynb", notebook(("code", "\n".join(f"# {line}" for line in TRAIN.splitlines())))),
    "in a raw cell": ("lab.ipynb", notebook(("raw", ATTENTION))),
    "in a cell with help": ("lab.ipynb", notebook(("code", f"torch.softmax?\n{TRAIN}"))),
    "a marker in a notebook": ("lab.ipynb", notebook(("code", "### BEGIN SOLUTION\nx = 5\n### END SOLUTION\n"))),
    "a marker behind code": ("src/extra.py", "x = 5  # SOLUTION\n"),
    "a token of a service": ("train.py", 'WANDB_API_KEY = "0123456789abcdef0123456789abcdef01234567"\n'),
    "an encrypted key": ("deploy/key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIFHDBOBgkqhkiG9w0B\n"),
    "a marker of a solution": (
        "src/extra.py",
        "def f(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION\n",
    ),
    "a marker for staff": ("docs/grading.md", "<!-- INSTRUCTORS ONLY -->\n\nTwo points for the mask.\n"),
    "a file named like a solution": ("src/assignments/scratch-1/backbone_solution.py", "# coming soon\n"),
    "a file named like gold": ("data/gold_output.pt", "not really\n"),
    "an AWS key": ("scripts/upload.py", 'KEY = "AKIAZ7QK3MLPWX5TN2RD"\n'),
    "a private key": ("deploy/key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n"),
    "a password": ("config.py", 'PASSWORD = "correct-horse-battery"\n'),
    "credentials in a URL": ("README.md", "git clone https://staff:hunter2secret@git.course.edu/private.git\n"),
}

TORCH_HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
CLEAN: dict[str, tuple[str, str | bytes]] = {
    "the starter of scratch-1": ("src/assignments/scratch-1/backbone.py", STUB),
    "the starter of scratch-2": ("src/assignments/scratch-2/vision.py", starter("scratch-2/vision.py")),
    "the starter of scratch-3": ("src/assignments/scratch-3/policy.py", starter("scratch-3/policy.py")),
    "a recipe": ("src/assignments/scratch-1/generate_fixtures.py", starter("scratch-1/generate_fixtures.py")),
    "code that is provided": ("src/assignments/scratch-3/trajectories.py", starter("scratch-3/trajectories.py")),
    "a student's README": ("src/assignments/scratch-1/README.md", starter("scratch-1/README.md")),
    "a formula in words": (
        "docs/norm.md",
        "RMSNorm divides by the root of the mean square plus eps, then scales by weight.\n",
    ),
    "a formula in LaTeX": ("docs/norm.md", "$$y = \\frac{x}{\\sqrt{\\frac{1}{d}\\sum x_i^2 + \\epsilon}} \\odot w$$\n"),
    "how to call it": (
        "docs/use.md",
        "```python\nmodel = DecoderOnlyTransformer(**config)\nlogits = model(tokens)\n```\n",
    ),
    "an exercise with blanks": (
        "notebooks/lab.ipynb",
        notebook(("code", "def forward(self, x):\n    # YOUR CODE HERE\n    raise NotImplementedError\n")),
    ),
    "a notebook that plots": (
        "notebooks/plot.ipynb",
        notebook(("code", "import matplotlib.pyplot as plt\nplt.plot(losses)\nplt.xlabel('epoch')\nplt.show()\n")),
    ),
    "a public test": (
        "tests/public/test_shapes.py",
        "import torch\nfrom backbone import RMSNorm\n\n\ndef test_shape():\n    assert RMSNorm(8)(torch.randn(2, 8)).shape == (2, 8)\n",
    ),
    "a test of causality": (
        "tests/public/test_causal.py",
        "import torch\n\n\ndef test_causal(model):\n    tokens = torch.randint(0, 50, (2, 9))\n    changed = tokens.clone()\n"
        "    changed[:, 5:] = 0\n    torch.testing.assert_close(model(tokens)[:, :5], model(changed)[:, :5])\n",
    ),
    "a training loop for something else": (
        "src/demo.py",
        TORCH_HEAD + "def fit(net, loader, steps):\n    opt = torch.optim.Adam(net.parameters(), lr=1e-3)\n"
        "    for step, (x, y) in zip(range(steps), loader):\n        error = F.binary_cross_entropy_with_logits(net(x).squeeze(-1), y)\n"
        "        opt.zero_grad(set_to_none=True)\n        error.backward()\n        opt.step()\n        if step % 10 == 0:\n"
        "            print(step, float(error))\n",
    ),
    "another norm": (
        "src/demo.py",
        TORCH_HEAD + "class ScaleShift(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
        "        self.gain = nn.Parameter(torch.ones(dim))\n\n    def forward(self, x):\n"
        "        centred = x - x.mean(-1, keepdim=True)\n        return centred / centred.std(-1, keepdim=True).clamp_min(1e-5) * self.gain\n",
    ),
    "attention from the library": (
        "src/demo.py",
        TORCH_HEAD + "class Block(nn.Module):\n    def __init__(self, dim, heads):\n        super().__init__()\n"
        "        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)\n\n    def forward(self, x):\n"
        "        mixed, _ = self.attention(x, x, x, need_weights=False)\n        return x + mixed\n",
    ),
    "a perceptron": (
        "src/demo.py",
        TORCH_HEAD
        + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 8)\n"
        "        self.b = nn.Linear(8, 2)\n\n    def forward(self, x):\n        return self.b(torch.relu(self.a(x)))\n",
    ),
    "a dataset": (
        "src/data.py",
        "class Pairs:\n    def __init__(self, rows):\n        self.rows = list(rows)\n\n    def __len__(self):\n        return len(self.rows)\n\n"
        "    def __getitem__(self, at):\n        left, right = self.rows[at]\n        return {'left': left, 'right': right}\n",
    ),
    "a command line": (
        "scripts/train.py",
        "import argparse\n\n\ndef main():\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--epochs', type=int, default=3)\n"
        "    parser.add_argument('--lr', type=float, default=1e-3)\n    print(parser.parse_args())\n",
    ),
    "NumPy helpers": (
        "src/numbers.py",
        "import numpy as np\n\n\ndef standardise(x):\n    return (x - x.mean(axis=0)) / x.std(axis=0)\n\n\n"
        "def one_hot(labels, size):\n    table = np.zeros((len(labels), size))\n    table[np.arange(len(labels)), labels] = 1\n    return table\n",
    ),
    "a convolution": (
        "src/demo.py",
        TORCH_HEAD + "def edges(images):\n    kernel = torch.tensor([[-1.0, 0.0, 1.0]] * 3).view(1, 1, 3, 3)\n"
        "    return F.conv2d(images, kernel, padding=1).abs().amax(dim=(-2, -1))\n",
    ),
    "a sinusoid for something else": (
        "src/audio.py",
        "import math\n\nimport torch\n\n\ndef tone(frequency, seconds, rate=16000):\n    t = torch.arange(int(seconds * rate)) / rate\n"
        "    return torch.sin(2 * math.pi * frequency * t)\n",
    ),
    "sampling with temperature": (
        "src/demo.py",
        "import torch\n\n\ndef sample(logits, temperature=1.0):\n    weights = torch.softmax(logits / temperature, dim=-1)\n"
        "    return torch.multinomial(weights, num_samples=1)\n",
    ),
    "evaluation": (
        "src/demo.py",
        "import torch\n\n\n@torch.no_grad()\ndef accuracy(model, loader):\n    right = total = 0\n    for x, y in loader:\n"
        "        right += (model(x).argmax(-1) == y).sum().item()\n        total += y.numel()\n    return right / total\n",
    ),
    "talk of solutions": (
        "README.md",
        "Solutions are private. The solution: think first, then write. Ask staff only if stuck.\n",
    ),
    "a word that contains it": ("src/resolution.py", "def resolution(image):\n    return image.shape[-2:]\n"),
    "a password from the environment": ("config.py", 'import os\n\nPASSWORD = os.environ["COURSE_PASSWORD"]\n'),
    "a placeholder for a password": ("config.example.toml", 'password = "your-password-here"\n'),
    "a URL with a port": ("README.md", "Open http://localhost:8888/lab in a browser.\n"),
    "weights of a student": ("runs/checkpoint.pt", "binary\n"),
    "residuals of another block": (
        "src/demo.py",
        TORCH_HEAD
        + "class Mixer(nn.Module):\n    def forward(self, x):\n        x = x + self.a(self.n1(x))\n        return x + self.b(self.n2(x))\n",
    ),
    "a stack of layers": (
        "src/demo.py",
        TORCH_HEAD
        + "class Stack(nn.Module):\n    def run(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return self.head(self.norm(x))\n",
    ),
    "standardising": (
        "src/demo.py",
        "def standard(x, mean, std):\n    return (x - mean) / std\n\n\ndef back(x, mean, std):\n    return x * std + mean\n",
    ),
    "a template for reports": ("report.md", "# Report\n\n## SOLUTION\n\nDescribe what you did.\n"),
    "a licence": ("data/LICENSE.txt", "DO NOT DISTRIBUTE without the authors' consent. DO NOT RELEASE your code.\n"),
    "a local model's key": ("demo.py", 'client = OpenAI(base_url="http://localhost:11434", api_key="not-needed")\n'),
    "a local database": ("compose.yaml", "url: postgresql://postgres:postgres@localhost:5432/db\n"),
    "a student's own file": ("my_solution.py", "# write here\n"),
    "talk of keys": ("docs/ssh.md", "The file starts with -----BEGIN OPENSSH PRIVATE KEY----- and is secret.\n"),
    "a table of data": ("data/table.csv", "\n".join("1,2,3" for _ in range(2000))),
    "a lone one-liner": ("src/demo.py", "def scale(x):\n    return x * 2.0\n"),
    "an empty file": ("src/__init__.py", ""),
    "code that does not parse": ("src/broken.py", "def f(:\n    return\n"),
    "a changelog": ("CHANGELOG.md", "- The norm's eps is 1e-6 now.\n- `train_epoch` returns the mean loss.\n"),
}


def as_bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def found_in(guarded: Guarded, file: str, text: str | bytes) -> list[str]:
    found = [
        finding for item in unpacked(file, as_bytes(text)) for finding in leaks_in(item.path, item.content, guarded)
    ]
    return [f"{item.kind} {item.part} {item.similarity:.2f}" for item in found]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        course = copy_example(Path(folder, "course"))
        guarded = guarded_by(course, everything_public=False)
        missed = [name for name, (file, text) in LEAKS.items() if not found_in(guarded, file, text)]
        hidden = [name for name, (file, form) in FORMS.items() if not found_in(guarded, file, form(BACKBONE))]
        alarms = {name: found_in(guarded, file, text) for name, (file, text) in CLEAN.items()}
    false = {name: found for name, found in alarms.items() if found}
    print("guard      examples   wrong")
    print(f"leaking    {len(LEAKS):8}   {len(missed):5} missed{': ' if missed else ''}{', '.join(missed)}")
    print(f"in files   {len(FORMS):8}   {len(hidden):5} missed{': ' if hidden else ''}{', '.join(hidden)}")
    print(f"clean      {len(CLEAN):8}   {len(false):5} false alarms{f': {false}' if false else ''}")
    return bool(missed or hidden or false)


if __name__ == "__main__":
    sys.exit(main())
