"""Layers in NumPy. Each keeps in forward what its backward needs, under names of your choice.

backward gets the gradient of the loss by the layer's output, keeps those by its weights (`d_weight` for `weight`), and
returns that by its input.
"""

import numpy as np


class Layer:
    """What has no weights has nothing to update."""

    weights = ()

    def gradients(self):
        return {name: getattr(self, f"d_{name}") for name in self.weights}


class Linear(Layer):
    weights = ("weight", "bias")

    def __init__(self, inputs, outputs):
        self.weight = np.random.randn(inputs, outputs) * np.sqrt(2 / inputs)
        self.bias = np.zeros(outputs)

    def forward(self, x):
        # YOUR CODE HERE
        raise NotImplementedError

    def backward(self, d_out):
        # YOUR CODE HERE
        raise NotImplementedError


class ReLU(Layer):
    def forward(self, x):
        # YOUR CODE HERE
        pass

    def backward(self, d_out):
        # YOUR CODE HERE
        pass


class Flatten(Layer):
    """Provided."""

    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, d_out):
        return d_out.reshape(self.shape)


def out_size(size, kernel, stride, padding):
    return (size + 2 * padding - kernel) // stride + 1


def im2col(x, kernel, stride, padding):
    """Every window of x (count, channels, height, width), padded with zeros, as a row: (count · high · wide, channels ·
    kernel · kernel), in the order of positions, and in a row by channel first."""
    # YOUR CODE HERE
    raise NotImplementedError


def col2im(columns, shape, kernel, stride, padding):
    """The way back, for gradients: what belongs to several windows is summed up; `shape` is that of x."""
    # YOUR CODE HERE
    raise NotImplementedError


class Conv2d(Layer):
    weights = ("weight", "bias")

    def __init__(self, channels, filters, kernel, stride=1, padding=0):
        self.kernel, self.stride, self.padding = kernel, stride, padding
        self.weight = np.random.randn(filters, channels, kernel, kernel) * np.sqrt(2 / (channels * kernel**2))
        self.bias = np.zeros(filters)

    def forward(self, x):
        # YOUR CODE HERE: use im2col.
        raise NotImplementedError

    def backward(self, d_out):
        # YOUR CODE HERE: use col2im.
        raise NotImplementedError


class MaxPool2d(Layer):
    def __init__(self, kernel, stride):
        self.kernel, self.stride = kernel, stride

    def forward(self, x):
        # YOUR CODE HERE
        raise NotImplementedError

    def backward(self, d_out):
        """The gradient goes to the largest of each window; windows may overlap."""
        # YOUR CODE HERE
        raise NotImplementedError


class BatchNorm(Layer):
    """With `training`, by the batch's own mean and (biased) variance, of which `mean` and `var` keep a running mean:
    momentum times the old. Else by these."""

    weights = ("scale", "shift")

    def __init__(self, width, momentum=0.9, eps=1e-5):
        self.momentum, self.eps = momentum, eps
        self.scale, self.shift = np.ones(width), np.zeros(width)
        self.mean, self.var = np.zeros(width), np.ones(width)
        self.training = True

    def forward(self, x):
        # YOUR CODE HERE
        raise NotImplementedError

    def backward(self, d_out):
        """Of what was normalised by the batch's own statistics."""
        # YOUR CODE HERE
        raise NotImplementedError


def softmax_loss(scores, labels):
    """The mean cross-entropy, and its gradient by the scores; scores may be large."""
    # YOUR CODE HERE
    pass


class Network:
    def __init__(self, layers):
        self.layers = layers

    def forward(self, x):
        # YOUR CODE HERE
        raise NotImplementedError

    def backward(self, d_out):
        # YOUR CODE HERE
        raise NotImplementedError

    def set_training(self, training):
        for layer in self.layers:
            if isinstance(layer, BatchNorm):
                layer.training = training


def make_network(channels, filters, classes):
    return Network(
        [
            Conv2d(channels, filters, kernel=3, stride=2, padding=1),
            ReLU(),
            MaxPool2d(kernel=2, stride=1),
            Flatten(),
            BatchNorm(filters * 6),
            Linear(filters * 6, classes),
        ]
    )


def train_step(network, x, labels, rate):
    """One step of gradient descent in training mode; returns the loss before it."""
    # YOUR CODE HERE
    raise NotImplementedError


def predict(network, x):
    """The likeliest class of each image, out of training mode."""
    # YOUR CODE HERE
    pass


def accuracy(network, batches):
    """The share of all images that `predict` gets right; `batches` may be a generator."""
    # YOUR CODE HERE
    raise NotImplementedError
