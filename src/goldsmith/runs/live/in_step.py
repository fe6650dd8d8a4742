"""Run two models in step, and measure how far apart their modules' inputs and outputs are, as they come.

The reference runs in a thread of its own. At each paired module it waits until the candidate has come to the same call;
then both sides' tensors are compared on their device, and nothing of them is kept. So models whose traces would not
fit into memory can be compared.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from goldsmith.comparison.limits import Limit
from goldsmith.frameworks.torch.device_statistics import SUMMARY, Criteria, in_range, on_host, summarise, totals_of
from goldsmith.frameworks.torch.numerics import undisturbed, with_modes_of_this_thread
from goldsmith.gold.arrays import is_tensor
from goldsmith.gold.call_forms import tensors_in

MAX_HELD = 4
"""Calls of the reference that are copied and kept because the candidate makes them in another order."""
_NO_LIMIT = Criteria(Limit("given", None, None))

INPUTS, OUTPUTS = "inputs", "outputs"


class Moment(NamedTuple):
    """A call of a module, by its name in the reference: the how many-th, when it begins or ends."""

    module: str
    number: int
    what: str


@dataclass(frozen=True)
class StepDistance:
    """How far apart a call's inputs, or outputs, are: relative to the reference's, or a `problem` in words.

    `relative` is the root of the sum of squared gaps over that of the reference; infinite where one side is not finite.
    """

    moment: Moment
    relative: float
    problem: str = ""


@dataclass
class InStep:
    """What came of it: distances in the order of the candidate's calls, calls that could not be paired, and both
    results."""

    distances: list[StepDistance] = field(default_factory=list)
    missed: list[Moment] = field(default_factory=list)
    outputs: tuple[Any, Any] = (None, None)


class Stopped(Exception):
    """Raised in the reference's thread once the candidate has failed."""


class Enough(BaseException):
    """Raised in the candidate once everything that was wanted has been measured; no model's own handlers catch it."""


class _Exchange:
    """Brings one moment of the reference together with the same moment of the candidate."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._offered: tuple[Moment, list[Any]] | None = None
        self._held: dict[Moment, list[Any]] = {}
        self._wanted: Moment | None = None
        self._reference_ended = self._candidate_ended = self._failed = False

    def offer(self, moment: Moment, tensors: list[Any]) -> None:
        """Wait until the candidate has used the tensors. If it is waiting for another moment, keep copies instead."""
        with self._changed:
            self._offered = moment, tensors
            self._changed.notify_all()
            while self._offered is not None and not self._candidate_ended:
                if self._wanted is not None and self._wanted != moment:
                    self._hold(moment, tensors)
                    break
                self._changed.wait()
            self._offered = None
            if self._failed:
                raise Stopped

    def _hold(self, moment: Moment, tensors: list[Any]) -> None:
        self._held[moment] = [item.detach().clone() for item in tensors]
        if len(self._held) > MAX_HELD:
            del self._held[next(iter(self._held))]

    def use(self, moment: Moment, action: Callable[[list[Any]], Any]) -> bool:
        """Call `action` with the reference's tensors of this moment; return False if it never comes."""
        with self._changed:
            while True:
                if moment in self._held:
                    action(self._held.pop(moment))
                    return True
                if self._offered is not None and self._offered[0] == moment:
                    action(self._offered[1])
                    self._offered = None
                    self._changed.notify_all()
                    return True
                if self._reference_ended:
                    return False
                self._wanted = moment
                self._changed.notify_all()
                self._changed.wait()
                self._wanted = None

    def end_reference(self) -> None:
        with self._changed:
            self._reference_ended = True
            self._changed.notify_all()

    def end_candidate(self, *, failed: bool) -> None:
        with self._changed:
            self._candidate_ended, self._failed = True, failed
            self._changed.notify_all()


def run_in_step(
    reference: Callable[[], Any],
    candidate: Callable[[], Any],
    modules: tuple[Mapping[str, Any], Mapping[str, Any]],
    pairs: Mapping[str, str],
    *,
    forced: bool = False,
    wanted: Collection[Moment] | None = None,
) -> InStep:
    """Call both sides and compare their paired modules. `pairs` maps names of the reference's `modules` to the
    candidate's. If `forced`, each module's outputs are overwritten with the reference's once they have been measured,
    so that no error reaches the modules after it. Both sides may be the same model; a dispatch mode of torch that the
    candidate's call enters, such as rounding noise, does not reach the comparisons. If only some moments are `wanted`,
    both end at the last of them."""
    left = set(wanted) if wanted is not None else None
    exchange = _Exchange()
    found = InStep()
    measured: list[tuple[Moment, Any, str]] = []
    failures: list[BaseException] = []
    result: list[Any] = []

    def offer(moment: Moment, values: Any) -> None:
        exchange.offer(moment, _tensors(values))

    same = _SameTensors()
    owned = {item.untyped_storage().data_ptr() for module in modules[1].values() for item in _tensors_of(module)}

    def measure(moment: Moment, values: Any) -> None:
        def compare(theirs: list[Any]) -> None:
            pairs = _pairs(_tensors(values), theirs)
            with undisturbed():
                for one, two in pairs:
                    if moment.what == INPUTS and same.holds(one, two):
                        continue
                    measured.append((moment, *_distance(one, two)))
                    if forced and moment.what == OUTPUTS and moment.module and _overwrite(one, two, owned):
                        same.add(one, two)

        if not exchange.use(moment, compare):
            found.missed.append(moment)
        if left is not None:
            left.discard(moment)
            if not left:
                raise Enough

    def run_reference() -> None:
        try:
            with _hooked(modules[0], {name: name for name in pairs}, offer):
                result.append(reference())
        except Stopped:
            pass
        except BaseException as error:
            failures.append(error)
        finally:
            exchange.end_reference()

    thread = threading.Thread(target=with_modes_of_this_thread(run_reference), name="reference", daemon=True)
    failed = True
    theirs = None
    try:
        with _hooked(modules[1], {theirs: mine for mine, theirs in pairs.items()}, measure):
            thread.start()
            theirs = candidate()
        failed = False
    except Enough:
        pass
    finally:
        exchange.end_candidate(failed=failed)
        thread.join()
    if failures:
        raise failures[0]
    found.outputs = result[0] if result else None, theirs
    found.distances = _read(measured)
    return found


@contextlib.contextmanager
def _hooked(modules: Mapping[str, Any], names: Mapping[str, str], on: Callable[[Moment, Any], None]) -> Iterator[None]:
    """Call `on` when modules begin and end in this thread: the other side may be the same model, in another one."""
    counts: Counter[str] = Counter()
    handles = []
    thread = threading.get_ident()

    def begin(name: str) -> Callable[..., None]:
        def hook(module: Any, args: Any, kwargs: Any) -> None:
            if threading.get_ident() == thread:
                on(Moment(name, counts[name], INPUTS), [args, kwargs])

        return hook

    def end(name: str) -> Callable[..., None]:
        def hook(module: Any, args: Any, kwargs: Any, output: Any) -> None:
            if threading.get_ident() != thread:
                return
            number = counts[name]
            counts[name] += 1
            on(Moment(name, number, OUTPUTS), output)

        return hook

    try:
        for own, name in names.items():
            module = modules[own]
            handles.append(module.register_forward_pre_hook(begin(name), with_kwargs=True))
            handles.append(module.register_forward_hook(end(name), with_kwargs=True))
        yield
    finally:
        for handle in handles:
            handle.remove()


# --- distances


def _tensors(values: Any) -> list[Any]:
    return [item for item in tensors_in([values]) if is_tensor(item)]


def _pairs(mine: list[Any], theirs: list[Any]) -> list[tuple[Any, Any]]:
    """Pair a call's tensors in their order; if there are more on one side, those that are left have no partner."""
    return list(zip(mine, theirs, strict=False)) if mine and theirs else []


def _tensors_of(module: Any) -> list[Any]:
    return [*module.parameters(recurse=False), *module.buffers(recurse=False)]


def _overwrite(one: Any, two: Any, owned: Collection[int]) -> bool:
    """Write the reference's numbers into a tensor that a module returned, unless it is one of the model's own weights;
    return whether they are there."""
    fits = one.shape == two.shape and one.dtype == two.dtype
    if fits and one.untyped_storage().data_ptr() not in owned:
        with contextlib.suppress(RuntimeError):  # a tensor that is expanded cannot be written into
            one.copy_(two)
            return True
    return False


class _SameTensors:
    """Pairs of tensors that hold the same numbers, as long as both exist and nobody writes into them.

    What one module returns is mostly what the next is given: half of the comparisons need not be made. Nothing is kept
    alive, and addresses are not trusted, which other tensors get later.
    """

    def __init__(self) -> None:
        self._pairs: deque[tuple[Any, int, Any, int]] = deque(maxlen=MAX_HELD)

    def add(self, one: Any, two: Any) -> None:
        if not (one.is_inference() or two.is_inference()):  # of these torch does not count changes
            self._pairs.append((weakref.ref(one), one._version, weakref.ref(two), two._version))

    def holds(self, one: Any, two: Any) -> bool:
        return any(
            first() is one and second() is two and (one._version, two._version) == (before, then)
            for first, before, second, then in self._pairs
        )


def _distance(actual: Any, gold: Any) -> tuple[Any, str]:
    """Return what the distance will be read from, still on the device, or why there is none."""
    if actual.shape != gold.shape:
        return None, f"has shape {list(actual.shape)} where the reference has {list(gold.shape)}"
    if not actual.numel():
        return None, ""
    one, two = (part.detach().contiguous().reshape(-1) for part in (actual, gold))
    one, two = in_range(one, two.to(one.device))
    return summarise(one, two, _NO_LIMIT, waits=False).reduced, ""


def _read(measured: list[tuple[Moment, Any, str]]) -> list[StepDistance]:
    """Copy all distances to the host at once; of a call's tensors the farthest counts."""
    numbers = iter(on_host([table for _, table, _ in measured if table is not None]))
    found: dict[Moment, StepDistance] = {}
    for moment, table, problem in measured:
        if table is None and not problem:
            continue
        relative = float("inf") if table is None else _relative(totals_of(SUMMARY, next(numbers)))
        known = found.get(moment)
        if known is None or relative > known.relative:
            found[moment] = StepDistance(moment, relative, problem)
    return list(found.values())


def _relative(totals: Mapping[str, float]) -> float:
    if totals["aside"] and totals["differing"]:
        return float("inf")  # not finite somewhere, and not the same bits everywhere
    gap, size = totals["gaps"], totals["golds"]
    return (gap / size) ** 0.5 if size else float("inf") if gap else 0.0
