"""Gold for Scratch-2: the full-width encoder and model once, every part on its own in a small size."""

import torch

import goldsmith as gs
from decoder import CausalDecoder
from vision import EncoderBlock, PatchEmbedding, PatchEncoder, Projector, VisionLanguageModel, caption_loss, fuse

ENCODER = dict(image_size=24, patch_size=8, channels=3, width=384, num_layers=1, num_heads=6, hidden_dim=192)
CONFIG = dict(encoder=ENCODER, vocab_size=97, dim=48, num_layers=1, num_heads=3, max_seq_len=32)
SMALL_ENCODER = dict(image_size=12, patch_size=4, channels=3, width=40, num_layers=2, num_heads=5, hidden_dim=28)
SMALL = dict(encoder=SMALL_ENCODER, vocab_size=53, dim=24, num_layers=2, num_heads=3, max_seq_len=20)
TINY_ENCODER = dict(image_size=4, patch_size=2, channels=1, width=6, num_layers=1, num_heads=2, hidden_dim=5)
TINY = dict(encoder=TINY_ENCODER, vocab_size=11, dim=8, num_layers=1, num_heads=1, max_seq_len=16)


def enlarge(module, factor):
    """All weights of `module` times `factor`, so that what it computes with them is large."""
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(factor)


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
def patches_again(case):
    """Patches of one image that is a single patch, then of several images with one channel, of others, and of one."""
    single = case.model(PatchEmbedding, image_size=4, patch_size=4, channels=3, width=20, weights="stress", name="one")
    case.record("one", single(case.input("one", lambda: torch.randn(1, 3, 4, 4))))
    layer = case.model(PatchEmbedding, image_size=10, patch_size=2, channels=1, width=7, weights="stress", name="more")
    case.record("more", layer(case.input("more", lambda: torch.randn(3, 1, 10, 10))))
    case.record("others", layer(case.input("others", lambda: torch.randn(3, 1, 10, 10))))
    case.record("last", layer(case.input("last", lambda: torch.randn(1, 1, 10, 10))))


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
def encoder_block_again(case):
    """One block called four times: on a single vector, on several, on long sequences, on others."""
    layer = case.model(EncoderBlock, width=40, num_heads=5, hidden_dim=28, weights="stress")
    case.record("one", layer(case.input("one", lambda: torch.randn(1, 1, 40))))
    case.record("several", layer(case.input("several", lambda: torch.randn(3, 1, 40))))
    case.record("long", layer(case.input("long", lambda: torch.randn(2, 37, 40))))
    case.record("others", layer(case.input("others", lambda: torch.randn(2, 37, 40))))


@gs.case
def encoder_block_large(case):
    """One block with its weights as they are, then so large that the exponential of a score is infinite."""
    layer = case.model(EncoderBlock, width=40, num_heads=5, hidden_dim=28, weights="stress")
    x = case.input("x", lambda: torch.randn(2, 10, 40))
    case.record("usual", layer(x))
    enlarge(layer, 8)
    case.record("large", layer(x))


@gs.case
def encoder(case):
    """The small encoder: class token, positions, blocks, norm; and nothing in it that can be trained."""
    model = case.model(PatchEncoder, **SMALL_ENCODER, weights="stress")
    case.record("y", model(case.input("images", lambda: torch.randn(2, 3, 12, 12))))
    case.record("trainable", sum(parameter.requires_grad for parameter in model.parameters()))


@gs.case
def encoder_again(case):
    """The small encoder on a single image, on more, and on others; what comes out needs no gradients."""
    model = case.model(PatchEncoder, **SMALL_ENCODER, weights="stress")
    one = model(case.input("one", lambda: torch.randn(1, 3, 12, 12)))
    case.record("one", one)
    case.record("more", model(case.input("more", lambda: torch.randn(7, 3, 12, 12))))
    case.record("others", model(case.input("others", lambda: torch.randn(7, 3, 12, 12))))
    case.record("requires_grad", one.requires_grad)


@gs.case
def freezing(case):
    """`freeze` alone: how many parameters can be trained after all of them could."""
    model = case.model(PatchEncoder, **TINY_ENCODER, weights="stress")
    model.requires_grad_(True)
    model.freeze()
    case.record("trainable", sum(parameter.requires_grad for parameter in model.parameters()))
    case.record("y", model(case.input("images", lambda: torch.randn(3, 1, 4, 4))))


@gs.case
def projector(case):
    """The projector alone."""
    layer = case.model(Projector, width=40, dim=24, weights="stress")
    case.record("y", layer(case.input("x", lambda: torch.randn(2, 10, 40))))


@gs.case
def projector_again(case):
    """The projector called three times: on a single vector, on long sequences, on large numbers."""
    layer = case.model(Projector, width=40, dim=24, weights="stress")
    case.record("one", layer(case.input("one", lambda: torch.randn(1, 1, 40))))
    case.record("long", layer(case.input("long", lambda: torch.randn(3, 37, 40))))
    case.record("others", layer(case.input("others", lambda: torch.randn(3, 37, 40) * 300)))


@gs.case
def fusion(case):
    """Images before text, nothing lost."""
    images = case.input("images", lambda: torch.randn(2, 10, 24))
    text = case.input("text", lambda: torch.randn(2, 7, 24))
    case.record("y", fuse(images, text), shape=(2, 17, 24))


@gs.case
def fusion_again(case):
    """One image token before one of the text, then more text than images, twice."""
    image, word = case.input("image", lambda: torch.randn(1, 1, 6)), case.input("word", lambda: torch.randn(1, 1, 6))
    case.record("one", fuse(image, word), shape=(1, 2, 6))
    images, text = case.input("images", lambda: torch.randn(2, 3, 6)), case.input("text", lambda: torch.randn(2, 19, 6))
    case.record("long", fuse(images, text), shape=(2, 22, 6))
    other, words = case.input("other", lambda: torch.randn(2, 3, 6)), case.input("words", lambda: torch.randn(2, 19, 6))
    case.record("others", fuse(other, words), shape=(2, 22, 6))


@gs.case
def model_again(case):
    """The whole model in a tiny size: one image with one token, more with longer texts, and others."""
    model = case.model(VisionLanguageModel, **TINY, weights="stress")
    image, word = case.input("image", lambda: torch.randn(1, 1, 4, 4)), case.input("word", lambda: torch.tensor([[3]]))
    case.record("one", case.first(model(image, word)), shape=(1, 1, 11))
    images = case.input("images", lambda: torch.randn(3, 1, 4, 4))
    text = case.input("text", lambda: torch.randint(0, 11, (3, 10)))
    case.record("more", case.first(model(images, text)), shape=(3, 10, 11))
    other = case.input("other", lambda: torch.randn(3, 1, 4, 4))
    words = case.input("words", lambda: torch.randint(0, 11, (3, 10)))
    case.record("others", case.first(model(other, words)), shape=(3, 10, 11))


@gs.case
def caption(case):
    """The loss of a tiny model: several texts, others, a single one, logits that overflow; its mode stays."""
    model = case.model(VisionLanguageModel, **TINY, weights="stress")
    images = case.input("images", lambda: torch.randn(3, 1, 4, 4))
    tokens = case.input("tokens", lambda: torch.randint(0, 11, (3, 7)))
    case.record("loss", caption_loss(model, images, tokens))
    other = case.input("other", lambda: torch.randn(3, 1, 4, 4))
    case.record("others", caption_loss(model, other, case.input("words", lambda: torch.randint(0, 11, (3, 7)))))
    pair = case.input("pair", lambda: torch.tensor([[4, 0]]))
    case.record("one", caption_loss(model, images[:1].clone(), pair))
    decoder = next(part for part in model.modules() if isinstance(part, CausalDecoder))
    enlarge(decoder.head, 1000)
    case.record("loss_of_large", caption_loss(model, images, tokens))
    caption_loss(model.train(), images, tokens)
    case.record("still_in_training_mode", model.training)


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
    case.record("losses", torch.tensor(losses, dtype=torch.float32))
    case.record_weights(model)


if __name__ == "__main__":
    gs.main()
