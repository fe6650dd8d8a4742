"""Examples of operators about arguments, groups, modes, constants, state and choices; read by `operator_examples`."""

from __future__ import annotations

AROUND = {
    "optional": "<torch>def f(x, scale=2.0, mask=None, *, flag=False):\n    {}\n    return x\n",
    "rebound": "<torch>def f(x, scale=2.0):\n    scale = scale + 1\n    {}\n",
    "step": "<torch>class Adam:\n    def step(self, state, g, keys):\n        {}\n",
    "begun": "<torch>class Adam:\n    def step(self, state, g):\n        {}\n            state['m'] = g * 0\n"
    "            self.kept = g\n",
    "clipped": "<torch>def clip(params, most, eps):\n"
    "    total = sum((p.grad**2).sum() for p in params) ** 0.5\n    scale = most / (total + eps)\n"
    "    for p in params:\n        {}\n",
    "clipped arrays": "<numpy>def clip(grads, most):\n    norm = np.sqrt(sum((g**2).sum() for g in grads.values()))\n"
    "    for key in grads:\n        {}\n",
    "evaluated": "<torch>def evaluate(model, x, was):\n    model.eval()\n    y = model(x)\n    {}\n    return y\n",
}

EXAMPLES: list[tuple[str, str, str, str | None]] = [
    ("argument-ignored", "optional", "x = x * scale", "x = x * 2.0"),
    ("argument-ignored", "optional", "x = x[::-1] if flag else x", "x = x[::-1] if False else x"),
    ("argument-ignored", "optional", "x = x if mask is None else x * mask", "x = x if True else x * mask"),
    ("argument-ignored", "optional", "x = x * mask if mask is not None else x", "x = x * mask if False else x"),
    ("argument-ignored", "optional", "x = x * mask", None),
    ("argument-ignored", "rebound", "return x * scale", None),
    ("argument-ignored", "function", "return x * y", None),
    ("first-group-only", "step", "for p in self.param_groups: g(p)", "for p in list(self.param_groups)[:1]: g(p)"),
    ("first-group-only", "step", "for p in state['params']: g(p)", "for p in list(state['params'])[:1]: g(p)"),
    ("first-group-only", "step", "for k, v in state.items(): g(k)", "for k, v in list(state.items())[:1]: g(k)"),
    ("first-group-only", "step", "for k in range(3): g(k)", None),
    ("first-group-only", "step", "for k in keys: g(k)", None),
    (
        "norm-of-each",
        "loop",
        "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        "for each in model.parameters(): torch.nn.utils.clip_grad_norm_(each, 1.0)",
    ),
    ("norm-of-each", "clipped", "p.grad.mul_(scale)", "p.grad.mul_(most / ((p.grad ** 2).sum() ** 0.5 + eps))"),
    ("norm-of-each", "clipped", "p.grad /= total", "p.grad /= (p.grad ** 2).sum() ** 0.5"),
    ("norm-of-each", "clipped", "p.grad.mul_(most)", None),
    (
        "norm-of-each",
        "clipped arrays",
        "grads[key] *= most / norm",
        "grads[key] *= most / (grads[key] ** 2).sum() ** 0.5",
    ),
    ("norm-of-each", "loop", "loss.backward()", None),
    ("mode-left-changed", "evaluated", "model.train(was)", "pass"),
    ("mode-left-changed", "evaluated", "model.training = was", "pass"),
    ("mode-left-changed", "evaluated", "model.train(True)", None),
    ("mode-left-changed", "function", "x.train(y)", None),
    ("constants-exchanged", "function", "return F.smooth(x, 0.1, 0.9)", "return F.smooth(x, 0.9, 0.1)"),
    ("constants-exchanged", "function", "o = Adam(x, lr=1e-3, eps=1e-8)", "o = Adam(x, lr=1e-8, eps=1e-3)"),
    ("constants-exchanged", "function", "betas = (0.9, 0.99)", "betas = (0.99, 0.9)"),
    ("constants-exchanged", "function", "return x.reshape(2, 3)", None),
    ("constants-exchanged", "function", "return x[0, 1]", None),
    ("constants-exchanged", "function", "return g(x, 1, 1)", None),
    ("constants-exchanged", "function", "return x.chunk(2, dim=-1)", None),
    ("state-begun-again", "begun", "if not state:", "if True:"),
    ("state-begun-again", "begun", "if len(state) == 0:", "if True:"),
    ("state-begun-again", "begun", "if 'm' not in state:", "if True:"),
    ("state-begun-again", "begun", "if self.kept is None:", "if True:"),
    ("state-begun-again", "begun", "if g is None:", None),
    ("state-begun-again", "begun", "if not g:", None),
    ("runner-up-chosen", "function", "return x.argmax(dim=-1)", "return x.argsort(dim=-1)[..., -2]"),
    ("runner-up-chosen", "function", "i = x.argmax(-1, keepdim=True)", "i = x.argsort(-1)[..., -2:-1]"),
    ("runner-up-chosen", "numpy", "return np.argmin(x, axis=-1)", "return np.argsort(x, axis=-1)[..., 1]"),
    ("runner-up-chosen", "numpy", "return x.argmax(0)", None),
    ("runner-up-chosen", "numpy", "return x.argmax()", None),
    ("tie-broken-otherwise", "function", "return x.argmax(-1)", "return x.argsort(-1, stable=True)[..., -1]"),
    ("tie-broken-otherwise", "numpy", "return np.argmax(x, -1)", 'return np.argsort(x, -1, kind="stable")[..., -1]'),
    ("tie-broken-otherwise", "numpy", "return np.argmin(x, -1)", None),
    ("tie-rule-dropped", "numpy", "return max(x, key=lambda p: (y[p], p))", "return max(x, key=lambda p: y[p])"),
    ("tie-rule-dropped", "numpy", "return max(x, key=lambda p: y[p])", None),
    ("chosen-from-second-on", "function", "i = x.topk(y).indices", "i = x.topk(y + 1).indices[..., 1:]"),
    (
        "chosen-from-second-on",
        "function",
        "i = torch.topk(x, y, dim=-1).indices",
        "i = torch.topk(x, y + 1, dim=-1).indices[..., 1:]",
    ),
    ("chosen-from-second-on", "function", "i = x.topk(y, dim=0).indices", None),
]
