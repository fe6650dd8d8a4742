"""Make a kit from an assignment's gold: choose the cases that fit, write its files, replace an earlier kit."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath

import msgspec

from goldsmith._version import __version__
from goldsmith.check.request import open_adapter, open_gold
from goldsmith.courses.handout.case_sketches import (
    Answers,
    CaseKit,
    Sketcher,
    answers_in,
    make_case,
    problem_with,
    refer_to,
)
from goldsmith.courses.handout.kit_readme import kit_readme
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.resolve import resolve
from goldsmith.errors.handout import EditedKit, NotAKit, NothingToHandOut, PrivateRecipe, ReadsPrivateFiles
from goldsmith.generate.freshness import require_fresh
from goldsmith.gold.arrays import array_hash, as_numpy, is_array, judged_part
from goldsmith.gold.kit_files import (
    ADAPTER,
    CHECK,
    DATA,
    LIST,
    README,
    RECIPE,
    SKETCHES,
    KitList,
    digest_of,
    encode_data,
    encode_list,
    read_list,
    refer_to_arrays,
)
from goldsmith.gold.load import Gold
from goldsmith.gold.manifest import Manifest
from goldsmith.gold.publish import Staging
from goldsmith.gold.sketches.privacy import FEWEST_NUMBERS
from goldsmith.gold.sketches.sketch import Sketch
from goldsmith.targets.target import Submission

OWN_IMPORT, KIT_IMPORT = "from goldsmith.gold.sketches.sketch import", "from sketches import"
"""The one line in which a kit's check.py differs from `kit_check.py`."""
_TEXTS = (".py", ".ipynb", ".md")
_LIST_BYTES = 720
"""What `kit.json` takes at most."""
_BYTES_PER_SUM = 4
"""What a sum of a sketch takes once it is compressed; measured."""


@dataclass(frozen=True)
class KitPlan:
    """What a kit will hold of an assignment's cases, why it will not hold others, and how many numbers the largest
    record has of those that are too small."""

    assignment: str
    cases: tuple[str, ...]
    left_out: Mapping[str, str]
    too_small: Mapping[str, int]

    @property
    def is_poor(self) -> bool:
        """Say whether most cases are left out."""
        return len(self.left_out) > len(self.cases)


class HandedOut(msgspec.Struct, frozen=True, kw_only=True):
    """A kit that was written."""

    name: str
    """The assignment."""
    outcome: str
    """`written`, or `unchanged` if the same kit was there."""
    folder: str
    """Where it is."""
    size: int
    """Bytes of all its files."""
    cases: tuple[str, ...]
    """The cases that it has."""
    records: int
    """How many recorded tensors it has sketches of."""
    calls: int
    """How many traced calls it knows."""
    left_out: dict[str, str]
    """Cases that it does not have, with the reason."""
    not_sketched: dict[str, str]
    """Records of its cases of which it has no sketch, as `case: path`, with the reason."""


def hand_out(assignment: Assignment, folder: Path, before: Callable[[KitPlan], None] = lambda plan: None) -> HandedOut:
    """Write the kit of an assignment, whose gold must be fresh, into `folder`. `before` is told what it will hold, and
    may raise to keep it from being written."""
    target = resolve(assignment)
    require_fresh(target)
    gold = open_gold(target, Submission(""), allow_stale=False)
    _require_public(assignment, gold.manifest)
    own = _own_files(folder)
    kept, left_out, contents = _fitting(assignment, gold)
    before(KitPlan(assignment.name, tuple(case.name for case in kept), left_out, _too_small(gold, left_out)))
    files_of_it = {name: digest_of(content) for name, content in sorted(contents.items())}
    listed = KitList(assignment=assignment.name, goldsmith=__version__, gold=gold.manifest.digest, files=files_of_it)
    contents[LIST] = encode_list(listed)
    outcome = _write(folder, contents, own)
    return HandedOut(
        name=assignment.name,
        outcome=outcome,
        folder=str(folder),
        size=sum(map(len, contents.values())),
        cases=tuple(case.name for case in kept),
        records=sum(len(case.answers.records) for case in kept),
        calls=sum(len(case.calls) for case in kept),
        left_out=left_out,
        not_sketched=_not_sketched(kept),
    )


def _too_small(gold: Gold, left_out: Collection[str]) -> dict[str, int]:
    """Return the numbers in the largest record of each case that is left out for having too few."""
    found = {}
    for name in left_out:
        sizes = [as_numpy(value).size for value in judged_part(gold[name].data).values() if is_array(value)]
        if 0 < max(sizes, default=0) < FEWEST_NUMBERS:
            found[name] = max(sizes)
    return found


def _not_sketched(kept: Sequence[CaseKit]) -> dict[str, str]:
    return {f"{case.name}: {path}": why for case in kept for path, why in case.answers.left_out.items()}


def _require_public(assignment: Assignment, manifest: Manifest) -> None:
    """Refuse a recipe that students must not see, and one that reads what they do not have."""
    course, settings = assignment.course, assignment.config.handout
    if not assignment.recipe.is_relative_to(assignment.starter) and not settings.recipe:
        raise PrivateRecipe(assignment.name, course.relative(assignment.recipe))
    inside = course.relative(assignment.starter).as_posix()
    elsewhere = [name for name in manifest.provenance.reads if not PurePosixPath(name).is_relative_to(inside)]
    if elsewhere:
        raise ReadsPrivateFiles(assignment.name, elsewhere)


# --- choosing -------------------------------------------------------------------------------------------------------


def _fitting(assignment: Assignment, gold: Gold) -> tuple[list[CaseKit], dict[str, str], dict[str, bytes]]:
    """Return the cases that are handed out, why others are not, and the files of the kit. While it is too large, the
    case is left out that frees the most: what several cases share counts for none of them. Then those come back, the
    last first, for which there is room after all."""
    public = _public_words(assignment)
    possible, left_out = _possible(assignment, gold, public)
    if not possible:
        raise NothingToHandOut(assignment.name, list(left_out.values()))
    around, limit = _texts(assignment), assignment.config.handout.max_bytes
    arrays = {key: item for case in possible.values() for key, item in case.arrays.items()}
    sizes = {key: len(zlib.compress(_bytes_of(item), 1)) for key, item in arrays.items()}
    no_room = f"with it the kit would have more than {limit // 1000} kB"

    def made_of(names: Collection[str]) -> dict[str, bytes]:
        cases = [case for name, case in possible.items() if name in names]
        without = left_out | {name: no_room for name in possible if name not in names}
        data = _data(assignment, gold.manifest, cases, public, without)
        return {**around, DATA: data, README: kit_readme(assignment, cases, without)}

    kept, dropped = dict(possible), list[str]()
    made = made_of(kept)
    while _size(made) > limit and len(kept) > 1:
        dropped.append(max(kept, key=lambda name: _freed_bytes(kept[name], kept.values(), sizes)))
        del kept[dropped[-1]]
        made = made_of(kept)
    for name in reversed(dropped):
        more = made_of({*kept, name})
        if _size(more) <= limit:
            kept[name], made = possible[name], more
    left_out |= {name: no_room for name in possible if name not in kept}
    return [case for name, case in possible.items() if name in kept], left_out, made


def _size(contents: Mapping[str, bytes]) -> int:
    return sum(map(len, contents.values())) + _LIST_BYTES


def _freed_bytes(case: CaseKit, cases: Iterable[CaseKit], sizes: Mapping[str, int]) -> int:
    """Estimate how much smaller a kit is without a case."""
    others = [other for other in cases if other is not case]
    shared = {key for other in others for key in other.arrays} | {
        id(item) for other in others for item in other.sketches
    }
    sketches = {id(item): item for item in case.sketches}
    own = sum(sizes[key] for key in case.arrays if key not in shared)
    return own + sum(_BYTES_PER_SUM * item.count for key, item in sketches.items() if key not in shared)


def _possible(assignment: Assignment, gold: Gold, public: frozenset[str]) -> tuple[dict[str, CaseKit], dict[str, str]]:
    """Return cases that may be handed out, and why others may not."""
    sketcher, settings = Sketcher(), assignment.config.handout
    answers: set[str] = set()
    for name in gold:
        answers |= answers_in(gold[name], gold.folder)
    possible, left_out = {}, {}
    for name in gold:
        made = make_case(gold[name], gold.folder, sketcher, public)
        why = "goldsmith.toml leaves it out" if name in settings.leave_out else problem_with(gold[name], made)
        if not why and made.arrays.keys() & answers:
            why = "among its inputs or weights is what the solution computes in a case"
        if why:
            left_out[name] = why
        else:
            possible[name] = made
    return possible, left_out


def _public_words(assignment: Assignment) -> frozenset[str]:
    """Return every name that the starter or the recipe uses: others are the solution's own."""
    files = [path for path in assignment.files() if path.suffix in _TEXTS and path.is_file()]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in (*files, assignment.recipe)]
    return frozenset(word for text in texts for word in re.findall(r"\w+", text)) | {"forward"}


def _bytes_of(array: object) -> bytes:
    return bytes(as_numpy(array).tobytes())


# --- the files ------------------------------------------------------------------------------------------------------


def _texts(assignment: Assignment) -> dict[str, bytes]:
    """Return the files of a kit that do not depend on its cases."""
    check = (files("goldsmith.courses.handout") / "kit_check.py").read_text(encoding="utf-8")
    found = {
        CHECK: check.replace(OWN_IMPORT, KIT_IMPORT).encode(),
        SKETCHES: (files("goldsmith.gold.sketches") / "sketch.py").read_bytes(),
        RECIPE: assignment.recipe.read_bytes(),
    }
    _, adapter = open_adapter(resolve(assignment))
    return found if adapter is None else {**found, ADAPTER: adapter.read_bytes()}


def _data(
    assignment: Assignment,
    manifest: Manifest,
    cases: Sequence[CaseKit],
    public: frozenset[str],
    without: Collection[str],
) -> bytes:
    """Return `kit.npz`: every array and every sketch once, and which case uses which."""
    words = public | {path.stem for path in assignment.files()}
    arrays: dict[str, object] = {}
    sketches: dict[int, Sketch] = {}
    numbers: dict[str | int, int] = {}

    def array_number(array: object) -> int:
        key = array_hash(array)
        arrays.setdefault(key, array)
        return numbers.setdefault(key, len(arrays) - 1)

    def sketch_number(sketch: Sketch) -> int:
        sketches.setdefault(id(sketch), sketch)
        return numbers.setdefault(id(sketch), len(sketches) - 1)

    def encoded(answers: Answers) -> dict[str, object]:
        return {
            "entry": msgspec.to_builtins(answers.entry),
            "records": {path: sketch_number(item) for path, item in answers.records.items()},
            "reference": {path: sketch_number(item) for path, item in answers.reference.items()},
            "left_out": list(answers.left_out),
        }

    index: Mapping[str, object] = {
        "assignment": assignment.name,
        "seed": manifest.seed,
        "torch": "torch" in manifest.provenance.environment.libraries,
        "written": [name for name in manifest.provenance.written if words.issuperset(name.split("."))],
        "overwriting": assignment.config.overwriting,
        "not_in_kit": list(without),
        "cases": {
            case.name: {
                "given": refer_to_arrays(case.given, array_number),
                **encoded(case.answers),
                "variants": {name: encoded(item) for name, item in case.variants.items()},
                "calls": [refer_to(call, sketch_number, array_number) for call in case.calls],
            }
            for case in cases
        },
    }
    return encode_data(index, list(arrays.values()), list(sketches.values()))


def _own_files(folder: Path) -> tuple[str, ...]:
    """Return the names of files of an earlier kit in `folder`, all as goldsmith wrote them. Refuse any other folder
    that is not empty."""
    if not folder.is_dir():
        if folder.exists() or folder.is_symlink():
            raise NotAKit(folder)
        return ()
    if not any(folder.iterdir()):
        return ()
    if not (folder / LIST).is_file():
        raise NotAKit(folder)
    listed = read_list(folder)
    for name, digest in listed.files.items():
        path = folder / name
        if PurePosixPath(name).name != name:
            raise NotAKit(folder)
        if path.is_symlink() or (path.exists() and (not path.is_file() or digest_of(path.read_bytes()) != digest)):
            raise EditedKit(path)
    return (LIST, *listed.files)


def _write(folder: Path, contents: Mapping[str, bytes], own: Sequence[str]) -> str:
    """Put a kit in its place by one rename; files of others that are in the folder stay."""
    staging = Staging(folder, proof=LIST)
    staging.open()
    try:
        for name, content in contents.items():
            staging.write(name, content)
        staging.carry_over(own)
        if staging.equals_target():
            return "unchanged"
        staging.publish()
    finally:
        staging.discard()
    return "written"
