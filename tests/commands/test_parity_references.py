"""`goldsmith parity REF... TARGET`, and versions of one REF: from packages of their own, or from a git revision."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from support.course import Run
from support.parity_command import candidate, run, write

X = ("--input", "np.arange(12.0).reshape(3, 4) / 7")
FUNCTIONS = """
    import numpy as np

    def plain(x):
        found = np.exp(x)
        return found / found.sum(-1, keepdims=True)

    def shifted(x):
        found = np.exp(x - x.max(-1, keepdims=True))
        return found / found.sum(-1, keepdims=True)

    def wrong(x):
        return plain(1.01 * x)

    def pair(x):
        return x, {"a": x}
"""


def said(found: Run) -> str:
    return " ".join((found.out + found.err).split())


def commit(folder: Path, message: str) -> None:
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", message]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *command], cwd=folder, check=True)


def wheel(folder: Path, version: str, factor: float) -> None:
    """Write a wheel of a package with one function."""
    folder.mkdir(exist_ok=True)
    facts = f"toynet-{version}.dist-info"
    files = {
        "toynet/__init__.py": f"def scale(x):\n    return {factor} * x\n",
        f"{facts}/METADATA": f"Metadata-Version: 2.1\nName: toynet\nVersion: {version}\n",
        f"{facts}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"toynet-{version}-py3-none-any.whl", "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
        file.writestr(f"{facts}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{facts}/RECORD"]))


def test_several_references_judge_a_candidate_and_one_that_is_wrong_is_named(tmp_path: Path) -> None:
    write(tmp_path, f=FUNCTIONS, g=FUNCTIONS)
    references = ("f.py:plain", "f.py:wrong", "g.py:shifted")
    right = run(tmp_path, *references, "g.py:plain", *X)
    assert right.code == 0, right.out + right.err
    assert "agrees with f.py:plain and g.py:shifted in forward; f.py:wrong is singled out" in said(right)
    wrong = run(tmp_path, *references, "g.py:wrong", *X, "--json", "--brief")
    assert wrong.code == 1, wrong.out
    told = candidate(wrong)
    assert told["references"]["singled_out"] == ["f.py:wrong"]
    assert told["references"]["outcomes"] == {
        "f.py:plain": "differs",
        "f.py:wrong": "agrees",
        "g.py:shifted": "differs",
    }
    page = tmp_path / "page.html"
    doubt = run(tmp_path, "f.py:plain", "f.py:wrong", "g.py:plain", *X, "--html", str(page))
    assert doubt.code == 3, doubt.out
    assert "g.py:plain: cannot be judged by f.py:plain and f.py:wrong: it agrees with f.py:plain" in said(doubt)
    assert "references apart" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["f.py:plain"], 2, "TARGET is missing; name both models"),
        (["f.py:plain", "f.py:plain", "f.py:wrong"], 2, "f.py:plain is given twice; give each reference once"),
        (["f.py:plain"] + [f"f.py:f{number}" for number in range(9)], 2, "give up to 8 references"),
        (["f.py:plain", "f.py:wrong", "f.py:pair", "--with", "HEAD"], 2, "says where REF is taken from; give one REF"),
        (["f.py:plain", "f.py:wrong", "--with", "nothing"], 2, "name==1.2, or a git revision"),
        (["f.py:plain", "f.py:wrong", "--with", "a.py", "--with", "b.py"], 2, "--with names 2 files, a.py and b.py"),
        (["f.py:plain", "f.py:pair", "f.py:wrong"], 3, "f.py:pair and f.py:plain cannot be compared with each other"),
    ],
)
def test_references_that_make_no_sense_are_told_in_a_sentence(
    tmp_path: Path, arguments: list[str], code: int, told: str
) -> None:
    write(tmp_path, f=FUNCTIONS)
    found = run(tmp_path, *arguments, *X)
    assert told in said(found)
    assert found.code == code


def test_a_reference_that_moved_between_revisions_is_named_and_by_how_much(tmp_path: Path) -> None:
    """Its package lies in `src`, where the environment finds it: a revision has its own."""
    write(
        tmp_path,
        src__net____init__="",
        src__net__core="FACTOR = 2.0\n",
        f="from net.core import FACTOR\ndef f(x):\n    return FACTOR * x\n",
    )
    commit(tmp_path, "one")
    write(tmp_path, unrelated="")
    commit(tmp_path, "nothing of it")
    write(tmp_path, src__net__core="FACTOR = 2.001\n")
    write(tmp_path, here=f"import sys\nsys.path.insert(0, {str(tmp_path / 'src')!r})\nfrom f import f\n")
    commit(tmp_path, "two")
    write(tmp_path, src__net__core="FACTOR = 1 / 0\n", new="def f(x):\n    return x + x\n")
    versions = ("--with", "HEAD~2", "--with", "HEAD~1", "--with", "HEAD")
    path = {"PYTHONPATH": str(tmp_path / "src")}
    found = run(tmp_path, "f.py:f", "new.py:f", *versions, *X, new_workers=True, **path)
    assert found.code == 3, found.out + found.err
    told = "the reference moved from f.py:f (HEAD~1) to f.py:f (HEAD): the output by 5.0e-04 of its size"
    assert f"new.py:f: agrees with f.py:f (HEAD~2) and f.py:f (HEAD~1); {told}" in said(found)
    one = run(tmp_path, "f.py:f", "new.py:f", "--with", "HEAD~1", *X, "--json", new_workers=True, **path)
    assert (one.code, candidate(one)["references"]) == (0, None)
    assert not (tmp_path / ".goldsmith").exists()
    write(tmp_path, src__net__core="FACTOR = 2.0\n")
    elsewhere = run(tmp_path, "here.py:f", "new.py:f", "--with", "HEAD", *X, new_workers=True)
    assert elsewhere.code == 3, elsewhere.out
    assert f"imports net.core from {tmp_path}/src/net/core.py, which is not of HEAD" in said(elsewhere)


def test_versions_of_a_package_are_installed_in_environments_of_their_own(tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "1.0", 2.0)
    wheel(tmp_path / "wheels", "1.1", 2.0)
    write(
        tmp_path,
        new="def f(x):\n    return 2.002 * x\n",
        local="from toynet import scale\ndef f(x):\n    return scale(x)\n",
    )
    common = ("toynet:scale", "new.py:f", *X)
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels")}
    both = ("--with", "toynet==1.0", "--with", f"{tmp_path}/wheels/toynet-1.1-py3-none-any.whl")
    found = run(tmp_path, *common, *both, "--json", new_workers=True, **offline)
    assert found.code == 1, found.out + found.err
    told = candidate(found)["references"]
    assert told["moved"] == "candidate"
    assert [pair["outcome"] for pair in told["pairs"]] == ["agrees"]
    missing = run(tmp_path, *common, "--with", "toynet==3.0", **offline)
    assert missing.code == 3
    assert "toynet==3.0 could not be installed: No matching distribution found for toynet==3.0; check" in said(missing)
    write(tmp_path, toynet="def scale(x):\n    return x\n")  # what lies here is not that version
    shadow = run(tmp_path, "local.py:f", "new.py:f", *X, "--with", "toynet==1.0", new_workers=True, **offline)
    assert shadow.code == 3, shadow.out
    assert "toynet.py, which is not of toynet==1.0" in said(shadow)
    made = [item for item in (tmp_path / ".goldsmith" / "environments").iterdir() if item.is_dir()]
    assert len(made) == 2, "what is there is used again, and what failed is removed"
    (whole, other) = sorted(made)
    (whole / "finished").unlink()  # as a killed process leaves it
    (other / "finished").unlink()
    (other / ".made-by-goldsmith").write_text("somebody else's")
    both = run(tmp_path, *common, *both, **offline)
    assert both.code == 3
    assert "goldsmith did not make what stands there; move it away" in said(both)
    assert (other / "pyvenv.cfg").is_file()
