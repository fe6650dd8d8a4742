"""Gold for Scratch-2: the full-width encoder and model once, every part on its own in a small size."""

import torch

import goldsmith as gs
from vision import EncoderBlock, PatchEmbedding, PatchEncoder, Projector, VisionLanguageModel, caption_loss, fuse

ENCODER = dict(image_size=24, patch_size=8, channels=3, width=384, num_layers=1, num_heads=6, hidden_dim=192)
CONFIG = dict(encoder=ENCODER, vocab_size=97, dim=48, num_layers=1, num_heads=3, max_seq_len=32)
SMALL_ENCODER = dict(image_size=12, patch_size=4, channels=3, width=40, num_layers=2, num_heads=5, hidden_dim=28)
SMALL = dict(encoder=SMALL_ENCODER, vocab_size=53, dim=24, num_layers=2, num_heads=3, max_seq_len=20)


@gs.case
def gold_output(case):
    """Image tokens (4 x 10 x 384) and logits of the model in its full width."""
    model = case.model(VisionLanguageModel, **CONFIG)
    images = case.input("images", lambda: torch.randn(4, 3, 24, 24))
    tokens = case.input("tokens", lambda: torch.randint(0, 97, (4, 7)))
    case.record("image_tokens", model.encoder(images), shape=(4, 10, 384))
    case.record("logits", case.first(model(images, tokens)), shape=(4, 7, 97))


@gs.case
def patches(case):
    """Patches in the right order and flattened the right way."""
    layer = case.model(PatchEmbedding, image_size=12, patch_size=4, channels=3, width=20, weights="stress")
    case.record("y", layer(case.input("images", lambda: torch.randn(2, 3, 12, 12))))


@gs.case
def encoder_block(case):
    """One block of the encoder alone, with its gradients: attention without a mask."""
    layer = case.model(EncoderBlock, width=40, num_heads=5, hidden_dim=28, weights="stress")
    x = case.input("x", lambda: torch.randn(2, 10, 40, requires_grad=True))
    y = layer(x)
    (y * case.input("direction", lambda: torch.randn(2, 10, 40))).sum().backward()
    case.record("y", y)
    case.record("x_gradient", x.grad)
    case.record_gradients(layer)


@gs.case
def encoder(case):
    """The small encoder: class token, positions, blocks, norm; and nothing in it that can be trained."""
    model = case.model(PatchEncoder, **SMALL_ENCODER, weights="stress")
    case.record("y", model(case.input("images", lambda: torch.randn(2, 3, 12, 12))))
    case.record("trainable", sum(parameter.requires_grad for parameter in model.parameters()))


@gs.case
def projector(case):
    """The projector alone."""
    layer = case.model(Projector, width=40, dim=24, weights="stress")
    case.record("y", layer(case.input("x", lambda: torch.randn(2, 10, 40))))


@gs.case
def fusion(case):
    """Images before text, nothing lost."""
    images = case.input("images", lambda: torch.randn(2, 10, 24))
    text = case.input("text", lambda: torch.randn(2, 7, 24))
    case.record("y", fuse(images, text), shape=(2, 17, 24))


@gs.case
def gradients(case):
    """Loss and gradients: the projector and the decoder have them, the frozen encoder has none."""
    model = case.model(VisionLanguageModel, **SMALL, weights="stress", train=True)
    images = case.input("images", lambda: torch.randn(5, 3, 12, 12))
    tokens = case.input("tokens", lambda: torch.randint(0, 53, (5, 7)))
    loss = caption_loss(model, images, tokens)
    loss.backward()
    case.record("loss", loss)
    case.record_gradients(model)


@gs.case
def three_steps(case):
    """Three steps of SGD: what is frozen stays, what is not moves."""
    model = case.model(VisionLanguageModel, **SMALL, weights="stress", train=True)
    images = case.input("images", lambda: torch.randn(5, 3, 12, 12))
    tokens = case.input("tokens", lambda: torch.randint(0, 53, (5, 7)))
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = caption_loss(model, images, tokens)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    case.record("losses", torch.tensor(losses))
    case.record_weights(model)


if __name__ == "__main__":
    gs.main()
