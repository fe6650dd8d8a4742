"""Gold for functions that take models. `alphas`, `top_k_probs` and `batches` have no case of their own."""

import torch
from torch import nn

import goldsmith as gs
from functions import (
    Actor,
    Agent,
    Critic,
    Denoiser,
    beam_search,
    discounted,
    draw_tokens,
    sample,
    time_embedding,
    train_agent,
)

SIZES = dict(width=5, hidden=7, actions=3)


class Bigrams(nn.Module):
    """A language model to draw from: what comes next depends on the last two tokens."""

    def __init__(self, vocab):
        super().__init__()
        self.last = nn.Embedding(vocab, vocab)
        self.before = nn.Embedding(vocab, vocab)

    def forward(self, tokens):
        return self.last(tokens) * 2 + self.before(tokens.roll(1, dims=1))


def experience(count):
    return torch.randn(count, 5), torch.randint(0, 3, (count,)), torch.randn(count)


@gs.case
def times(case):
    """The embedding of time, both ends included; of another width; of a single time."""
    case.record("y", time_embedding(case.input("t", lambda: torch.cat([torch.tensor([0.0, 1.0]), torch.rand(5)])), 6))
    case.record("wide", time_embedding(case.input("wide", lambda: torch.rand(3)), 20))
    case.record("other", time_embedding(case.input("other", lambda: torch.rand(3)), 20))
    case.record("one", time_embedding(case.input("one", lambda: torch.rand(1)), 4))


@gs.case
def denoising(case):
    """The denoiser, and its gradients."""
    model = case.model(Denoiser, 3, 8, 6, weights="stress")
    y = model(case.input("x", lambda: torch.randn(4, 3)), case.input("t", lambda: torch.rand(4)))
    case.record("y", y)
    y.pow(2).mean().backward()
    case.record_gradients(model)


@gs.case
def sampling(case):
    """From noise to samples, in few steps and in more."""
    model = case.model(Denoiser, 3, 8, 6, weights="stress")
    y = sample(model, case.input("noise", lambda: torch.randn(4, 3)), 5)
    case.record("few", y)
    case.record("more", sample(model, case.input("other", lambda: torch.randn(2, 3)), 7))
    case.record("requires_grad", y.requires_grad)


@gs.case
def drawing(case):
    """Tokens that are drawn with numbers that are given."""
    model = case.model(Bigrams, 9)
    prompt = case.input("prompt", torch.tensor([[1, 4], [7, 0], [3, 3]]))
    tokens = draw_tokens(model, prompt, case.input("uniforms", lambda: torch.rand(8, 3)), 4, 0.7)
    case.record("tokens", tokens, shape=(3, 10))
    case.record("hot", draw_tokens(model, prompt, case.input("others", lambda: torch.rand(5, 3)), 6, 2.5))


@gs.case
def searching(case):
    """Beam search from several prompts, with two widths."""
    model = case.model(Bigrams, 9)
    prompts = case.input("prompts", [torch.tensor([2, 5, at]) for at in range(6)])
    for width in (1, 3):
        found = [beam_search(model, prompt, width, 4) for prompt in prompts]
        case.record(f"tokens_{width}", torch.stack([tokens for tokens, _ in found]), shape=(6, 7))
        case.record(f"scores_{width}", torch.tensor([score for _, score in found], dtype=torch.float32))


@gs.case
def returns(case):
    """Discounted rewards."""
    case.record("y", discounted(case.input("rewards", lambda: torch.randn(3, 6)), 0.8))


@gs.case
def critic(case):
    """Values, their loss, and its gradients."""
    model = case.model(Critic, 5, 7, weights="stress")
    states, _, targets = case.input("experience", lambda: experience(4))
    case.record("values", model(states).reshape(-1))
    loss = model.loss(states, targets)
    loss.backward()
    case.record("loss", loss)
    case.record_gradients(model)


@gs.case
def actor(case):
    """Log-probabilities."""
    model = case.model(Actor, **SIZES, weights="stress")
    case.record("log_probs", model(case.input("states", lambda: torch.randn(4, 5))))


@gs.case
def acting(case):
    """What the agent does."""
    model = case.model(Agent, **SIZES, weights="stress")
    case.record("actions", torch.as_tensor(model.act(case.input("states", lambda: torch.randn(12, 5)))).long())


@gs.case
def gold_output(case):
    """The agent's loss, and every gradient."""
    model = case.model(Agent, **SIZES, weights="stress")
    loss = model.loss(*case.input("experience", lambda: experience(4)))
    loss.backward()
    case.record("loss", loss)
    case.record_gradients(model)


@gs.case
def training(case):
    """Two epochs in orders that are given; the last batch is smaller."""
    model = case.model(Agent, **SIZES, weights="stress")
    data = case.input("experience", lambda: experience(10))
    orders = case.input("orders", lambda: [torch.randperm(10), torch.randperm(10)])
    losses = train_agent(model, data, torch.optim.SGD(model.parameters(), lr=0.2), 4, orders)
    case.record("losses", torch.tensor(losses, dtype=torch.float32))
    case.record_weights(model)


if __name__ == "__main__":
    gs.main()
