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
def rotary(case):
    """Rotary embedding of three heads, shorter than the longest sequence."""
    rope = case.model(RotaryEmbedding, head_dim=8, max_seq_len=16)
    case.record("y", rope(case.input("x", lambda: torch.randn(2, 3, 11, 8))))


@gs.case
def attention(case):
    """Causal self-attention alone, weights in general position."""
    layer = case.model(CausalSelfAttention, dim=24, num_heads=3, max_seq_len=16, weights="stress")
    case.record("y", case.first(layer(case.input("x", lambda: torch.randn(2, 11, 24)))))


@gs.case
def feed_forward(case):
    """The gated feed-forward network alone, weights in general position."""
    layer = case.model(FeedForward, dim=24, hidden_dim=40, weights="stress")
    case.record("y", layer(case.input("x", lambda: torch.randn(2, 7, 24))))


@gs.case
def block(case):
    """One block: norms, attention, feed-forward and both residuals together."""
    layer = case.model(TransformerBlock, dim=24, num_heads=3, ff_hidden_dim=40, max_seq_len=16, weights="stress")
    case.record("y", case.first(layer(case.input("x", lambda: torch.randn(2, 11, 24)))))


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
def generation(case):
    """Greedy decoding past the model's longest context."""
    model = case.model(DecoderOnlyTransformer, **SMALL, weights="stress")
    prompt = case.input("prompt", lambda: torch.randint(0, 61, (2, 5)))
    case.record("tokens", generate(model, prompt, max_new_tokens=30))


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
    case.record("losses", torch.tensor(losses))
    case.checkpoint(model, epoch=TRAINING["epochs"], loss=losses[-1], training_config=TRAINING)


if __name__ == "__main__":
    gs.main()
