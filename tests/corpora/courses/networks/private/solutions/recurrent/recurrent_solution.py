"""Recurrent networks: cells, running them over time, reading both ways, attention, training, greedy decoding."""

import torch
import torch.nn.functional as F
from torch import nn


class LSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.from_input = nn.Linear(input_size, 4 * hidden_size)
        self.from_hidden = nn.Linear(hidden_size, 4 * hidden_size, bias=False)
        with torch.no_grad():
            self.from_input.bias.zero_()
            self.from_input.bias[hidden_size : 2 * hidden_size] = 1.0

    def forward(self, x, state):
        h, c = state
        i, f, g, o = (self.from_input(x) + self.from_hidden(h)).chunk(4, dim=-1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, c


class GRUCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.from_input = nn.Linear(input_size, 3 * hidden_size)
        self.from_hidden = nn.Linear(hidden_size, 3 * hidden_size)

    def forward(self, x, h):
        x_r, x_z, x_n = self.from_input(x).chunk(3, dim=-1)
        h_r, h_z, h_n = self.from_hidden(h).chunk(3, dim=-1)
        reset = torch.sigmoid(x_r + h_r)
        update = torch.sigmoid(x_z + h_z)
        new = torch.tanh(x_n + reset * h_n)
        return (1 - update) * new + update * h


def run_cell(cell, x, state):
    outputs = []
    for step in x.unbind(dim=1):
        state = cell(step, state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(outputs, dim=1), state


def reverse_valid(x, lengths):
    steps = torch.arange(x.shape[1])
    last = lengths[:, None] - 1
    index = torch.where(steps <= last, last - steps, steps)
    return x.gather(1, index[..., None].expand_as(x))


def last_valid(outputs, lengths):
    return outputs[torch.arange(len(outputs)), lengths - 1]


class BiEncoder(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.there = LSTMCell(input_size, hidden_size)
        self.back = LSTMCell(input_size, hidden_size)

    def forward(self, x, lengths):
        zeros = x.new_zeros(x.shape[0], self.hidden_size)
        there, _ = run_cell(self.there, x, (zeros, zeros))
        back, _ = run_cell(self.back, reverse_valid(x, lengths), (zeros, zeros))
        return torch.cat([there, reverse_valid(back, lengths)], dim=-1)


class TimeAttention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.key = nn.Linear(size, size)
        self.query = nn.Parameter(torch.randn(size) / size**0.5)

    def forward(self, outputs, lengths):
        scores = torch.tanh(self.key(outputs)) @ self.query
        padding = torch.arange(outputs.shape[1]) >= lengths[:, None]
        weights = scores.masked_fill(padding, float("-inf")).softmax(dim=-1)
        return (weights[..., None] * outputs).sum(dim=1), weights


class Classifier(nn.Module):
    def __init__(self, vocab, width, hidden_size, classes):
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.encoder = BiEncoder(width, hidden_size)
        self.attention = TimeAttention(2 * hidden_size)
        self.head = nn.Linear(4 * hidden_size, classes)

    def forward(self, tokens, lengths):
        outputs = self.encoder(self.embedding(tokens), lengths)
        context, _ = self.attention(outputs, lengths)
        return self.head(torch.cat([context, last_valid(outputs, lengths)], dim=-1))

    def loss(self, tokens, lengths, labels):
        return F.cross_entropy(self(tokens, lengths), labels)


class Tower(nn.Module):
    def __init__(self, embedding, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = embedding
        self.cell = GRUCell(embedding.embedding_dim, hidden_size)

    def forward(self, tokens, lengths):
        x = self.embedding(tokens)
        outputs, _ = run_cell(self.cell, x, x.new_zeros(x.shape[0], self.hidden_size))
        return last_valid(outputs, lengths)


class Matcher(nn.Module):
    def __init__(self, vocab, width, hidden_size):
        super().__init__()
        embedding = nn.Embedding(vocab, width)
        self.question = Tower(embedding, hidden_size)
        self.answer = Tower(embedding, hidden_size)

    def forward(self, questions, question_lengths, answers, answer_lengths):
        left = F.normalize(self.question(questions, question_lengths), dim=-1)
        right = F.normalize(self.answer(answers, answer_lengths), dim=-1)
        return left @ right.T


class Decoder(nn.Module):
    def __init__(self, vocab, width, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.cell = GRUCell(width, hidden_size)
        self.out = nn.Linear(hidden_size, vocab)

    def step(self, token, h):
        h = self.cell(self.embedding(token), h)
        return self.out(h), h


def greedy(decoder, h, start, steps, end):
    token = torch.full((len(h),), start)
    done = torch.zeros(len(h), dtype=torch.bool)
    chosen = []
    with torch.no_grad():
        for _ in range(steps):
            logits, h = decoder.step(token, h)
            token = torch.where(done, end, logits.argmax(dim=-1))
            done = done | (token == end)
            chosen.append(token)
    return torch.stack(chosen, dim=1)


def clip_gradients(parameters, limit):
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = torch.sqrt(sum(gradient.pow(2).sum() for gradient in gradients))
    if norm > limit:
        for gradient in gradients:
            gradient.mul_(limit / norm)
    return norm


def train_epoch(model, batches, optimizer, limit):
    model.train()
    total, count = 0.0, 0
    for tokens, lengths, labels in batches:
        optimizer.zero_grad()
        loss = model.loss(tokens, lengths, labels)
        loss.backward()
        clip_gradients(model.parameters(), limit)
        optimizer.step()
        total += loss.item() * len(tokens)
        count += len(tokens)
    return total / count
