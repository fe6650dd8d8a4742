"""Layers in NumPy that return what they compute and a cache, in a package without `__init__.py`; optimisers over
dicts."""

from __future__ import annotations

from corpora.course_shapes.to_draft import ShapeToDraft, module

LAYERS = module('''
    """Layers, forward and backward."""

    import numpy as np


    def affine_forward(x, w, b):
        """Compute an affine layer.

        Inputs:
        - x: A numpy array of shape (N, d_1, ..., d_k)
        - w: A numpy array of weights, of shape (D, M), with D = d_1 * ... * d_k
        - b: A numpy array of biases, of shape (M,)

        Returns a tuple of:
        - out: output, of shape (N, M)
        - cache: (x, w, b)
        """
        rows = x.reshape(x.shape[0], -1)
        out = rows @ w + b
        return out, (x, w, b)


    def affine_backward(dout, cache):
        """Compute the backward pass of an affine layer.

        Inputs:
        - dout: Upstream derivative, of shape (N, M)
        - cache: Tuple of x, w and b, as affine_forward returns it

        Returns a tuple of dx, dw, db
        """
        x, w, b = cache
        dx = (dout @ w.T).reshape(x.shape)
        dw = x.reshape(x.shape[0], -1).T @ dout
        db = dout.sum(axis=0)
        return dx, dw, db


    def relu_forward(x):
        """Rectify.

        Input:
        - x: Inputs, of any shape

        Returns a tuple of:
        - out: Output, of the same shape as x
        - cache: x
        """
        return np.maximum(0, x), x


    def batchnorm_forward(x, gamma, beta, bn_param):
        """Normalise each feature over a batch; while training, keep running averages.

        Input:
        - x: Data of shape (N, D); while training N must be greater than 1
        - gamma: Scale parameter of shape (D,)
        - beta: Shift parameter of shape (D,)
        - bn_param: Dictionary with the following keys:
          - mode: 'train' or 'test'; required
          - eps: Constant for numeric stability
          - momentum: Constant for running mean / variance, between 0 and 1
          - running_mean: Array of shape (D,) giving running mean of features
          - running_var: Array of shape (D,) giving running variance of features

        Returns a tuple of:
        - out: of shape (N, D)
        - cache: A tuple of values needed in the backward pass
        """
        mode = bn_param["mode"]
        eps = bn_param.get("eps", 1e-5)
        momentum = bn_param.get("momentum", 0.9)
        N, D = x.shape
        running_mean = bn_param.get("running_mean", np.zeros(D, dtype=x.dtype))
        running_var = bn_param.get("running_var", np.zeros(D, dtype=x.dtype))
        cache = None
        if mode == "train":
            mean, var = x.mean(axis=0), x.var(axis=0)
            normal = (x - mean) / np.sqrt(var + eps)
            out = gamma * normal + beta
            running_mean = momentum * running_mean + (1 - momentum) * mean
            running_var = momentum * running_var + (1 - momentum) * var
            cache = (normal, gamma, var, eps)
        elif mode == "test":
            out = gamma * (x - running_mean) / np.sqrt(running_var + eps) + beta
        else:
            raise ValueError('Invalid forward batchnorm mode "%s"' % mode)
        bn_param["running_mean"] = running_mean
        bn_param["running_var"] = running_var
        return out, cache


    def dropout_forward(x, dropout_param):
        """Drop neurons, inverted.

        Inputs:
        - x: Input data, of any shape
        - dropout_param: A dictionary with the following keys:
          - p: Dropout parameter. We keep each neuron output with probability p.
          - mode: 'test' or 'train'. If the mode is train, then perform dropout; if test, return the input.

        Outputs:
        - out: Array of the same shape as x.
        - cache: tuple (dropout_param, mask)
        """
        p, mode = dropout_param["p"], dropout_param["mode"]
        assert 0 < p <= 1, "p is a probability"
        if mode == "train":
            mask = (np.random.rand(*x.shape) < p) / p
            return x * mask, (dropout_param, mask)
        return x, (dropout_param, None)


    def softmax_loss(x, y):
        """Return the loss of softmax, and its gradient.

        Inputs:
        - x: Input data, of shape (N, C) where x[i, j] is the score for the jth class for the ith input
        - y: Vector of labels, of shape (N,) where y[i] is the label for x[i] and 0 <= y[i] < C

        Returns a tuple of:
        - loss: Scalar giving the loss
        - dx: Gradient of the loss with respect to x
        """
        shifted = x - x.max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        count = x.shape[0]
        loss = -logs[np.arange(count), y].sum() / count
        dx = np.exp(logs)
        dx[np.arange(count), y] -= 1
        return loss, dx / count


    def conv_backward_naive(dout, cache):
        """Next week."""
        # TODO: next week
        raise NotImplementedError


    def max_pool_forward_naive(x, pool_param):
        """Next week."""
        # TODO: next week
        raise NotImplementedError
''')

OPTIM = module('''
    """Update rules: each takes weights, their gradient and a configuration, and returns the next weights and the
    configuration for the next step."""

    import numpy as np


    def sgd_momentum(w, dw, config=None):
        """Take a step with momentum.

        config format:
        - learning_rate: Scalar learning rate.
        - momentum: Scalar between 0 and 1 giving the momentum value.
        - velocity: A numpy array of the same shape as w and dw, a moving average of the gradients.
        """
        if config is None:
            config = {}
        config.setdefault("learning_rate", 1e-2)
        config.setdefault("momentum", 0.9)
        v = config.get("velocity", np.zeros_like(w))
        v = config["momentum"] * v - config["learning_rate"] * dw
        next_w = w + v
        config["velocity"] = v
        return next_w, config


    def rmsprop(w, dw, config=None):
        """Take a step of RMSProp, in place.

        config format:
        - learning_rate: Scalar learning rate.
        - decay_rate: Scalar between 0 and 1 giving the decay rate for the squared gradient cache.
        - epsilon: Small scalar used for smoothing to avoid dividing by zero.
        - cache: Moving average of second moments of gradients.
        """
        if config is None:
            config = {}
        config.setdefault("learning_rate", 1e-2)
        config.setdefault("decay_rate", 0.99)
        config.setdefault("epsilon", 1e-8)
        config.setdefault("cache", np.zeros_like(w))
        config["cache"] = config["decay_rate"] * config["cache"] + (1 - config["decay_rate"]) * dw**2
        w -= config["learning_rate"] * dw / (np.sqrt(config["cache"]) + config["epsilon"])
        return w, config


    def adam(w, dw, config=None):
        """Take a step of Adam, with bias correction.

        config format:
        - learning_rate, beta1, beta2, epsilon: as usual; the betas are between 0 and 1
        - m, v: Moving averages of the gradient and of its square.
        - t: Iteration number, at least 0.
        """
        if config is None:
            config = {}
        config.setdefault("learning_rate", 1e-3)
        config.setdefault("beta1", 0.9)
        config.setdefault("beta2", 0.999)
        config.setdefault("epsilon", 1e-8)
        config.setdefault("m", np.zeros_like(w))
        config.setdefault("v", np.zeros_like(w))
        config.setdefault("t", 0)
        config["t"] += 1
        config["m"] = config["beta1"] * config["m"] + (1 - config["beta1"]) * dw
        config["v"] = config["beta2"] * config["v"] + (1 - config["beta2"]) * dw**2
        m = config["m"] / (1 - config["beta1"] ** config["t"])
        v = config["v"] / (1 - config["beta2"] ** config["t"])
        return w - config["learning_rate"] * m / (np.sqrt(v) + config["epsilon"]), config
''')

WRITTEN_LAYERS = (
    "affine_forward",
    "affine_backward",
    "relu_forward",
    "batchnorm_forward",
    "dropout_forward",
    "softmax_loss",
)

SHAPE = ShapeToDraft(
    assignment="assignment2",
    solutions={"nnlib/layers.py": LAYERS, "nnlib/optim.py": OPTIM},
    written={"nnlib/layers.py": WRITTEN_LAYERS, "nnlib/optim.py": ("sgd_momentum", "rmsprop", "adam")},
    provided={"nnlib/gradient_check.py": "def rel_error(x, y):\n    return abs(x - y).max()\n"},
    tests={
        "test_layers.py": module("""
            import numpy as np
            from nnlib.layers import affine_forward, batchnorm_forward, dropout_forward


            def test_affine():
                out, _ = affine_forward(np.ones((2, 4, 5)), np.ones((20, 3)), np.zeros(3))
                assert out.shape == (2, 3)


            def test_batchnorm():
                bn_param = {"mode": "train"}
                out, _ = batchnorm_forward(np.random.randn(20, 5), np.ones(5), np.zeros(5), bn_param)
                assert abs(out.mean(axis=0)).max() < 1e-6
                bn_param["mode"] = "test"
                batchnorm_forward(np.random.randn(20, 5), np.ones(5), np.zeros(5), bn_param)


            def test_dropout():
                out, _ = dropout_forward(np.random.randn(50, 5), {"mode": "test", "p": 0.4})
                assert out.shape == (50, 5)
        """),
        "test_optim.py": module("""
            import numpy as np
            from nnlib.optim import adam, rmsprop, sgd_momentum


            def test_steps():
                for rule in (adam, rmsprop, sgd_momentum):
                    w, config = rule(np.linspace(-0.4, 0.6, 20).reshape(4, 5), np.linspace(-0.6, 0.4, 20).reshape(4, 5))
                    assert w.shape == (4, 5)
        """),
    },
    right={
        "affine by einsum": (
            "nnlib/layers.py",
            [("out = rows @ w + b", 'out = np.einsum("nd,dm->nm", rows, w) + b')],
        ),
        "relu by product": ("nnlib/layers.py", [("return np.maximum(0, x), x", "return x * (x > 0), x")]),
        "another cache": ("nnlib/layers.py", [("cache = (normal, gamma, var, eps)", "cache = {'xhat': normal}")]),
        "population variance by hand": (
            "nnlib/layers.py",
            [
                (
                    "mean, var = x.mean(axis=0), x.var(axis=0)",
                    "mean = x.mean(axis=0); var = ((x - mean) ** 2).mean(axis=0)",
                )
            ],
        ),
        "dropout drawn by choice": (
            "nnlib/layers.py",
            [("(np.random.rand(*x.shape) < p) / p", "np.random.binomial(1, p, size=x.shape) / p")],
        ),
        "rmsprop out of place": (
            "nnlib/optim.py",
            [('w -= config["learning_rate"] * dw', 'w = w - config["learning_rate"] * dw')],
        ),
        "velocity in place": (
            "nnlib/optim.py",
            [('config["velocity"] = v\n', 'config["velocity"] = v.copy()\n')],
        ),
        "loss by mean": (
            "nnlib/layers.py",
            [("loss = -logs[np.arange(count), y].sum() / count", "loss = -np.mean(logs[np.arange(count), y])")],
        ),
    },
    wrong={
        "no bias": ("nnlib/layers.py", [("out = rows @ w + b", "out = rows @ w")]),
        "momentum the other way round": (
            "nnlib/layers.py",
            [
                (
                    "running_mean = momentum * running_mean + (1 - momentum) * mean",
                    "running_mean = (1 - momentum) * running_mean + momentum * mean",
                )
            ],
        ),
        "step not counted": ("nnlib/optim.py", [('config["t"] += 1', 'config["t"] = 1')]),
    },
)
