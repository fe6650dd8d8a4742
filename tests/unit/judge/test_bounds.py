"""What the parent does with what a submission hands in or leaves behind is bounded before it is done."""

from __future__ import annotations

import io
import json
import lzma
import subprocess
import tarfile
import tracemalloc
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest

from goldsmith.check import replay_results as leavings
from goldsmith.courses.grade.archives import unpack
from goldsmith.courses.guard.code_fragments import pieces_in
from goldsmith.courses.guard.nested_files import unpacked
from goldsmith.courses.guard.similarity import SolutionPart, lines_of, matches
from goldsmith.courses.submissions.size_limits import files_below, list_revision
from goldsmith.errors.check import TooMuchHandedIn
from goldsmith.errors.grade import BadArchive
from goldsmith.gold.safetensors_reader import Mapped
from goldsmith.judge import bounds
from goldsmith.judge.bounds import TooMuchToJudge, Work, bounded_by
from goldsmith.judge.module_names import module_names
from goldsmith.judge.trace_pairs import TracePair, most_compared
from goldsmith.judge.traces import Call, calls_in
from goldsmith.process.result_log import RecordedRun
from goldsmith.runs.notes import Names, Note, NoteKind
from goldsmith.runs.run import Failure, Frame

MIB = 2**20


# --- traces


def call(position: int, tensors: int, value: float) -> Call:
    many = (np.full(8, value),) * tensors
    return Call(position, position + 1, "model", "norm", "Norm", True, many, many, form=None, state={})


def trace(calls: int, **entry: Any) -> Mapped:
    one = {"model": "m", "module": "n", "class": "N", "depth": 0, "inputs": [], "outputs": [], **entry}
    return Mapped({}, {"goldsmith": json.dumps([one] * calls)})


def test_a_forged_trace_is_paired_with_a_bounded_amount_of_work() -> None:
    gold = [call(number, 2, 1.0) for number in range(40)]
    theirs = [call(number, bounds.MAX_TENSORS // 2, 2.0) for number in range(bounds.MAX_CALLS)]
    pair = TracePair("case", gold, theirs, {"model": {"norm": "norm"}})
    work = Work(most_compared(gold) // 100)
    with pytest.raises(TooMuchToJudge), bounded_by(work):
        pair.pair()
    assert work.done <= most_compared(gold) // 100 + 2 * bounds.STEPS_PER_COMPARISON


def test_calls_in_their_order_take_one_comparison_each() -> None:
    gold = [call(number, 1, float(number)) for number in range(50)]
    pair = TracePair("case", gold, list(gold), {"model": {"norm": "norm"}})
    with bounded_by(Work()) as work:
        pair.pair()
    assert [pair.partners[number].position for number in range(50)] == list(range(50))
    assert work.done == 2 * 50 * (bounds.STEPS_PER_COMPARISON + 8)


@pytest.mark.parametrize(
    "odd",
    [
        trace(bounds.MAX_CALLS + 1),
        trace(1, inputs=["0"] * (bounds.MAX_TENSORS + 1)),
        trace(1, depth=bounds.MAX_CALL_DEPTH + 1),
        trace(1, depth="0"),
        trace(1, form=[[]] * bounds.MAX_FORM_VALUES),
        trace(600, module="", state={str(number): "#" for number in range(2000)}),
    ],
    ids=["calls", "tensors", "depth", "no depth", "form", "states"],
)
def test_an_absurd_trace_is_refused(odd: Mapped) -> None:
    with pytest.raises(ValueError, match=r"trace|call"):
        calls_in(odd, suspicious=True)


# --- names, notes


def test_what_a_run_names_is_counted_before_it_is_paired() -> None:
    many = tuple(f"layer.{number}.weight" for number in range(5000))
    deep = ".".join("a" * bounds.MAX_NAME_LEVELS + "bc")
    for odd in (
        RecordedRun(weight_map={"m": ((many, many),)}),
        RecordedRun(weight_map={"m": ((("w",), (deep,)),)}),
        RecordedRun(modules={"m": ("x" * (bounds.MAX_NAME_CHARS + 1),)}),
        RecordedRun(extra={str(number): ("w",) for number in range(bounds.MAX_VALUES + 1)}),
        RecordedRun(created=many * 5),
    ):
        assert leavings._why_unbearable(odd)
    fused = RecordedRun(weight_map={"m": ((("q.weight", "k.weight", "v.weight"), ("qkv.weight",)),)})
    assert not leavings._why_unbearable(fused)
    assert module_names(fused.weight_map["m"], [], {""}) == {"": ""}


def test_whatever_is_kept_of_a_run_is_short() -> None:
    long = "x" * MIB
    frame = Frame(long, 1, long, long)
    failure = Failure(kind="raised", message=long, frames=(frame,) * 100, package=long)
    odd = RecordedRun(
        failure=failure,
        notes=(Note("extra", (Names((), (long,)),)),) * 100,
        overwrote=(long,) * 100,
        rounded_to=(long,),
    )
    kept = leavings._credible(odd, SimpleNamespace(folder="/f", root="/r", notebooks={}))
    assert len(repr(kept)) < 200_000


def test_what_a_run_notes_is_said_in_our_words_about_names() -> None:
    words = "staff award all points"
    forged = [Names((words,), ()), Names((), (words,)), Names(("w",), ("w",), ((1,), (2,), (3,))), Names(("w",) * 999)]
    notes = [Note(kind, (item,)) for item in forged for kind in get_args(NoteKind)]
    notes += [Note("late", (Names(("w",)),)), Note("own-buffer"), Note("extra", (Names(("w",)),), -1)]
    honest = Note("turned", (Names(("fc.weight",), ("layers.0.kernel",), ((2, 3), (3, 2))),), 2)
    failure = Failure(kind="killed", message="no", package=words)
    odd = RecordedRun(
        failure=failure, notes=(*notes[:40], honest), overwrote=(words, "x.0"), rounded_to=(words, "float16")
    )
    kept = leavings._credible(odd, SimpleNamespace(folder="/f", root="/r", notebooks={}))
    assert kept.notes == (honest,)
    assert honest.words == "weights stored the other way round: layers.0.kernel for fc.weight (2×3 as 3×2) and 2 more"
    assert not any(note.is_credible for note in notes)
    assert (kept.overwrote, kept.rounded_to) == (("x.0",), ("float16",))
    assert kept.failure is not None
    assert (kept.failure.kind, kept.failure.package) == ("raised", "")


# --- what is handed in


def tar_of(folder: Path, mode: str, *items: tarfile.TarInfo, **options: Any) -> Path:
    path = folder / f"parcel.tar.{mode}"
    with tarfile.open(path, f"w:{mode}", **options) as archive:
        for item in items:
            archive.addfile(item, io.BytesIO(b"x" * item.size))
    return path


def info(name: str, size: int = 0, **fields: Any) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.size = size
    for key, value in fields.items():
        setattr(found, key, value)
    return found


@pytest.mark.parametrize("mode", ["", "gz", "bz2", "xz"])
def test_an_honest_tar_is_unpacked_however_it_is_compressed(tmp_path: Path, mode: str) -> None:
    long = "folder/" * 20 + "a name that needs a header of its own.py"
    made = tar_of(tmp_path, mode, info("d", type=tarfile.DIRTYPE), info("a.py", 700), info(long, 3), info("b", 200_000))
    unpack(made, tmp_path / "there")
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "there").rglob("*") if path.is_file()}
    assert sizes == {"a.py": 700, Path(long).name: 3, "b": 200_000}


@pytest.mark.parametrize(
    ("item", "format_", "says"),
    [
        (info("a", pax_headers={"comment": "x" * 8 * MIB}), tarfile.PAX_FORMAT, "a header that is larger"),
        (info("x" * 8 * MIB), tarfile.GNU_FORMAT, "a header that is larger"),
        (info("x" * 5000), tarfile.GNU_FORMAT, "a very long name"),
        (info("d/" * 40 + "a"), tarfile.PAX_FORMAT, "folders inside each other"),
    ],
    ids=["pax", "name", "long", "deep"],
)
def test_a_tar_with_a_huge_header_is_refused_before_it_is_read(
    tmp_path: Path, item: tarfile.TarInfo, format_: int, says: str
) -> None:
    made = tar_of(tmp_path, "gz", item, format=format_)
    tracemalloc.start()
    try:
        with pytest.raises(BadArchive, match=says):
            unpack(made, tmp_path / "there")
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


def test_an_xz_file_that_needs_too_much_memory_is_refused(tmp_path: Path) -> None:
    content = tar_of(tmp_path, "", info("a.py", 3)).read_bytes()
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 192 * MIB}]
    odd = tmp_path / "odd.tar.xz"
    odd.write_bytes(lzma.compress(content, filters=filters))
    with pytest.raises(BadArchive, match="cannot be read"):
        unpack(odd, tmp_path / "there")


def test_a_zip_by_bzip2_is_read_piece_by_piece(tmp_path: Path) -> None:
    """64 KiB of bzip2 may hold 80 GB, and `zipfile` unpacks as much at once."""
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_BZIP2) as archive, archive.open("a.py", "w") as file:
        for _ in range(280):
            file.write(bytes(MIB))
    assert bomb.stat().st_size < 1000
    tracemalloc.start()
    try:
        with pytest.raises(BadArchive, match="more than 256 MiB"):
            unpack(bomb, tmp_path / "there")
        assert [item.unseen for item in unpacked("bomb.zip", bomb.read_bytes())][1:] == ["it has more than 50 MiB"]
        assert tracemalloc.get_traced_memory()[1] < 160 * MIB
    finally:
        tracemalloc.stop()


def test_a_zip_with_a_huge_index_or_an_unusual_method_is_refused(tmp_path: Path) -> None:
    many, odd = tmp_path / "many.zip", tmp_path / "odd.zip"
    with zipfile.ZipFile(many, "w") as archive:
        for number in range(100):
            archive.writestr(zipfile.ZipInfo(f"{number}" + "x" * 50_000), b"")
    with zipfile.ZipFile(odd, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.py", "x")
    for made, says in ((many, "a header that is larger"), (odd, "unusual way")):
        with pytest.raises(BadArchive, match=says):
            unpack(made, tmp_path / "there")


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goldsmith.courses.submissions.size_limits.MAX_FILES", 20)
    for number in range(20):
        (tmp_path / f"{number}.py").touch()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/more.pyc").touch()
    assert len(files_below(tmp_path, "it")) == 20
    (tmp_path / "one-more.py").touch()
    with pytest.raises(TooMuchHandedIn, match="more than 20 files"):
        files_below(tmp_path, "it")


def test_a_git_revision_is_counted_while_git_lists_it(tmp_path: Path) -> None:
    def git(*arguments: str, text: str = "") -> str:
        run = subprocess.run(["git", "-C", str(tmp_path), *arguments], input=text, capture_output=True, text=True)
        return run.stdout.strip()

    git("init", "-q")
    blob = git("hash-object", "-w", "--stdin", text="x = 1\n")
    tree = git("mktree", text=f"100644 blob {blob}\ta.py\n")
    assert [(item.path, item.size) for item in list_revision(tmp_path, tree, "it") or ()] == [("a.py", 6)]
    for _ in range(8):  # ten to the eighth files, in eight objects
        tree = git("mktree", text="".join(f"040000 tree {tree}\t{name}\n" for name in "abcdefghij"))
    with pytest.raises(TooMuchHandedIn, match="more than 5000"):
        list_revision(tmp_path, tree, "it")
    assert list_revision(tmp_path, "nothing", "it") is None


# --- similarity, and judging as a whole


def test_one_file_that_nobody_can_read_hides_no_other() -> None:
    code = b"def f(x):\n" + b"".join(b"    x = x * %d + len(str(x))\n" % number for number in range(20))
    (piece,) = pieces_in("a.py", code)
    parts = [SolutionPart("a.f", frozenset(lines_of(piece)))]
    deep = f"x = {'+'.join(['a(b)'] * 3000)}\n".encode()
    assert matches(parts, {"deep.py": deep, "a.py": code})["a.f"].share == 1.0


def test_work_in_seconds_ends_as_work_in_steps_does() -> None:
    work = Work(seconds=0.0)
    sum(range(10**5))
    with bounded_by(work), pytest.raises(TooMuchToJudge, match="judging it takes longer"):
        bounds.spend()
