"""Choices of every kind, with near-ties in each: a few candidates differ from others by rounding alone."""

import torch
from choosing import beam, beam_scores, greedy, k_means, merges, next_logits, nucleus, ranking, route, top_k

import goldsmith as gs


def with_ties(weights, *pairs):
    """Make columns that are others but for their last bits, or, by name, off by a share that noise does not explain."""
    weights = weights.clone()
    for one, two, share in pairs:
        weights[:, two] = weights[:, one] * (1 - share)
    return weights


def language(case, dtype=torch.float32):
    embed = case.input("embed", lambda: (2 * torch.randn(19, 24)).to(dtype))
    unit = torch.finfo(dtype).eps
    pairs = ((3, 11, unit), (16, 5, 40 * unit), (12, 8, 40 * unit), (18, 1, 40 * unit), (10, 2, 40 * unit))
    out = case.input("out", lambda: with_ties(torch.randn(24, 19).to(dtype), *pairs))
    return embed, out


def decoding(case, embed, out, rows, steps):
    prompt = case.input("prompt", lambda: torch.randint(0, 19, (rows, 3)))

    def scores(tokens):
        return torch.stack([next_logits(embed, out, tokens[:, :end]) for end in range(3, 3 + steps)], dim=1)

    def on(tokens):
        return greedy(embed, out, tokens, 3 + steps - tokens.shape[1])

    case.choice("tokens", greedy(embed, out, prompt, steps), scores=scores, steps=1)
    case.continues("tokens", on)


@gs.case
def greedy_decoding(case):
    """Greedy decoding, which goes on after ties."""
    decoding(case, *language(case), rows=6, steps=9)


@gs.case
def greedy_in_bfloat16(case):
    """The same in bfloat16."""
    decoding(case, *language(case, torch.bfloat16), rows=5, steps=4)


@gs.case
def top_five(case):
    """The five largest of each row, in order."""
    x = case.input("x", lambda: torch.randn(37, 24))
    pairs = ((2, 9, 2e-7), (4, 20, 2e-7), (6, 30, 1e-5))
    weights = case.input("weights", lambda: with_ties(torch.randn(24, 41), *pairs))
    scores, indices = top_k(x, weights, 5)
    case.choice("indices", indices, scores=scores)


@gs.case
def sampling(case):
    """Nucleus sampling with given uniform numbers, some of them near the end of a token's share."""
    logits = case.input("logits", lambda: 2 * torch.randn(43, 29))
    kept, _ = nucleus(logits, 0.9, torch.zeros(43))
    ends = kept.cumsum(dim=-1)[torch.arange(43), kept.argmax(dim=-1)]
    near = torch.where(torch.arange(43) % 4 == 0, ends * (1 + 1e-7), torch.rand(43)).clamp(0, 0.999)
    kept, tokens = nucleus(logits, 0.9, case.input("uniforms", lambda: near))
    case.choice("tokens", tokens, scores=kept, uniforms=case.input("again", near))


@gs.case
def beam_search(case):
    """A beam of three, whose steps depend on those before."""
    embed, out = language(case)
    prompt = case.input("prompt", lambda: torch.randint(0, 19, (1, 4)))
    case.choice(
        "chosen",
        beam(embed, out, prompt, 3, 5),
        scores=lambda chosen: beam_scores(embed, out, prompt, chosen),
        steps=0,
    )
    case.continues("chosen", lambda chosen: beam(embed, out, prompt, 3, 5, chosen))


@gs.case
def order(case):
    """A whole order. Equal rows have equal scores, and their order is fixed."""
    rows = case.input("rows", lambda: torch.randn(61, 24))
    rows = case.input("all", lambda: torch.cat([rows, rows[5:9], rows[20:24] * (1 + 1e-7)]))
    weights = case.input("weights", lambda: torch.randn(24))
    scores, ranked = ranking(rows, weights)
    case.choice("ranked", ranked, scores=scores, best="lowest", ties="first")


@gs.case
def byte_pairs(case):
    """Merges of pairs, of which several are as frequent: the first of them is right."""
    words = case.input("words", lambda: torch.randint(0, 6, (23, 8)))
    counts, pairs = merges(words, 7)
    case.choice("pairs", pairs, scores=counts, ties="first", steps=0)


def routing(case, dtype):
    x = case.input("x", lambda: torch.randn(71, 24).to(dtype))
    unit = torch.finfo(dtype).eps
    pairs = ((1, 5, unit),)
    gate = case.input("gate", lambda: with_ties(torch.randn(24, 8).to(dtype), *pairs))
    scores, experts = route(x, gate)
    case.choice("experts", experts, scores=scores)


@gs.case
def router(case):
    """Each token goes to its two best experts."""
    routing(case, torch.float32)


@gs.case
def router_in_bfloat16(case):
    """The same in bfloat16."""
    routing(case, torch.bfloat16)


@gs.case
def clusters(case):
    """Points between two centres may go to either, and the centres move as they do."""
    drawn = case.input("drawn", lambda: torch.randn(46, 5))
    centres = case.input("centres", lambda: drawn[:4] + 0.3)
    points = case.input("points", lambda: torch.cat([drawn, (centres[:1] + centres[1:2]) / 2]))
    distances, labels = k_means(points, centres, 3)
    case.choice("labels", labels, scores=distances, best="lowest", steps=0, together=True)


@gs.case
def first_clusters(case):
    """One assignment, with points half way between two centres."""
    centres = case.input("centres", lambda: torch.randn(4, 5))
    between = case.input(
        "between", lambda: torch.cat([(centres[:1] + centres[1:2]) / 2, centres[2:] + 0.1, torch.randn(31, 5)])
    )
    distances, labels = k_means(between, centres, 1)
    case.choice("labels", labels, scores=distances, best="lowest")


if __name__ == "__main__":
    gs.main()
