"""Layers in NumPy. Each keeps in forward what its backward needs."""

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
        self.x = x
        return x @ self.weight + self.bias

    def backward(self, d_out):
        self.d_weight = self.x.T @ d_out
        self.d_bias = d_out.sum(axis=0)
        return d_out @ self.weight.T


class ReLU(Layer):
    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, d_out):
        return d_out * self.mask


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
    count, channels, height, width = x.shape
    high, wide = (out_size(size, kernel, stride, padding) for size in (height, width))
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    columns = np.empty((count, high, wide, channels, kernel, kernel), dtype=x.dtype)
    for i in range(high):
        for j in range(wide):
            top, left = i * stride, j * stride
            columns[:, i, j] = padded[:, :, top : top + kernel, left : left + kernel]
    return columns.reshape(count * high * wide, channels * kernel * kernel)


def col2im(columns, shape, kernel, stride, padding):
    count, channels, height, width = shape
    high, wide = (out_size(size, kernel, stride, padding) for size in (height, width))
    columns = columns.reshape(count, high, wide, channels, kernel, kernel)
    padded = np.zeros((count, channels, height + 2 * padding, width + 2 * padding), dtype=columns.dtype)
    for i in range(high):
        for j in range(wide):
            top, left = i * stride, j * stride
            padded[:, :, top : top + kernel, left : left + kernel] += columns[:, i, j]
    return padded[:, :, padding : padding + height, padding : padding + width]


class Conv2d(Layer):
    weights = ("weight", "bias")

    def __init__(self, channels, filters, kernel, stride=1, padding=0):
        self.kernel, self.stride, self.padding = kernel, stride, padding
        self.weight = np.random.randn(filters, channels, kernel, kernel) * np.sqrt(2 / (channels * kernel**2))
        self.bias = np.zeros(filters)

    def forward(self, x):
        high, wide = (out_size(size, self.kernel, self.stride, self.padding) for size in x.shape[2:])
        columns = im2col(x, self.kernel, self.stride, self.padding)
        self.cache = x.shape, columns
        y = columns @ self.weight.reshape(len(self.weight), -1).T + self.bias
        return y.reshape(len(x), high, wide, -1).transpose(0, 3, 1, 2)

    def backward(self, d_out):
        shape, columns = self.cache
        d_y = d_out.transpose(0, 2, 3, 1).reshape(-1, len(self.weight))
        self.d_weight = (d_y.T @ columns).reshape(self.weight.shape)
        self.d_bias = d_y.sum(axis=0)
        d_columns = d_y @ self.weight.reshape(len(self.weight), -1)
        return col2im(d_columns, shape, self.kernel, self.stride, self.padding)


class MaxPool2d(Layer):
    def __init__(self, kernel, stride):
        self.kernel, self.stride = kernel, stride

    def forward(self, x):
        high, wide = (out_size(size, self.kernel, self.stride, 0) for size in x.shape[2:])
        y = np.empty((*x.shape[:2], high, wide), dtype=x.dtype)
        for i in range(high):
            for j in range(wide):
                y[:, :, i, j] = self.window(x, i, j).max(axis=(2, 3))
        self.cache = x, y
        return y

    def backward(self, d_out):
        x, y = self.cache
        d_x = np.zeros_like(x)
        for i in range(y.shape[2]):
            for j in range(y.shape[3]):
                largest = self.window(x, i, j) == y[:, :, i, j, None, None]
                self.window(d_x, i, j)[...] += largest * d_out[:, :, i, j, None, None]
        return d_x

    def window(self, x, i, j):
        top, left = i * self.stride, j * self.stride
        return x[:, :, top : top + self.kernel, left : left + self.kernel]


class BatchNorm(Layer):
    weights = ("scale", "shift")

    def __init__(self, width, momentum=0.9, eps=1e-5):
        self.momentum, self.eps = momentum, eps
        self.scale, self.shift = np.ones(width), np.zeros(width)
        self.mean, self.var = np.zeros(width), np.ones(width)
        self.training = True

    def forward(self, x):
        mean, var = self.mean, self.var
        if self.training:
            mean, var = x.mean(axis=0), x.var(axis=0)
            self.mean = self.momentum * self.mean + (1 - self.momentum) * mean
            self.var = self.momentum * self.var + (1 - self.momentum) * var
        self.std = np.sqrt(var + self.eps)
        self.normed = (x - mean) / self.std
        return self.normed * self.scale + self.shift

    def backward(self, d_out):
        self.d_scale = (d_out * self.normed).sum(axis=0)
        self.d_shift = d_out.sum(axis=0)
        d_normed = d_out * self.scale
        centred = d_normed - d_normed.mean(axis=0)
        return (centred - self.normed * (d_normed * self.normed).mean(axis=0)) / self.std


def softmax_loss(scores, labels):
    shifted = scores - scores.max(axis=1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(scores))
    d_scores = np.exp(log_probs)
    d_scores[rows, labels] -= 1
    return -log_probs[rows, labels].mean(), d_scores / len(scores)


class Network:
    def __init__(self, layers):
        self.layers = layers

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, d_out):
        for layer in reversed(self.layers):
            d_out = layer.backward(d_out)
        return d_out

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
    network.set_training(True)
    loss, d_scores = softmax_loss(network.forward(x), labels)
    network.backward(d_scores)
    for layer in network.layers:
        for name, gradient in layer.gradients().items():
            setattr(layer, name, getattr(layer, name) - rate * gradient)
    return loss


def predict(network, x):
    network.set_training(False)
    return network.forward(x).argmax(axis=1)


def accuracy(network, batches):
    right = count = 0
    for x, labels in batches:
        right += int((predict(network, x) == labels).sum())
        count += len(labels)
    return right / count
