"""Recurrent networks: cells, running them over time, reading both ways, attention, training, greedy decoding.

Everywhere x is (batch, time, width), tokens are (batch, time), and lengths (batch,) says how many steps of each row are
valid; what follows them is padding.
"""

import torch
import torch.nn.functional as F  # noqa: F401
from torch import nn


class LSTMCell(nn.Module):
    """Gates in the order input, forget, candidate, output, in `from_input` (with a bias) and `from_hidden` (without).

    At first the bias is 0, but 1 for the forget gate.
    """

    def __init__(self, input_size, hidden_size):
        super().__init__()
        # TODO: from_input and from_hidden, and the first bias.
        raise NotImplementedError

    def forward(self, x, state):
        """x (batch, input_size) and state (h, c); returns the next (h, c)."""
        # TODO
        raise NotImplementedError


class GRUCell(nn.Module):
    """Gates in the order reset, update, candidate; the reset gate multiplies what comes from the hidden state,
    its bias included. The update gate says how much of the old state is kept."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.from_input = nn.Linear(input_size, 3 * hidden_size)
        self.from_hidden = nn.Linear(hidden_size, 3 * hidden_size)

    def forward(self, x, h):
        # TODO: the next h.
        pass


def run_cell(cell, x, state):
    """Run a cell over time; returns what it gives at each step (of an LSTM the h), (batch, time, hidden), and the last
    state."""
    # TODO
    raise NotImplementedError


def reverse_valid(x, lengths):
    """Turn the valid steps of each row around; padding stays where it is."""
    # TODO
    pass


def last_valid(outputs, lengths):
    """The last valid step of each row, (batch, width)."""
    # TODO
    raise NotImplementedError


class BiEncoder(nn.Module):
    """One LSTM cell reads from the left, another the valid steps from the right; both begin with zeros."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.there = LSTMCell(input_size, hidden_size)
        self.back = LSTMCell(input_size, hidden_size)

    def forward(self, x, lengths):
        """What both have seen at each step, side by side: (batch, time, 2 hidden); the reader from the right is turned
        back, so that step t is about x[:, t]."""
        # TODO: use run_cell and reverse_valid.
        raise NotImplementedError


class TimeAttention(nn.Module):
    """Scores are query · tanh(key(output)); padding has weight 0."""

    def __init__(self, size):
        super().__init__()
        self.key = nn.Linear(size, size)
        self.query = nn.Parameter(torch.randn(size) / size**0.5)

    def forward(self, outputs, lengths):
        """Returns the weighted mean over time (batch, size), and the weights (batch, time)."""
        # TODO
        raise NotImplementedError


class Classifier(nn.Module):
    """Embedding, BiEncoder, and a head on what attention gives, followed by the last valid step."""

    def __init__(self, vocab, width, hidden_size, classes):
        super().__init__()
        # TODO: embedding, encoder, attention, head.
        raise NotImplementedError

    def forward(self, tokens, lengths):
        # TODO: logits (batch, classes)
        raise NotImplementedError

    def loss(self, tokens, lengths, labels):
        """The mean cross-entropy."""
        # TODO
        pass


class Tower(nn.Module):
    """An embedding that is given to it and a GRU cell, begun with zeros; gives its state after the last valid step."""

    def __init__(self, embedding, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = embedding
        self.cell = GRUCell(embedding.embedding_dim, hidden_size)

    def forward(self, tokens, lengths):
        # TODO: use run_cell and last_valid.
        raise NotImplementedError


class Matcher(nn.Module):
    """Two towers, `question` and `answer`, that share one embedding."""

    def __init__(self, vocab, width, hidden_size):
        super().__init__()
        # TODO
        raise NotImplementedError

    def forward(self, questions, question_lengths, answers, answer_lengths):
        """The cosine of every question with every answer, (questions, answers)."""
        # TODO
        raise NotImplementedError


class Decoder(nn.Module):
    def __init__(self, vocab, width, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.cell = GRUCell(width, hidden_size)
        self.out = nn.Linear(hidden_size, vocab)

    def step(self, token, h):
        """One step: token (batch,) and h (batch, hidden); returns the logits (batch, vocab) and the next h."""
        # TODO
        pass


def greedy(decoder, h, start, steps, end):
    """The likeliest token at each step, (batch, steps), begun with `start`; once a row has said `end` it says nothing
    else. No gradients."""
    # TODO
    raise NotImplementedError


def clip_gradients(parameters, limit):
    """Scale the gradients of all parameters together in place if their norm is above the limit; returns the norm that
    they had. `parameters` may be a generator; some may have no gradient."""
    # TODO
    raise NotImplementedError


def train_epoch(model, batches, optimizer, limit):
    """Train in training mode on (tokens, lengths, labels), clipping gradients before each step; returns the mean loss
    of an example."""
    # TODO
    pass
