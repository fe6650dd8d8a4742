"""Gold for Scratch-1: the transformer as a whole, each of its parts, its gradients, and its training."""

import torch

import goldsmith as gs
from backbone import (
    CausalSelfAttention,
    DecoderOnlyTransformer,
    FeedForward,
    RMSNorm,
    RotaryEmbedding,
    TransformerBlock,
    generate,
    next_token_loss,
    train_epoch,
)

CONFIG = dict(vocab_size=256, dim=64, num_layers=2, num_heads=4, ff_hidden_dim=128, max_seq_len=32, dropout=0.0)
SMALL = dict(vocab_size=61, dim=24, num_layers=2, num_heads=3, ff_hidden_dim=40, max_seq_len=16, dropout=0.0)
LONG = SMALL | dict(max_seq_len=40)
TINY = dict(vocab_size=17, dim=6, num_layers=1, num_heads=1, ff_hidden_dim=8, max_seq_len=16, dropout=0.0)
TRAINING = dict(epochs=5, lr=3e-2, optimizer="AdamW", max_grad_norm=1.0, batches=2, batch_size=5, length=13)


@gs.case
def gold_output(case):
    """Logits of the whole model as it comes from its constructor."""
    model = case.model(DecoderOnlyTransformer, **CONFIG)
    tokens = case.input("tokens", lambda: torch.randint(0, 256, (3, 11)))
    case.record("logits", case.first(model(tokens)), shape=(3, 11, 256))


@gs.case
def rmsnorm(case):
    """RMSNorm with a scale that is not one."""
    norm = case.model(RMSNorm, 24, weights="stress")
    case.record("y", norm(case.input("x", lambda: torch.randn(2, 7, 24))))


@gs.case
def rmsnorm_small(case):
    """RMSNorm on inputs so small that eps matters."""
    norm = case.model(RMSNorm, 24, weights="stress")
    case.record("y", norm(case.input("x", lambda: torch.randn(2, 7, 24) * 1e-3)))


@gs.case
def rmsnorm_again(case):
    """RMSNorm with an eps of its own, called three times: on a batch of one, on longer sequences, on others."""
    norm = case.model(RMSNorm, 24, eps=0.3, weights="stress")
    case.record("one", norm(case.input("one", lambda: torch.randn(1, 5, 24))))
    case.record("more", norm(case.input("more", lambda: torch.randn(3, 19, 24))))
    case.record("others", norm(case.input("others", lambda: torch.randn(3, 19, 24))))


@gs.case
def rotary(case):
    """Rotary embedding of three heads, shorter than the longest sequence."""
    rope = case.model(RotaryEmbedding, head_dim=8, max_seq_len=16)
    case.record("y", rope(case.input("x", lambda: torch.randn(2, 3, 11, 8))))


@gs.case
def rotary_again(case):
    """Rotary embedding called three times: on a batch of one that is long, on more and shorter ones, on others."""
    rope = case.model(RotaryEmbedding, head_dim=8, max_seq_len=40)
    case.record("one", rope(case.input("one", lambda: torch.randn(1, 3, 37, 8))))
    case.record("more", rope(case.input("more", lambda: torch.randn(2, 3, 5, 8))))
    case.record("others", rope(case.input("others", lambda: torch.randn(2, 3, 5, 8))))


@gs.case
def attention(case):
    """Causal self-attention alone, weights in general position."""
    layer = case.model(CausalSelfAttention, dim=24, num_heads=3, max_seq_len=16, weights="stress")
    case.record("y", case.first(layer(case.input("x", lambda: torch.randn(2, 11, 24)))))


@gs.case
def attention_again(case):
    """Attention called four times: on a single vector, on long sequences, on short ones, on others."""
    layer = case.model(CausalSelfAttention, dim=24, num_heads=3, max_seq_len=40, weights="stress")
    case.record("one", case.first(layer(case.input("one", lambda: torch.randn(1, 1, 24)))))
    case.record("long", case.first(layer(case.input("long", lambda: torch.randn(2, 37, 24)))))
    case.record("short", case.first(layer(case.input("short", lambda: torch.randn(4, 5, 24)))))
    case.record("others", case.first(layer(case.input("others", lambda: torch.randn(4, 5, 24)))))


@gs.case
def attention_large(case):
    """Scores that grow with the position until an exponential is infinite; then early ones, large and negative."""
    layer = case.model(CausalSelfAttention, dim=24, num_heads=3, max_seq_len=16, weights="stress")
    x = case.input("x", lambda: torch.randn(2, 11, 24) * torch.logspace(0, 2, 11).view(-1, 1))
    case.record("y", case.first(layer(x)))
    falling = case.input("falling", lambda: torch.randn(7, 11, 24) * torch.logspace(2, 0, 11).view(-1, 1))
    case.record("of_falling", case.first(layer(falling)))


@gs.case
def attention_dropout(case):
    """Dropout of three weights in four. A lone position has one weight, 1: it is dropped, or becomes 4."""
    settings = dict(dim=6, num_heads=1, max_seq_len=4, dropout=0.75)
    layer = case.model(CausalSelfAttention, **settings, weights="stress", train=True)
    x = case.input("x", lambda: torch.randn(3000, 1, 6))
    trained, whole = case.first(layer(x.clone())), case.first(layer.eval()(x.clone()))
    nothing = trained.sort(dim=0).values[len(trained) // 2]  # what is left where the weight is dropped, as in most rows
    dropped = torch.isclose(trained, nothing, rtol=1e-4, atol=1e-4).all(dim=-1)
    kept = torch.isclose(trained, nothing + 4 * (whole - nothing), rtol=1e-3, atol=1e-3).all(dim=-1)
    case.record("evaluated", whole)
    case.record("each_is_dropped_or_four_times_as_large", bool((dropped | kept).all()))
    case.record("three_in_four_are_dropped", 0.70 < dropped.float().mean().item() < 0.80)


@gs.case
def feed_forward(case):
    """The gated feed-forward network alone, weights in general position."""
    layer = case.model(FeedForward, dim=24, hidden_dim=40, weights="stress")
    case.record("y", layer(case.input("x", lambda: torch.randn(2, 7, 24))))


@gs.case
def feed_forward_again(case):
    """The feed-forward network called four times: on a single vector, on long ones, on others, on large numbers."""
    layer = case.model(FeedForward, dim=24, hidden_dim=40, weights="stress")
    case.record("one", layer(case.input("one", lambda: torch.randn(1, 1, 24))))
    case.record("long", layer(case.input("long", lambda: torch.randn(2, 37, 24))))
    case.record("others", layer(case.input("others", lambda: torch.randn(2, 37, 24))))
    case.record("large", layer(case.input("large", lambda: torch.randn(2, 5, 24) * 400)))


@gs.case
def feed_forward_dropout(case):
    """Dropout of three numbers in four: those that are kept are four times as large, and others the next time."""
    layer = case.model(FeedForward, dim=24, hidden_dim=40, dropout=0.75, weights="stress", train=True)
    x = case.input("x", lambda: torch.randn(5, 37, 24))
    first, second = layer(x.clone()), layer(x.clone())
    whole = 4 * layer.eval()(x.clone())
    case.record("kept", torch.where(first == 0, whole, first))
    case.record("three_in_four_are_dropped", 0.70 < (first == 0).float().mean().item() < 0.80)
    case.record("others_each_time", not torch.equal(first == 0, second == 0))


@gs.case
def block(case):
    """One block: norms, attention, feed-forward and both residuals together."""
    layer = case.model(TransformerBlock, dim=24, num_heads=3, ff_hidden_dim=40, max_seq_len=16, weights="stress")
    case.record("y", case.first(layer(case.input("x", lambda: torch.randn(2, 11, 24)))))


@gs.case
def block_again(case):
    """One block called four times: on a single vector, on several, on long sequences, on others."""
    layer = case.model(TransformerBlock, dim=24, num_heads=3, ff_hidden_dim=40, max_seq_len=40, weights="stress")
    case.record("one", case.first(layer(case.input("one", lambda: torch.randn(1, 1, 24)))))
    case.record("several", case.first(layer(case.input("several", lambda: torch.randn(4, 1, 24)))))
    case.record("long", case.first(layer(case.input("long", lambda: torch.randn(2, 37, 24)))))
    case.record("others", case.first(layer(case.input("others", lambda: torch.randn(2, 37, 24)))))


@gs.case
def dropout(case):
    """A block with dropout=1.0, which needs no draws: everything is dropped in training, nothing in evaluation."""
    layer = case.model(
        TransformerBlock, dim=24, num_heads=3, ff_hidden_dim=40, max_seq_len=16, dropout=1.0, weights="stress"
    )
    x = case.input("x", lambda: torch.randn(2, 11, 24))
    case.record("evaluated", case.first(layer(x.clone())))
    case.record("trained", case.first(layer.train()(x)))


@gs.case
def model_again(case):
    """The model called four times: on a long sequence alone, on short ones, on others, on a single token."""
    model = case.model(DecoderOnlyTransformer, **LONG, weights="stress")
    case.record("long", case.first(model(case.input("long", lambda: torch.randint(0, 61, (1, 37))))))
    case.record("short", case.first(model(case.input("short", lambda: torch.randint(0, 61, (5, 7))))))
    case.record("others", case.first(model(case.input("others", lambda: torch.randint(0, 61, (5, 7))))))
    case.record("one", case.first(model(case.input("one", lambda: torch.randint(0, 61, (1, 1))))))


@gs.case
def loss_alone(case):
    """The loss alone: its gradient, a single sequence of two tokens, and logits too large for an exponential."""
    logits = case.input("logits", lambda: torch.randn(3, 7, 11, requires_grad=True))
    tokens = case.input("tokens", lambda: torch.randint(0, 11, (3, 7)))
    loss = next_token_loss(logits, tokens)
    loss.backward()
    case.record("loss", loss)
    case.record("gradient", logits.grad)
    pair = case.input("pair", lambda: torch.randint(0, 11, (1, 2)))
    case.record("one", next_token_loss(case.input("logits_of_pair", lambda: torch.randn(1, 2, 11)), pair))
    large = case.input("large", lambda: torch.randn(3, 7, 11) * 1000)
    case.record("loss_of_large", next_token_loss(large, tokens))


@gs.case
def gradients(case):
    """Logits, loss and every gradient of the small model, weights in general position."""
    model = case.model(DecoderOnlyTransformer, **SMALL, weights="stress")
    tokens = case.input("tokens", lambda: torch.randint(0, 61, (5, 13)))
    logits = case.first(model(tokens))
    loss = next_token_loss(logits, tokens)
    loss.backward()
    case.record("logits", logits)
    case.record("loss", loss)
    case.record_gradients(model)


@gs.case
def three_steps(case):
    """One epoch of three batches with plain SGD: steps so large that clipping shows."""
    model = case.model(DecoderOnlyTransformer, **SMALL, weights="stress", train=True)
    batches = case.input("batches", lambda: [torch.randint(0, 61, (5, 13)) for _ in range(3)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    case.record("loss", train_epoch(model, batches, optimizer, max_grad_norm=0.7))
    case.record_weights(model)


@gs.case
def two_epochs(case):
    """Two epochs of a tiny model, the last batches smaller and shorter: each batch counts the same in the mean."""
    model = case.model(DecoderOnlyTransformer, **TINY, weights="stress", train=True)
    sizes = ((5, 13), (2, 7), (1, 4))
    batches = case.input("batches", lambda: [torch.randint(0, 17, size) for size in sizes])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = [train_epoch(model, batches, optimizer, max_grad_norm=0.7) for _ in range(2)]
    case.record("losses", torch.tensor(losses, dtype=torch.float32))
    case.record_weights(model)


@gs.case
def generation(case):
    """Greedy decoding past the model's longest context."""
    model = case.model(DecoderOnlyTransformer, **SMALL, weights="stress")
    prompt = case.input("prompt", lambda: torch.randint(0, 61, (2, 5)))

    @torch.no_grad()
    def scores(tokens):
        return torch.stack([case.first(model(tokens[:, max(0, end - 16) : end]))[:, -1] for end in range(5, 35)], dim=1)

    case.choice("tokens", generate(model, prompt, max_new_tokens=30), scores=scores, steps=1)
    case.continues("tokens", lambda tokens: generate(model, tokens, max_new_tokens=35 - tokens.shape[1]))


@gs.case
def generation_of_one(case):
    """Greedy decoding of a single prompt that is longer than the model's context, of others, and of others again."""
    model = case.model(DecoderOnlyTransformer, **SMALL, weights="stress")
    prompt = case.input("prompt", lambda: torch.randint(0, 61, (1, 19)))
    case.record("tokens", generate(model, prompt, max_new_tokens=3))
    others = case.input("others", lambda: torch.randint(0, 61, (5, 2)))
    case.record("others", generate(model, others, max_new_tokens=7))
    again = case.input("again", lambda: torch.randint(0, 61, (5, 2)))
    case.record("again", generate(model, again, max_new_tokens=7))


@gs.case
def modes(case):
    """Training switches dropout on and decoding switches it off, whatever mode a model comes in."""
    settings = SMALL | dict(dropout=1.0)
    learner = case.model(DecoderOnlyTransformer, **settings, weights="stress", name="learner")
    batches = case.input("batches", lambda: [torch.randint(0, 61, (5, 13)) for _ in range(2)])
    optimizer = torch.optim.SGD(learner.parameters(), lr=0.5)
    case.record("loss", train_epoch(learner, batches, optimizer, max_grad_norm=0.7))
    decoder = case.model(DecoderOnlyTransformer, **settings, weights="stress", name="decoder", train=True)
    prompt = case.input("prompt", lambda: torch.randint(0, 61, (2, 5)))
    case.record("tokens", generate(decoder, prompt, max_new_tokens=9))


def sentences(count, batch_size, length):
    """A language with rules to learn: each token follows from the one before, with some noise."""
    step = torch.randint(1, 61, (batch_size, 1))
    for _ in range(count):
        start = torch.randint(0, 61, (batch_size, 1))
        noise = (torch.rand(batch_size, length) < 0.05).long() * torch.randint(0, 61, (batch_size, length))
        yield (start + step * torch.arange(length) + noise) % 61


@gs.checkpoint
def gold_checkpoint(case):
    """The small model trained on a made-up language until it has learned its rules."""
    model = case.model(DecoderOnlyTransformer, **SMALL, train=True)
    batches = case.input(
        "batches", lambda: list(sentences(TRAINING["batches"], TRAINING["batch_size"], TRAINING["length"]))
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=TRAINING["lr"])
    losses = [
        train_epoch(model, batches, optimizer, max_grad_norm=TRAINING["max_grad_norm"])
        for _ in range(TRAINING["epochs"])
    ]
    case.record("losses", torch.tensor(losses, dtype=torch.float32))
    case.checkpoint(model, epoch=TRAINING["epochs"], loss=losses[-1], training_config=TRAINING)


if __name__ == "__main__":
    gs.main()
