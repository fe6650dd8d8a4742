"""What a framework offers: the functions of its modules `arrays`, `models`, `numerics` and `process`.

How frameworks are found is in `framework.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from goldsmith.frameworks.array_protocol import Arrays as Arrays

if TYPE_CHECKING:
    from goldsmith.frameworks.framework import Framework, Watch


@dataclass(frozen=True)
class Backward:
    """A call with its gradients: what it returned, the number that they are of, None if that depends on nothing, the
    arguments that it was called with, and the gradients of the inexact arrays among these, in order."""

    returned: Any
    total: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: Sequence[Any]


class Models(Protocol):
    """Models of a library, or of several that are built on it."""

    TYPES: tuple[type, ...]
    """The classes of its models."""
    CALLED: str
    """The method of a module that runs when it is called."""
    IN_STEP: bool
    """Whether two models can run at once, and be compared as they go (`parity_in_step.py`)."""
    UNSEEN: str
    """Where calls of modules cannot be seen, in words; empty if they can everywhere."""
    OPTIMISERS: tuple[type, ...]
    """The classes of its optimisers."""
    LoadedModule: Callable[..., Any]
    """Put gold's weights into a model (`weights/loaded.py`); `ConvertedModule` those that a function converts."""
    ConvertedModule: Callable[..., Any]
    LoadedForeign: Callable[..., Any]
    """Put gold's weights into a model of another framework, which is then one of this (`foreign.py`)."""
    WorkingModel: Callable[..., Any]
    """A model that can run in any precision, with other weights, and is what it was afterwards."""
    WeightUse: Callable[[Any], Any]
    """An observer of which weights a model's outputs are computed from: its `names()`."""
    ForwardCalls: Callable[[Any], Any]
    """Tells a listener of calls that no hook sees."""

    def adopted(self, value: Any) -> Any:
        """Return as a model what means one, such as a pair of a module and its variables; anything else as it is."""
        ...

    def modules(self, model: Any) -> dict[str, Any]:
        """Return the model and its submodules by name; its own is empty."""
        ...

    def alone(self, model: Any, name: str) -> Any:
        """Return what calls one of a model's modules by itself, as the model called it."""
        ...

    def is_library_class(self, kind: type) -> bool:
        """Say whether a class of modules is the library's own."""
        ...

    def on_enter(self, module: Any, call: Callable[[Any, Any, Any], None]) -> Any:
        """Call with a module and its arguments when it is called; the handle's `remove` ends that."""
        ...

    def on_leave(self, module: Any, call: Callable[[Any, Any, Any, Any], None], *, always: bool = False) -> Any:
        """Call with a module, its arguments and what it returned; if it raises, with None, and only if `always`."""
        ...

    USUAL_GAIN: float
    """The variance that its layers give their weights unless told otherwise, times the number of inputs."""

    def usual_draw(self, module: Any) -> tuple[float, int] | None:
        """Return that of a layer of the library itself, and how many inputs it has; None for any other module."""
        ...

    def weights(self, model: Any) -> dict[str, Any]:
        """Return a model's weights and the other arrays that it keeps, by name."""
        ...

    def unbuilt(self, model: Any) -> str:
        """Name a weight that has no shape yet; empty if there is none."""
        ...

    def when_built(self, model: Any, then: Callable[[], None]) -> None:
        """Call a function once such a model has its weights; asked for by `shared/` alone, as the next."""
        ...

    def build(self, model: Any, args: Any, kwargs: Any) -> None:
        """Build a model's weights as its first call does."""
        ...

    def state(self, model: Any) -> dict[str, Any]:
        """Return the same without gradients."""
        ...

    def functional(self, model: Any, name: str = "", method: str = "") -> Callable[..., Any]:
        """Return what a model computes, or one of its modules, or a method of that, as a function of the model's
        weights by name, and of its arguments; the model stays as it is."""
        ...

    def across(self, other: Framework, function: Callable[[list[Any]], Any], arrays: Sequence[Any]) -> Any:
        """Call a function of another framework with arrays of this one, and return what it returns with arrays of this
        one in it, so that gradients pass back."""
        ...

    def constructed(self, kind: type, args: Sequence[Any], kwargs: Mapping[str, Any], seed: int) -> Any:
        """Call a class as a recipe for another framework calls its own: with what chance is made of here, and without
        what it is made of there."""
        ...

    def put(self, model: Any, weights: Mapping[str, Any]) -> Any:
        """Return the model with these weights, by its own names; those of a library may be written over."""
        ...

    def put_back(self, model: Any, before: Mapping[str, Any]) -> None:
        """Write weights into a model again, as `state` gave them."""
        ...

    # asked for by `shared/` alone: `WorkingModel` needs the first two, `take_gradients` the third

    def copied(self, model: Any) -> Any:
        """Return a copy of a model, that may be written into."""
        ...

    def restored(self, model: Any) -> contextlib.AbstractContextManager[None]:
        """Put everything that calls of a model may change, and its weights, back as they were."""
        ...

    def with_weights(self, model: Any, weights: Mapping[str, Any]) -> Any:
        """Return another model with these weights, which may be what the library differentiates."""
        ...

    def parameters(self, model: Any) -> dict[str, Any]:
        """Return what is learned, each once, by name."""
        ...

    def named_parameters(self, model: Any) -> dict[str, Any]:
        """Return what is learned by all of its names, also what the model has not registered."""
        ...

    def frozen(self, model: Any) -> set[str]:
        """Return the names of the parameters that are not to learn."""
        ...

    def gradients(self, model: Any) -> dict[str, Any]:
        """Return each parameter's gradient by name, None where it has none."""
        ...

    def take_gradients(self, model: Any, loss: Callable[[Any], Any]) -> Any:
        """Return the number that a function makes of a model; its gradients are the model's then."""
        ...

    def clear_gradients(self, model: Any) -> None:
        """Forget all gradients."""
        ...

    def kinds(self, model: Any) -> dict[str, str]:
        """Say of each parameter whether it is a matrix, a table or something else (`runs/implementation.py`)."""
        ...

    def weight_facts(self, model: Any) -> Any:
        """Return which weights are buffers, and which are tied."""
        ...

    def unused_parameters(self, model: Any, returned: Any) -> tuple[str, ...]:
        """Return the parameters that what a model returned was not computed from."""
        ...

    def stress(self, model: Any, seed: int) -> Any:
        """Return the model with every parameter moved off its identity."""
        ...

    def place(self, model: Any, device: str) -> Any:
        """Return the model on a device."""
        ...

    def in_precision(self, model: Any, dtype: str) -> Any:
        """Return the model with its weights in a floating dtype."""
        ...

    def is_training(self, module: Any) -> bool:
        """Say whether a model or module is in training, not in evaluation."""
        ...

    def set_training(self, model: Any, training: bool) -> Any:
        """Return a model or module switched to training or evaluation; those of a library may be switched in place."""
        ...

    def device(self, model: Any) -> Any:
        """Return the device that a model's arrays are on; None where it has none."""
        ...

    def optimiser(self, model: Any, make: Callable[[Any], Any] | None = None) -> Any:
        """Return the plainest optimiser of a model's parameters, or what `make` makes of them: it takes a `step` with
        the gradients that were taken last, and `zero_grad` forgets them."""
        ...


class Numerics(Protocol):
    """How a library computes."""

    disturbs_operations: bool
    """Whether noise can be added to what its operations return."""

    def conditions(self, watch: Watch, **wanted: Any) -> contextlib.AbstractContextManager[None]:
        """Hold the conditions that `conditions` below describes; one that the library cannot hold changes nothing."""
        ...

    def undisturbed(self) -> contextlib.AbstractContextManager[Any]:
        """Suspend what disturbs or counts operations within this context."""
        ...

    def setting_up(self) -> contextlib.AbstractContextManager[Any]:
        """Make values within this context whose numbers others will take the place of; how they are computed says
        nothing."""
        ...

    def source_name(self, value: Any) -> str:
        """Name an argument that random numbers are drawn from, such as a key; empty for any other value."""
        ...

    def reseeded(self, value: Any, seed: int) -> Any:
        """Return such an argument with another seed."""
        ...

    def with_gradients(self) -> contextlib.AbstractContextManager[Any]:
        """Record gradients within this context."""
        ...

    def records_gradients(self) -> bool:
        """Say whether gradients are recorded."""
        ...

    def passed_back(
        self,
        call: Callable[..., Any],
        form: Any,
        tensors: Sequence[Any],
        weights: Callable[[], Mapping[str, Any]],
        frozen: Collection[str] = (),
    ) -> Mapping[str, Any]:
        """Return the gradients that a call passes back to its inputs and weights, for a fixed direction."""
        ...

    def backward(
        self, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], total: Callable[[Any], Any]
    ) -> Backward:
        """Call a model or function, and take the gradients of the number that `total` makes of what it returns. Those
        of a model's weights are its `gradients` then."""
        ...

    def differentiated(self, function: Callable[..., Any], arrays: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Return the number that a function makes of arrays, and its gradients, None where it does not depend on one;
        asked for by `shared/` alone."""
        ...

    def vjp(
        self, function: Callable[[list[Any]], Any], arrays: Sequence[Any]
    ) -> tuple[Any, Callable[[Sequence[Any]], list[Any]]]:
        """Call a function of arrays; return what it returns, and a function from directions in its arrays, in order, to
        the gradients of `arrays`, None where there is none."""
        ...

    def backward_total(
        self,
        returned: Any,
        values: Mapping[str, Any],
        outputs: Sequence[str],
        loss: Callable[[Any], Any] | None,
        seed: int,
    ) -> Any:
        """Return the number that gradients are taken of: the loss, else a fixed random combination of the outputs."""
        ...

    def gradients_of(self, records: Sequence[Any], sources: Mapping[str, Any]) -> dict[str, Any]:
        """Differentiate every differentiable record with respect to every source."""
        ...

    def last_place_noise(self, seed: int, unit: float = 0.0) -> Callable[[Any], Any]:
        """Return a function that moves numbers by at most one unit in the last place of float32, or by another unit."""
        ...

    def without_gradients(self) -> contextlib.AbstractContextManager[Any]:
        """Record no gradients within this context."""
        ...

    def seed(self, seed: int, *, threads: int | None = None, device: str = "") -> None:
        """Seed all random sources, and switch to deterministic algorithms; keep to a device, if one is named, where it
        would be the library's own choice."""
        ...

    def tolerate_nondeterminism(self) -> None:
        """Allow operations that have no deterministic form."""
        ...

    def compiled(self, target: Any) -> Any:
        """Return a model or function that is compiled when it is called, as long as such conditions are held; raise
        `CannotCompile` where the library does not do that."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return the settings of the whole process that bear on numbers, by name; `conditions` puts them back."""
        ...

    def settings_changed(self, before: Mapping[str, Any]) -> tuple[str, ...]:
        """Say which are not what they were, in words."""
        ...

    def functions(self) -> dict[str, Any]:
        """Return the library's functions and methods by name: code may have exchanged one."""
        ...

    def initial_seed(self) -> int | None:
        """Return the seed of the global random state; None where that is not known."""
        ...

    def random_state(self) -> tuple[Any, ...]:
        """Return the state of all random sources, to be compared with a later one."""
        ...

    def draw_watch(self) -> Callable[[], bool]:
        """Return a function that says whether numbers were drawn since; inside transformations of functions, too."""
        ...

    def random_state_kept(self, seed: int | None = None) -> contextlib.AbstractContextManager[None]:
        """Leave all random sources as they were; seed them, if there is a seed."""
        ...

    def widened(self, array: Any) -> Any:
        """Return an inexact array as a run in float64 has it."""
        ...

    def disturb(self, array: Any, generator: Any, least: float = 0.0) -> Any:
        """Move each element of an inexact array by at most one unit in the last place, or by `least` times its size if
        that is more; whole numbers stay."""
        ...


class Process(Protocol):
    """A library in a process, and what is there for it."""

    PACKAGES: tuple[str, ...]
    """The library, and those that are built on it: code that imports one of them works with its arrays."""

    def preload(self) -> None:
        """Import all that children will need, before they are forked; start no thread."""
        ...

    def keep_compiled(self) -> None:
        """Keep what is compiled for the CPU for later processes (`foundation/compiled_code.py`), where the library
        compiles what it computes."""
        ...

    def is_started(self) -> bool:
        """Say whether it runs threads without which a forked child would hang."""
        ...

    def devices(self) -> list[str]:
        """List the devices besides the CPU."""
        ...

    def device_names(self) -> list[str]:
        """List them as their makers call them."""
        ...

    def has_device(self, device: str) -> bool:
        """Say whether arrays can be made on a device."""
        ...

    def settle(self, device: str) -> None:
        """Wait for all that a device was asked to compute; raise what went wrong there, and whatever a device raises
        that can compute no more."""
        ...

    def limit_memory(self, device: str, size: int) -> None:
        """Let arrays of this process take so many bytes of a device's memory, where the library can: more is an
        error."""
        ...

    def environment(self, device: str) -> dict[str, Any]:
        """Return the fields of `gold.facts.Environment` that the library knows."""
        ...

    def cpu_capability(self) -> str:
        """Name the instruction set that is used; empty where there is no choice."""
        ...
