"""Gold for layers in NumPy. `im2col` and `col2im` run in convolutions alone, `predict` in `accuracy`."""

import numpy as np

import goldsmith as gs
from layers import BatchNorm, Conv2d, Linear, MaxPool2d, ReLU, accuracy, make_network, softmax_loss, train_step


def record_both_ways(case, layer, x, d_out):
    """What a layer gives, the gradient by its input, and those by its weights."""
    case.record("y", layer.forward(x))
    case.record("d_x", layer.backward(d_out))
    for name, gradient in layer.gradients().items():
        case.record(f"d_{name}", gradient)


def shaken(case, *sizes):
    """A network whose biases are not 0 and whose scales are not 1."""
    network = case.model(make_network, *sizes)
    for at, layer in enumerate(network.layers):
        for name in layer.weights:
            weight = getattr(layer, name)
            move = case.input(f"move_{name}_{at}", lambda shape=weight.shape: np.random.randn(*shape) * 0.3)
            setattr(layer, name, weight + move)
    return network


@gs.case
def linear(case):
    """A linear layer, both ways."""
    layer = case.model(Linear, 5, 3, weights="stress")
    x, d_out = case.input("x", lambda: np.random.randn(4, 5)), case.input("d_out", lambda: np.random.randn(4, 3))
    record_both_ways(case, layer, x, d_out)
    case.record("one", layer.forward(case.input("one", lambda: np.random.randn(1, 5))))


@gs.case
def relu(case):
    """ReLU, both ways, zero among its inputs."""
    layer = ReLU()
    x = case.input("x", lambda: np.concatenate([np.random.randn(4, 5), np.zeros((2, 5))]))
    record_both_ways(case, layer, x, case.input("d_out", lambda: np.random.randn(6, 5)))


@gs.case
def convolution(case):
    """A convolution with stride and padding, both ways."""
    layer = case.model(Conv2d, 3, 5, kernel=3, stride=2, padding=1, weights="stress")
    x = case.input("x", lambda: np.random.randn(2, 3, 7, 6))
    record_both_ways(case, layer, x, case.input("d_out", lambda: np.random.randn(2, 5, 4, 3)))


@gs.case
def convolution_plain(case):
    """A convolution without padding, called on other images before it goes back."""
    layer = case.model(Conv2d, 2, 6, kernel=3, weights="stress")
    case.record("first", layer.forward(case.input("first", lambda: np.random.randn(1, 2, 7, 6))))
    x = case.input("x", lambda: np.random.randn(3, 2, 7, 6))
    record_both_ways(case, layer, x, case.input("d_out", lambda: np.random.randn(3, 6, 5, 4)))


@gs.case
def pooling(case):
    """The largest of each window, overlapping windows included, both ways."""
    layer = case.model(MaxPool2d, 3, 2)
    x = case.input("x", lambda: np.random.randn(2, 5, 7, 9))
    record_both_ways(case, layer, x, case.input("d_out", lambda: np.random.randn(2, 5, 3, 4)))


@gs.case
def batch_norm(case):
    """Batch norm in training, both ways, twice, then out of training."""
    layer = case.model(BatchNorm, 5, momentum=0.7, eps=0.02, weights="stress")
    first, second, third = case.input("batches", lambda: [np.random.randn(n, 5) * 0.3 + 2 for n in (4, 7, 3)])
    case.record("first", layer.forward(first))
    record_both_ways(case, layer, second, case.input("d_out", lambda: np.random.randn(7, 5)))
    case.record("statistics", [layer.mean, layer.var])
    layer.training = False
    case.record("third", layer.forward(third))


@gs.case
def loss(case):
    """The loss and its gradient, of small and of large scores."""
    labels = case.input("labels", np.array([2, 0, 1, 2]))
    value, gradient = softmax_loss(case.input("scores", lambda: np.random.randn(4, 3)), labels)[:2]
    case.record("value", value)
    case.record("gradient", gradient)
    case.record("large", softmax_loss(case.input("large", lambda: np.random.randn(4, 3) * 3000), labels)[0])


@gs.case
def gold_output(case):
    """The whole network, both ways."""
    network = shaken(case, 2, 3, 4)
    x = case.input("x", lambda: np.random.randn(5, 2, 7, 6))
    case.record("scores", network.forward(x))
    case.record("d_x", network.backward(case.input("d_out", lambda: np.random.randn(5, 4))))
    case.record("gradients", [layer.gradients() for layer in network.layers])


@gs.case
def training(case):
    """Three steps of training, and how many are right then."""
    network = shaken(case, 2, 3, 4)
    batches = case.input(
        "batches", lambda: [(np.random.randn(n, 2, 7, 6), np.random.randint(0, 4, n)) for n in (5, 8, 3)]
    )
    case.record("losses", [train_step(network, x, labels, 0.05) for x, labels in batches])
    case.record("accuracy", accuracy(network, (batch for batch in batches)))
    case.record("weights", [{name: getattr(layer, name) for name in layer.weights} for layer in network.layers])


if __name__ == "__main__":
    gs.main()
