"""Check your work against the sketches of this kit: `python3 check.py [FOLDER] [--case NAME]`.

Where goldsmith is installed, it does the work. Else this file does, with NumPy and what your code needs; it then
expects the weights of your model to have the names that the assignment gives them.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import math
import random
import sys
import traceback
import types
from pathlib import Path
from typing import Any

import numpy as np

from goldsmith.gold.sketches.sketch import Sketch, arrays_in, copied, leaves_in, read_kit, root_mean_square, widened

KIT = Path(__file__).resolve().parent
RIGHT, WRONG, USAGE, COULD_NOT_RUN = 0, 1, 2, 3
CLOSE = 5e-5  # as in `judge/policy.py`, which is not there when a kit runs without goldsmith


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Check your work against the sketches of this kit.")
    parser.add_argument("folder", nargs="?", help="the folder with your code (here, if it has the files)")
    parser.add_argument("--case", action="append", default=[], metavar="NAME", help="only this case")
    parser.add_argument("--plain", action="store_true", help="do not use goldsmith, even if it is installed")
    chosen = parser.parse_args(arguments)
    kit = read_kit(KIT)
    unknown = [name for name in chosen.case if name not in kit["cases"]]
    if unknown:
        print(f"There is no case {unknown[0]}; there are {', '.join(kit['cases'])}.", file=sys.stderr)
        return USAGE
    folder = Path(chosen.folder) if chosen.folder else Path.cwd()
    if not folder.is_dir():
        print(f"{folder} is not a folder.", file=sys.stderr)
        return USAGE
    if not chosen.plain and importlib.util.find_spec("goldsmith") is not None:
        return with_goldsmith(kit, folder, chosen.case)
    wanted = chosen.case or list(kit["cases"])
    return closed(Run(kit, folder.resolve()).all(wanted), kit, folder, wanted)


def closed(outcome: int, kit: dict[str, Any], folder: Path, ran: list[str]) -> int:
    """Say what was not looked at, and whether all else is right."""
    missing = unwritten(folder, kit["written"])
    if outcome == RIGHT and missing:
        print(f"Not written yet: {', '.join(missing)}. Nothing else that was looked at is wrong.")
        outcome = COULD_NOT_RUN
    elif outcome == RIGHT:
        print("Nothing that was looked at is wrong. It is not your grade.")
    cases = {name: kit["cases"][name] for name in ran}
    seen = {name for item in cases.values() for name in item["entry"]["runs"]}
    parts = [name.partition(".")[2] for name in kit["written"]] if seen else []
    left = {
        "cases": [*(name for name in kit["cases"] if name not in ran), *kit["not_in_kit"]],
        "parts that no case here runs": [name for name in parts if name not in seen and name not in missing],
        "records": [f"{_shown(path)} of {name}" for name, item in cases.items() for path in item["left_out"]],
    }
    for what, rows in left.items():
        if rows:
            print(f"Not looked at, {what}: {', '.join(rows[:8])}{', …' if len(rows) > 8 else ''}.")
    return outcome


def unwritten(folder: Path, parts: list[str]) -> list[str]:
    """List the parts that do nothing yet."""
    stubs = set()
    for stem in {part.partition(".")[0] for part in parts}:
        for file in (folder / f"{stem}.py", folder / "src" / f"{stem}.py"):
            with contextlib.suppress(OSError, SyntaxError, ValueError):
                stubs |= {f"{stem}.{name}" for name in _stubs(ast.parse(file.read_bytes()).body)}
    return [part.partition(".")[2] for part in parts if part in stubs]


def _stubs(body: list[ast.stmt]) -> Any:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{name}" for name in _stubs(node.body))
        elif isinstance(node, ast.FunctionDef) and all(map(_does_nothing, node.body)):
            yield node.name


def _does_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    text = ast.unparse(node)
    return text in ("pass", "return", "return None") or text.startswith("raise NotImplementedError")


def with_goldsmith(kit: dict[str, Any], folder: Path, cases: list[str]) -> int:
    from goldsmith.courses.handout.judge_kit import judge_by_kit
    from goldsmith.courses.handout.kit_report import kit_report
    from goldsmith.errors.base import GoldsmithError

    try:
        verdict = judge_by_kit(KIT, folder, cases)
    except GoldsmithError as error:
        print(f"check.py: {error}", file=sys.stderr)
        return error.exit_code
    print("\n".join(kit_report(verdict)))
    return closed(verdict.exit_code, kit, folder, cases or list(kit["cases"]))


# --- without goldsmith ---


class Stop(Exception):
    """A case cannot go on; the text says why."""


class Case:
    """What a case of cases.py is called with: it gives the course's inputs and weights, and keeps what is recorded."""

    def __init__(self, name: str, about: dict[str, Any], kit: dict[str, Any]) -> None:
        self.name, self.seed, self.device = name, kit["seed"], "cpu"
        self.recorded: dict[str, Any] = {}
        self.calls: list[dict[str, Any]] = []
        self._entry, self._kit = about["entry"], kit
        self._inputs = self._by_name(about["given"]["input"], self._entry["inputs"])
        self._weights = self._by_name(about["given"]["state_dict"], self._entry["models"])

    def _by_name(self, stored: Any, names: list[str]) -> dict[str, Any]:
        return {names[0]: stored} if len(names) == 1 else dict(stored) if isinstance(stored, dict) else {}

    def input(self, name: str, make: Any, **_: Any) -> Any:
        made = make() if callable(make) else make
        return self._filled(made, self._inputs[name])

    def _filled(self, made: Any, kept: Any) -> Any:
        """Return what the recipe made with the numbers of the kit."""
        if isinstance(kept, dict) and set(kept) == {"@array"}:
            array = self._kit["arrays"][kept["@array"]]
            if type(made).__module__.partition(".")[0] != "torch":
                space = getattr(made, "__array_namespace__", None)
                return space().asarray(array.copy()) if space else array.copy()
            import torch

            return torch.from_numpy(array.copy()).to(made.dtype).requires_grad_(made.requires_grad)
        if isinstance(made, dict):
            return {key: self._filled(item, kept.get(str(key), item)) for key, item in made.items()}
        if type(made) in (list, tuple):
            return type(made)(self._filled(item, other) for item, other in zip(made, kept, strict=True))
        return kept if type(kept) is type(made) else made

    def model(
        self,
        factory: Any,
        /,
        *args: Any,
        weights: str = "init",
        name: str = "model",
        train: bool = False,
        **kwargs: Any,
    ) -> Any:
        for option in ("trace", "allow"):
            kwargs.pop(option, None)
        model = factory(*args, **kwargs)
        if not hasattr(model, "load_state_dict"):
            raise Stop("its model is not a torch module; install goldsmith to check it")
        import torch

        state = {key: torch.from_numpy(self._array(item)) for key, item in self._weights[name].items()}
        own = model.state_dict()
        missing = [key for key in state if key not in own or own[key].shape != state[key].shape]
        facts = self._entry["weights"].get(name, {})
        computed = {*facts.get("buffers", ()), *facts.get("withheld", ())}
        extra = [key for key in own if key not in state and key not in computed]
        if missing or extra:
            raise Stop(
                f"its weights are not those of the assignment ({', '.join([*missing, *extra][:3])}); "
                "install goldsmith, which can match others"
            )
        model.load_state_dict(state, strict=False)
        self._trace(name, model.train(train))
        return model

    def _array(self, item: Any) -> Any:
        return self._kit["arrays"][item["@array"]].copy()

    def _trace(self, label: str, model: Any) -> None:
        """Note every call of a module: what went in and what came out."""
        open_calls: list[dict[str, Any]] = []

        def enter(name: str) -> Any:
            def hook(module: Any, args: Any, kwargs: Any) -> None:
                open_calls.append({"model": label, "module": name, "inputs": arrays_in([args, kwargs])})
                self.calls.append(open_calls[-1])

            return hook

        def leave(module: Any, args: Any, output: Any) -> None:
            open_calls.pop()["outputs"] = arrays_in(output)

        for name, module in model.named_modules():
            module.register_forward_pre_hook(enter(name), with_kwargs=True)
            module.register_forward_hook(leave)

    def record(self, name: str, value: Any, **_: Any) -> None:
        self.recorded[name] = copied(value)

    def record_gradients(self, model: Any, name: str = "gradients", **_: Any) -> None:
        self.record(name, {key: item.grad for key, item in model.named_parameters()})

    def record_weights(self, model: Any, name: str = "weights", **_: Any) -> None:
        self.record(name, dict(model.state_dict()))

    def checkpoint(self, model: Any, **_: Any) -> None:
        self.recorded[""] = copied(dict(model.state_dict()))

    def first(self, value: Any) -> Any:
        if isinstance(value, dict):
            return next(iter(value.values()))
        return value[0] if isinstance(value, tuple | list) else value

    def initial(self, *_: Any, **__: Any) -> None:
        raise Stop("it takes goldsmith to check it")

    weights = steps = initial

    def leaves(self) -> dict[str, Any]:
        """Return what was recorded by path, as the kit names it."""
        outputs = {name: item for name, item in self.recorded.items() if name}
        found = dict(leaves_in("output", next(iter(outputs.values())) if len(outputs) == 1 else outputs))
        return found | dict(leaves_in("model_state_dict", self.recorded[""])) if "" in self.recorded else found


class Run:
    """Runs the cases of cases.py on the code in a folder."""

    def __init__(self, kit: dict[str, Any], folder: Path) -> None:
        self._kit, self._folder = kit, folder
        self._cases: dict[str, Any] = {}

    def all(self, wanted: list[str]) -> int:
        print(f"{self._kit['assignment']}: {len(wanted)} cases, without goldsmith.\n")
        try:
            self._import_recipe()
        except Exception:
            print(f"Your code could not be imported from {self._folder}:\n", file=sys.stderr)
            traceback.print_exc(limit=-3)
            return COULD_NOT_RUN
        found, sources = dict.fromkeys((RIGHT, WRONG, COULD_NOT_RUN), 0), list[tuple[int, str]]()
        for name in wanted:
            outcome, said, source = self._one(name)
            found[outcome] += 1
            if source:
                sources.append((len(self._kit["cases"][name]["calls"]), source))
            print(f"  {name:24} {said}")
        print()
        if sources:  # the case with the fewest calls shows it best
            print(f"First wrong: {min(sources, key=lambda item: item[0])[1]}.")
        if found[WRONG]:
            print(f"{found[WRONG]} of {len(wanted)} cases are wrong.")
            return WRONG
        if found[COULD_NOT_RUN]:
            print(f"{found[COULD_NOT_RUN]} of {len(wanted)} cases could not run; nothing that ran is wrong.")
            return COULD_NOT_RUN
        return RIGHT

    def _import_recipe(self) -> None:
        stand_in: Any = types.ModuleType("goldsmith")
        stand_in.case = stand_in.checkpoint = self._register
        stand_in.main = lambda: None
        stand_in.seed_everything = lambda *_, **__: None
        sys.modules["goldsmith"] = stand_in
        sys.path[:0] = [str(self._folder), str(self._folder / "src")]
        code = compile((KIT / "cases.py").read_text(encoding="utf-8"), str(KIT / "cases.py"), "exec")
        exec(code, {"__name__": "cases", "__file__": str(KIT / "cases.py")})

    def _register(self, function: Any = None, **options: Any) -> Any:
        def add(target: Any) -> Any:
            self._cases[options.get("name") or target.__name__] = target
            return target

        return add if function is None else add(function)

    def _one(self, name: str) -> tuple[int, str, str]:
        """Run a case; return its outcome, a sentence, and which module goes wrong first."""
        about = self._kit["cases"][name]
        case = Case(name, about, self._kit)
        self._seed()
        try:
            self._cases[name](case)
        except Stop as problem:
            return COULD_NOT_RUN, f"could not run: {problem}", ""
        except NotImplementedError:
            return COULD_NOT_RUN, "not written yet", ""
        except Exception as error:
            frame = next(
                (item for item in reversed(traceback.extract_tb(error.__traceback__)) if self._is_own(item)), None
            )
            place = f" ({Path(frame.filename).name}, line {frame.lineno})" if frame else ""
            return COULD_NOT_RUN, f"could not run: {type(error).__name__}: {error}{place}", ""
        accepted = [about, *about["variants"].values()]
        wrong = min((self._wrong(item, case.leaves()) for item in accepted), key=len)
        if not wrong:
            return RIGHT, "right", ""
        return WRONG, f"wrong: {wrong[0]}", self._first_wrong(about["calls"], case.calls)

    def _is_own(self, frame: Any) -> bool:
        return Path(frame.filename).is_relative_to(self._folder)

    def _seed(self) -> None:
        random.seed(self._kit["seed"])
        np.random.seed(self._kit["seed"] % 2**32)
        if self._kit["torch"]:
            import torch

            torch.manual_seed(self._kit["seed"])

    def _wrong(self, accepted: dict[str, Any], leaves: dict[str, Any]) -> list[str]:
        """Say what is wrong with what a case recorded, the farthest off first."""
        found = []
        limits = {item["path"]: item["tolerance"] for item in accepted["entry"]["tensors"]}
        for path, number in accepted["records"].items():
            sketch: Sketch = self._kit["sketches"][number]
            if path not in leaves or not hasattr(leaves[path], "shape"):
                found.append((math.inf, f"{_shown(path)} is missing, or not a tensor"))
                continue
            array, limit = leaves[path], _limit(limits[path], sketch)
            if array.shape != sketch.shape:
                found.append((math.inf, f"{_shown(path)} has shape {list(array.shape)}, not {list(sketch.shape)}"))
                continue
            off = sketch.error_of(array)
            if off > widened(limit, sketch.count):
                found.append((off / limit, f"{_shown(path)} {_how_far(off)}"))
        return [said for _, said in sorted(found, key=lambda item: -item[0])]

    def _first_wrong(self, gold: list[dict[str, Any]], mine: list[dict[str, Any]]) -> str:
        """Name the first module that was given what is right and returned something else."""
        for number in sorted(range(len(gold)), key=lambda number: (gold[number]["end"], -number)):
            call = gold[number]
            if not call["own"] or call["function"] or call.get("drew") or "outputs" not in call:
                continue
            same = [item for item in gold[:number] if _is_same_module(item, call)]
            theirs = [item for item in mine if _is_same_module(item, call)]
            if len(theirs) <= len(same) or "outputs" not in theirs[len(same)]:
                continue
            partner = theirs[len(same)]
            if "?" in (*call["inputs"], *(call.get("state") or {}).values()):
                continue  # the kit does not tell what it was given
            if self._apart(call["inputs"], partner["inputs"]) > CLOSE:
                continue
            off = self._apart(call["outputs"], partner["outputs"])
            if off > CLOSE:
                name = f"{call['module']} ({call['class']})" if call["module"] else call["class"]
                inside = any("?" in item.get("outputs", ()) for item in gold[number + 1 : call["end"]] if item["own"])
                hint = ", unless something that it calls is wrong" if inside else ""
                return f"{name}: given the right inputs, its output {_how_far(off)}{hint}"
        return ""

    def _apart(self, gold: list[Any], mine: list[Any]) -> float:
        if len(mine) < len(gold):
            return math.inf
        return max((self._distance(one, two) for one, two in zip(gold, mine, strict=False)), default=0.0)

    def _distance(self, gold: Any, array: Any) -> float:
        """Return how far a tensor is from the right one: by a sketch, or from an input of the case, which is known."""
        if gold == "?":
            return 0.0
        if not isinstance(gold, dict):
            return float(self._kit["sketches"][gold].error_of(array))
        right = self._kit["arrays"][gold["@array"]]
        if right.shape != array.shape:
            return math.inf
        gap = root_mean_square(array - right.astype(np.float64))
        return float(gap / (root_mean_square(right) or 1.0))


def _is_same_module(one: dict[str, Any], two: dict[str, Any]) -> bool:
    return (one["model"], one["module"]) == (two["model"], two["module"]) and not one.get("function")


def _limit(tolerance: dict[str, Any], sketch: Sketch) -> float:
    """Return how far off a whole tensor may be, relative to its size."""
    own = [tolerance[name] for name in ("l2", "max") if tolerance.get(name) is not None]
    return float(min(own) if own else (tolerance.get("rtol") or 0.0) + (tolerance.get("atol") or 0.0) / sketch.rms)


def _how_far(off: float) -> str:
    if not math.isfinite(off):
        return "has another shape, or holds NaN or infinity"
    return f"is off by about {off:.0%} of its size" if off >= 0.01 else f"is off by about {off:.0e} of its size"


def _shown(path: str) -> str:
    name, _, item = path.rpartition(".")
    return f"item {item} of {_shown(name)}" if item.isdecimal() else path.partition(".")[2] or "the output"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
