"""Write each function as its docstring says."""

import itertools

import torch


def next_logits(embed, out, tokens):
    """Score the next token of each row: the mean of the embeddings so far, each half as heavy as the one after it."""
    ages = torch.arange(tokens.shape[1] - 1, -1, -1, dtype=embed.dtype)
    weights = 0.5**ages
    hidden = torch.tanh((embed[tokens] * weights[:, None]).sum(dim=1) / weights.sum())
    return hidden @ out


def greedy(embed, out, tokens, steps):
    """Append the likeliest next token to each row, `steps` times."""
    for _ in range(steps):
        best = next_logits(embed, out, tokens).argmax(dim=-1)
        tokens = torch.cat([tokens, best[:, None]], dim=1)
    return tokens


def top_k(x, weights, count):
    """Return the `count` largest of x @ weights in each row, from the largest down, and where they are."""
    scores = x @ weights
    return scores, scores.topk(count, dim=-1).indices


def nucleus(logits, share, uniforms):
    """Keep the likeliest tokens of each row, as few as have `share` of the probability, and draw one by its uniform
    number from their running sum in the order of the vocabulary. Returns the probabilities of what is kept, and the
    draws."""
    probabilities = torch.softmax(logits, dim=-1)
    ordered, order = probabilities.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered
    kept = torch.zeros_like(probabilities).scatter(-1, order, torch.where(before < share, ordered, 0.0))
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return kept, (kept.cumsum(dim=-1) <= uniforms[:, None]).sum(dim=-1)


def beam_scores(embed, out, prompt, chosen):
    """Score all continuations at each step of a beam search in which `chosen` was chosen, as flat indices, step by
    step."""
    vocabulary, width = out.shape[1], chosen.shape[1]
    beams, totals, found = prompt.repeat(width, 1), torch.zeros(width), []
    totals[1:] = -1e9
    for step in chosen:
        scores = (totals[:, None] + torch.log_softmax(next_logits(embed, out, beams), dim=-1)).flatten()
        found.append(scores)
        beams = torch.cat([beams[step // vocabulary], step[:, None] % vocabulary], dim=1)
        totals = scores[step]
    return torch.stack(found)


def beam(embed, out, prompt, width, steps, chosen=None):
    """Choose the best `width` continuations by the sum of log-probabilities, `steps` times, from the best down: indices
    into beams x vocabulary. The first beams are the prompt; go on from `chosen`, if that is given."""
    chosen = torch.zeros(0, width, dtype=torch.long) if chosen is None else chosen
    while len(chosen) < steps:
        blank = torch.zeros(1, width, dtype=torch.long)
        scores = beam_scores(embed, out, prompt, torch.cat([chosen, blank]))[-1]
        chosen = torch.cat([chosen, scores.topk(width).indices[None]])
    return chosen


def ranking(features, weights):
    """Return the scores of all rows, and the rows in the order of their scores, from the lowest up; of rows with equal
    scores the first comes first."""
    scores = features @ weights
    return scores, scores.argsort(stable=True)


def merges(words, steps):
    """Merge the most frequent pair of neighbours into a new symbol, `steps` times; of pairs that are as frequent, the
    first in the order of (left, right). Returns for each step how often each pair was there, as left x right, and the
    pair."""
    symbols = int(max(max(word) for word in words)) + 1 + steps
    words, counts, chosen = [[int(item) for item in word] for word in words], [], []
    for step in range(steps):
        table = torch.zeros(symbols, symbols, dtype=torch.long)
        for word in words:
            for left, right in itertools.pairwise(word):
                table[left, right] += 1
        best = int(table.flatten().argmax())
        left, right = divmod(best, symbols)
        words = [_merged(word, left, right, symbols - steps + step) for word in words]
        counts.append(table.flatten())
        chosen.append(best)
    return torch.stack(counts), torch.tensor(chosen)


def _merged(word, left, right, new):
    found, place = [], 0
    while place < len(word):
        together = word[place : place + 2] == [left, right]
        found.append(new if together else word[place])
        place += 2 if together else 1
    return found


def route(x, gate):
    """Choose the two best experts of each token by x @ gate, the better first. Returns the scores, and the experts."""
    scores = x @ gate
    return scores, scores.topk(2, dim=-1).indices


def k_means(points, centres, steps):
    """Assign points to the nearest centre and move each centre to the mean of its points, `steps` times. Returns the
    squared distances of each step and the assignments."""
    distances, labels = [], []
    for _ in range(steps):
        squares = ((points[:, None, :] - centres[None]) ** 2).sum(dim=-1)
        nearest = squares.argmin(dim=-1)
        distances.append(squares)
        labels.append(nearest)
        centres = torch.stack([points[nearest == place].mean(dim=0) for place in range(len(centres))])
    return torch.stack(distances), torch.stack(labels)
