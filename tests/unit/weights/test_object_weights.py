"""Weights that no state dict has: found in attributes, lists and dicts, kept, and put into somebody else's model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goldsmith.weights.object_weights import CannotHold, find_slots
from support.course import CourseOnDisk

TENSOR = """
    import numpy as np

    class Tensor:
        def __init__(self, array):
            self.cached_data = np.asarray(array, dtype="float64")
            self.grad = None
        @property
        def data(self):
            return Tensor(self.cached_data)
        @data.setter
        def data(self, value):
            self.cached_data = value.cached_data
        def numpy(self):
            return self.cached_data

    class Parameter(Tensor):
        pass
"""

NET = """
    import numpy as np
    from tensor import Parameter, Tensor

    class Linear:
        def __init__(self, inputs, outputs):
            {draws}
        def __call__(self, x):
            return Tensor(x.numpy() @ self.weight.numpy() + self.bias.numpy())

    class Net:
        def __init__(self, sizes):
            self.layers = [Linear(one, two) for one, two in zip(sizes, sizes[1:])]
        def __call__(self, x):
            for layer in self.layers:
                x = Tensor(np.tanh(layer(x).numpy()))
            return x

    def make(size):
        return None
"""

STARTER = """
    class Net:
        def __init__(self, sizes):
            raise NotImplementedError
        def __call__(self, x):
            raise NotImplementedError

    def make(size):
        raise NotImplementedError
"""

WEIGHT = "self.weight = Parameter(np.random.randn(inputs, outputs))"
BIAS = "self.bias = Parameter(np.random.randn(outputs))"
RIGHT = NET.format(draws=f"{WEIGHT}\n            {BIAS}")
OTHER_ORDER = NET.format(draws=f"{BIAS}\n            {WEIGHT}")
WRONG = RIGHT.replace("np.tanh(layer(x).numpy())", "layer(x).numpy()")

RECIPE = """
    import numpy as np

    import goldsmith as gs
    from net import Net
    from tensor import Tensor


    @gs.case
    def forward(case):
        net = case.model(Net, [5, 7, 3])
        case.record("y", net(Tensor(case.input("x", lambda: np.random.randn(4, 5)))))
"""

HIDDEN = """
    import numpy as np

    class Net:
        def __init__(self, sizes):
            pass
        def __call__(self, x):
            return x

    def make(size):
        weight = np.random.randn(size)
        class Model:
            __slots__ = ()
            def __call__(self, x):
                return x {sign} weight
            def read(self):
                return weight.copy()
            def write(self, value):
                weight[:] = value
        return Model()
"""

HIDDEN_RECIPE = """
    import numpy as np

    import goldsmith as gs
    from net import make


    @gs.case
    def forward(case):
        {access}
        model = case.model(make, 5)
        case.record("y", model(case.input("x", lambda: np.random.randn(4, 5))))
"""


def course_of(folder: Path, net: str, recipe: str) -> CourseOnDisk:
    files = {
        "src/assignments/hw1/tensor.py": TENSOR,
        "src/assignments/hw1/net.py": STARTER,
        "src/assignments/hw1/generate_fixtures.py": recipe,
        "private/solutions/hw1/net_solution.py": net,
    }
    return CourseOnDisk(folder).write(files).with_gold()


def outcome(course: CourseOnDisk, net: str) -> dict[str, str]:
    course.write({"handed-in/net.py": net})
    (found,) = course.run("check", "hw1", "handed-in", "--json").json["submissions"]
    return found["cases"][0]


@pytest.fixture(scope="module")
def home_made(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return course_of(tmp_path_factory.mktemp("home-made"), RIGHT, RECIPE)


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    net = HIDDEN.format(sign="*")
    return course_of(tmp_path_factory.mktemp("hidden"), net, HIDDEN_RECIPE.format(access="pass"))


def test_right_work_that_draws_its_weights_in_another_order_agrees(home_made: CourseOnDisk) -> None:
    assert outcome(home_made, OTHER_ORDER)["outcome"] == "agrees"


def test_wrong_work_with_the_same_weights_differs(home_made: CourseOnDisk) -> None:
    assert outcome(home_made, WRONG)["outcome"] == "differs"


def test_weights_that_cannot_be_found_are_a_caveat_and_no_difference(hidden: CourseOnDisk) -> None:
    drawn_otherwise = HIDDEN.format(sign="*").replace("randn(size)", "randn(size + 1)[1:]")
    found = outcome(hidden, drawn_otherwise)
    assert found["outcome"] == "could-not-run"
    assert "its own weights were used; only their statistics could be compared" in found["reason"]
    assert "spread" in found["reason"]


def test_the_caveat_stays_where_the_numbers_agree(hidden: CourseOnDisk) -> None:
    found = outcome(hidden, HIDDEN.format(sign="*"))
    assert found["outcome"] == "agrees"
    assert any("its own weights were used" in note for note in found["notes"])


def test_another_shape_differs_whatever_the_weights(hidden: CourseOnDisk) -> None:
    found = outcome(hidden, HIDDEN.format(sign="*").replace("return x *", "return x[:2] *"))
    assert found["outcome"] == "differs"


def test_a_recipe_can_say_how_weights_are_kept(tmp_path: Path) -> None:
    access = 'case.weights(lambda model: {"weight": model.read()}, lambda model, kept: model.write(kept["weight"]))'
    course = course_of(tmp_path, HIDDEN.format(sign="*"), HIDDEN_RECIPE.format(access=access))
    other = HIDDEN.format(sign="*").replace("randn(size)", "rand(size)")
    assert outcome(course, other)["outcome"] == "agrees"
    assert outcome(course, HIDDEN.format(sign="+"))["outcome"] == "differs"


# --- slots ----------------------------------------------------------------------------------------------------------


class Number:
    """As a home-made scalar keeps its value."""

    def __init__(self, data: float) -> None:
        self.data = data
        self.grad = 0.0


class Frozen:
    """Its numbers can be read, and that is all."""

    __slots__ = ("_array",)

    def __init__(self) -> None:
        object.__setattr__(self, "_array", (1.0, 2.0))

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.array(self._array)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)


class Holder:
    def __init__(self, **parts: object) -> None:
        self.__dict__.update(parts)


def test_slots_go_by_the_path_that_leads_to_them() -> None:
    model = Holder(layers=[Holder(w=np.ones(3)), {"b": Number(2.0)}], name="net", grad=np.zeros(3))
    assert list(find_slots(model)) == ["layers.0.w", "layers.1.b"]


def test_what_is_written_is_what_is_read() -> None:
    number, array = Number(2.0), Holder(w=np.ones(3))
    slots = find_slots(Holder(parts=[number, array]))
    slots["parts.0"].write(np.array(5.0))
    slots["parts.1.w"].write(np.full(3, 7.0))
    assert number.data == 5.0
    assert array.w.tolist() == [7.0] * 3


def test_what_cannot_be_written_says_so() -> None:
    (slot,) = find_slots(Holder(parts=(Frozen(),))).values()
    with pytest.raises(CannotHold):
        slot.write(np.zeros(2))


def test_looking_whether_something_can_be_written_changes_nothing() -> None:
    shared = np.ones(3)
    model = Holder(w=shared, params={"w": shared}, number=Number(2.0), frozen=Frozen())
    found = {name: slot.is_writable() for name, slot in find_slots(model).items()}
    assert found == {"w": True, "params.w": True, "number": True, "frozen": False}
    assert model.w is model.params["w"] is shared


def test_an_object_that_holds_itself_is_walked_once() -> None:
    model = Holder(w=np.ones(2))
    model.again = [model]
    assert list(find_slots(model)) == ["w"]


def test_layers_in_a_list_of_a_torch_module_are_kept_and_placed() -> None:
    torch = pytest.importorskip("torch")
    from goldsmith.weights.gold_inputs import GoldInputs
    from goldsmith.weights.models import weights_of

    class Listed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)]

    class Registered(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)])

    for mine, theirs in ((Listed(), Registered()), (Registered(), Listed())):
        kept = weights_of(mine, "gold")
        assert list(kept) == ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]
        settled = GoldInputs({}, {"model": kept}).load_weights("model", theirs, {}, type(theirs))
        assert torch.equal(theirs.layers[1].weight, mine.layers[1].weight)
        assert list(settled.weights()) == list(kept)
