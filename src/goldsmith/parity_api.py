"""`goldsmith.parity`: two live models, one question: does the second compute the same, and if not, where does it first
go wrong?"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.errors.parity import (
    BadAdapterRules,
    BadReferences,
    BadTolerance,
    CannotCombine,
    NoSuchDtype,
    NotCallable,
)
from goldsmith.frameworks.framework import adopted, library_of
from goldsmith.gold.arrays import array_hash, is_array
from goldsmith.judge.bounds import MAX_REFERENCES
from goldsmith.judge.evidence import Evidence
from goldsmith.model_parity.both_sides import ParityRequest
from goldsmith.model_parity.built_with import differences
from goldsmith.model_parity.noise import QUICK
from goldsmith.model_parity.parity import judge_parity
from goldsmith.model_parity.references import between_references, judge_by_several
from goldsmith.model_parity.result import ModuleParity, ParityReport
from goldsmith.parity_in_step import compare_in_step
from goldsmith.runs.live.configurations import built_with_of
from goldsmith.runs.live.live_side import LiveSide
from goldsmith.runs.live.model_facts import DTYPES, kind_of, name_of
from goldsmith.weights.rules import Adapter, BadRule, adapter_from, read_adapter


class Parity:
    """A candidate beside its reference: true exactly if everything that was compared agrees.

    `print` shows it as a report; in a notebook it shows itself.
    """

    def __init__(self, report: ParityReport, evidence: Evidence | None = None) -> None:
        self._evidence = evidence or Evidence()
        self.report = report
        """The result as plain data, as `goldsmith parity --json` prints it."""

    def __bool__(self) -> bool:
        return self.report.exit_code == 0

    @property
    def outcome(self) -> str:
        """Return `agrees`, `differs`, `could-not-run`, `inconclusive` or `references-differ`."""
        return self.report.outcome

    @property
    def first_divergence(self) -> str:
        """Return the name, in the reference, of the module that goes wrong first; empty if none does."""
        return self.report.first_divergence

    @property
    def modules(self) -> tuple[ModuleParity, ...]:
        """Return what is known of each of the reference's modules, in the order in which they ended."""
        return self.report.modules

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return self.report.plain()

    def html(self, path: str | Path) -> None:
        """Write a page to look at: error along the modules, both trees, the tensors that differ."""
        from goldsmith.html_report.page import render_report
        from goldsmith.html_report.parity_page import parity_report
        from goldsmith.html_report.write import require_place, write_report

        require_place(Path(path))
        write_report(Path(path), render_report(parity_report(self.report, self._evidence)))

    def write_adapter(self, path: str | Path) -> bool:
        """Write the rules that the report proposes as an adapter file; return False if it proposes none."""
        from goldsmith.weights.rule_lines import adapter_text

        text = adapter_text(self.report.adapter_lines)
        if text:
            with Path(path).open("x") as file:
                file.write(text)
        return bool(text)

    def __str__(self) -> str:
        from goldsmith.render.parity import parity_text

        return parity_text(self.report)

    def __repr__(self) -> str:
        return f"<Parity: {self.outcome}>"

    def _repr_html_(self) -> str:
        from goldsmith.render.parity_html import parity_html

        return parity_html(self.report)


def parity(
    reference: Any,
    candidate: Any,
    inputs: Any,
    *,
    inputs_candidate: Any = None,
    weights: bool = True,
    adapter: str | Path | Callable[[], None] | None = None,
    convert: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None,
    outputs: Mapping[str, str] | None = None,
    loss: Callable[[Any], Any] | None = None,
    gradients: bool = True,
    train: bool = False,
    steps: int = 0,
    optimizer: Callable[[Any], Any] | None = None,
    optimizer_candidate: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    dtype: Any = None,
    seed: int = 42,
    trials: int = QUICK,
    copy: bool = True,
    in_step: bool = False,
    kernel: bool = False,
    compiled: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Parity:
    """Compare two models, or functions, on the same inputs.

    `reference` may be several, in a list, or by name in a dict: then these are compared with each other first, one that
    is far from all others is named and left out, and the candidate must agree with each of the rest. Where these differ
    more from each other than the candidate from the nearest, the outcome is `references-differ`, which is no pass.

    `inputs` is a tensor, a tuple of positional arguments, a dict of named ones, a function that draws any of these, or
    a list of several, each of which is compared. The reference's weights go into the candidate, by name, by the rules
    of `adapter` (a file, or a function that calls `rename`, `rows` and so on), or by shape; or as `convert` makes them,
    a function of the reference's state dict that returns the candidate's. With `weights=False` both keep their own.
    Where the candidate takes other arguments, `inputs_candidate` has as many sets of its own, in any of these forms, or
    is a function of the reference's arguments that returns the candidate's. `outputs` says which value of the
    candidate's is which of the reference's, where that is not clear: {"0": "logits"}.

    Compared are the outputs, and every gradient of `loss` (of a fixed random combination of the outputs, if there is
    none) unless `gradients` is False; with `steps`, the weights after so many steps of `optimizer`, a function of the
    parameters (plain SGD if there is none), or `optimizer_candidate` for the candidate, such as one of optax beside
    torch's. Both run in float64 and in their own dtype, or in `dtype`; in eval mode,
    unless `train`. Tolerances come from the reference's own noise in `trials` runs, unless `rtol` or `atol` is given.

    Both models are left exactly as they were. They are copied for it; with `copy=False` they run themselves, and are
    put back. `progress` is called with what is being done.

    With `kernel`, nothing but outputs is compared, without recording gradients, and trials are made of what kernels get
    away with: the same buffer with new contents, the eleventh call, memory that is not initialised, inputs with
    structure, changes of torch itself. With `compiled`, the candidate is also compared as `torch.compile` makes it.

    Models that are too large for copies, float64 and traces are compared with `in_step`: both run at once, on one set
    of inputs, and each module's tensors are compared on their device as they come. Only outputs are compared, in the
    models' own dtype, each within `rtol` of the reference's size, or within a few roundings of the dtype; where that is
    not enough, within the noise that the reference's own module shows.
    """
    references, candidate = _references(reference), adopted(candidate)
    for side, given in (*(("reference", item) for item in references.values()), ("candidate", candidate)):
        if not callable(given) or isinstance(given, type):
            raise NotCallable(side, kind_of(given).removeprefix("of type "))
    for name, number in (("rtol", rtol), ("atol", atol)):
        if number is not None and not 0 <= number < math.inf:
            raise BadTolerance(name, number)
    if compiled and in_step:
        raise CannotCombine("compiled=True", "in_step=True")
    if inputs_candidate is not None and in_step:
        raise CannotCombine("inputs_candidate", "in_step=True")
    if convert is not None and (in_step or not weights):
        raise CannotCombine("convert", "in_step=True" if in_step else "weights=False")
    for clash, text in (
        (in_step, "in_step=True"),
        (steps, "steps"),
        (inputs_candidate is not None, "inputs_candidate"),
    ):
        if kernel and clash:
            raise CannotCombine("kernel=True", text)
    wanted = "" if dtype is None else str(dtype).removeprefix("torch.")
    if wanted and wanted not in DTYPES:
        raise NoSuchDtype(wanted)
    for given in (*references.values(), candidate) if in_step else ():
        library = library_of(given)
        if library is not None and not library.models.IN_STEP:
            raise CannotCombine("in_step=True", f"a model of {library.name}")
    if in_step:
        if len(references) > 1:
            raise CannotCombine("in_step=True", "several references")
        (reference,) = references.values()
        report = compare_in_step(
            reference, candidate, inputs, weights=weights, adapter=_rules(adapter), rtol=rtol, seed=seed
        )
        built_with = differences(built_with_of(reference), built_with_of(candidate))
        own = {"reference": name_of(reference), "name": name_of(candidate)}
        return Parity(msgspec.structs.replace(report, **own, built_with=built_with))
    options: dict[str, Any] = {"seed": seed, "loss": loss, "optimizer": optimizer, "dtype": wanted, "copied": copy}
    options["kernel"] = kernel
    theirs = options | {"optimizer": optimizer if optimizer_candidate is None else optimizer_candidate}
    request = ParityRequest(
        candidate=name_of(candidate),
        weights=weights,
        gradients=gradients and not kernel,
        train=train,
        steps=steps,
        rtol=rtol,
        atol=atol,
        trials=trials,
        kernel=kernel,
        compiled=compiled,
        outputs=dict(outputs or {}),
        dtype=wanted,
    )
    rules, names, evidence = _rules(adapter), list(references), [Evidence() for _ in references]

    def judge(number: int, other: int | None) -> ParityReport:
        """Compare a reference with another one, or with the candidate."""
        asked, kept = msgspec.structs.replace(request, reference=names[number]), evidence[number]
        with contextlib.ExitStack() as stack:
            one = LiveSide(references[names[number]], inputs, **options)
            stack.callback(one.close)
            if other is None:
                two = LiveSide(candidate, inputs_candidate, adapter=rules, convert=convert, **theirs)
            else:
                asked, kept = between_references(asked, names[other]), Evidence()
                two = LiveSide(references[names[other]], **options)
            stack.callback(two.close)
            return judge_parity(one, two, asked, progress or (lambda text: None), kept)

    if len(references) == 1:
        return Parity(judge(0, None), evidence[0])
    report, base = judge_by_several(names, request.candidate, _order(reference, references, options), judge)
    return Parity(report, evidence[base or 0])


def _references(given: Any) -> dict[str, Any]:
    """Return the references by name: one, or those in a list or a dict."""
    if isinstance(given, Mapping):
        found = {str(name): adopted(item) for name, item in given.items()}
    elif isinstance(given, list):
        items = [adopted(item) for item in given]
        names = [name_of(item) for item in items]
        found = {
            name if names.count(name) == 1 else f"{name} ({number})": item
            for number, (name, item) in enumerate(zip(names, items, strict=True), 1)
        }
    else:
        item = adopted(given)
        return {name_of(item): item}
    if not 0 < len(found) <= MAX_REFERENCES:
        raise BadReferences(f"there are {len(found)} references" if found else "there is no reference", MAX_REFERENCES)
    return found


def _order(given: Any, references: Mapping[str, Any], options: Mapping[str, Any]) -> list[int]:
    """Return the references' numbers in an order of their own: by names, if these were given, else by what they are."""

    def own(item: Any) -> tuple[str, ...]:
        side = LiveSide(item, **options)
        try:
            numbers = [array_hash(values) for values in side.weights().values() if is_array(values)]
            return name_of(item), msgspec.json.encode(side.describe()).decode(), *numbers
        finally:
            side.close()

    keys = [(name,) if isinstance(given, Mapping) else own(item) for name, item in references.items()]
    return sorted(range(len(keys)), key=keys.__getitem__)


def _rules(adapter: str | Path | Callable[[], None] | None) -> Adapter:
    if adapter is None:
        return Adapter()
    try:
        if isinstance(adapter, str | Path):
            return read_adapter(Path(adapter).read_bytes(), str(adapter))
        if callable(adapter):
            return adapter_from(adapter)
    except BadRule as problem:
        raise BadAdapterRules(str(problem)) from None
    except OSError as problem:
        raise BadAdapterRules(f"{adapter}: {problem.strerror}") from None
    except Exception as problem:  # an adapter is a file of Python
        raise BadAdapterRules(f"{type(problem).__name__}: {problem}") from problem
    raise BadAdapterRules(f"it is {type(adapter).__name__}")
