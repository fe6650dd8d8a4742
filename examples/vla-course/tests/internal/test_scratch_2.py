"""Scratch-2 against its gold."""

import pytest
import torch
import vision

import goldsmith

pytestmark = pytest.mark.rigor
CLOSE = dict(rtol=1e-4, atol=1e-5)
PARTS = {
    "patches": vision.PatchEmbedding,
    "projector": vision.Projector,
}


def build(factory, case):
    model = factory(**case.model_config)
    model.load_state_dict(case.state_dict)
    return model


@pytest.fixture
def gold(gold_folder):
    return goldsmith.load(gold_folder)


@pytest.mark.fidelity
def test_image_tokens_and_logits_are_gold(gold_folder):
    fixture = torch.load(gold_folder / "gold_output.pt")
    model = vision.VisionLanguageModel(**fixture["model_config"]).eval()
    model.load_state_dict(fixture["state_dict"])
    images, tokens = fixture["input"]["images"], fixture["input"]["tokens"]
    assert fixture["output"]["image_tokens"].shape == (4, 10, 384)
    torch.testing.assert_close(model.encoder(images), fixture["output"]["image_tokens"], **CLOSE)
    torch.testing.assert_close(model(images, tokens), fixture["output"]["logits"], **CLOSE)


@pytest.mark.fidelity
@pytest.mark.parametrize("name", PARTS)
def test_each_part_gives_gold_outputs(gold, name):
    model = build(PARTS[name], gold[name])
    torch.testing.assert_close(model(gold[name].input), gold[name].output, **CLOSE)


@pytest.mark.fidelity
def test_the_encoder_gives_gold_tokens(gold):
    case = gold["encoder"]
    torch.testing.assert_close(build(vision.PatchEncoder, case)(case.input), case.output["y"], **CLOSE)


@pytest.mark.gradient
def test_a_block_gives_gold_outputs_and_gradients(gold):
    case = gold["encoder_block"]
    block, x = build(vision.EncoderBlock, case), case.input["x"].requires_grad_()
    y = block(x)
    torch.testing.assert_close(y, case.output["y"], **CLOSE)
    (y * case.input["direction"]).sum().backward()
    torch.testing.assert_close(x.grad, case.output["x_gradient"], rtol=1e-3, atol=1e-5)
    for name, parameter in block.named_parameters():
        torch.testing.assert_close(parameter.grad, case.output["gradients"][name], rtol=1e-3, atol=1e-5, msg=name)


@pytest.mark.fidelity
def test_fusion_is_gold(gold):
    case = gold["fusion"]
    assert torch.equal(vision.fuse(case.input["images"], case.input["text"]), case.output)


@pytest.mark.gradient
def test_gradients_agree_and_the_encoder_has_none(gold):
    case = gold["gradients"]
    model = build(vision.VisionLanguageModel, case)
    loss = vision.caption_loss(model, case.input["images"], case.input["tokens"])
    loss.backward()
    torch.testing.assert_close(loss.detach(), case.output["loss"], **CLOSE)
    for name, parameter in model.named_parameters():
        expected = case.output["gradients"][name]
        if name.startswith("encoder."):
            assert expected is None
            assert parameter.grad is None, f"{name} is not frozen"
        else:
            torch.testing.assert_close(parameter.grad, expected, rtol=1e-3, atol=1e-6, msg=name)


@pytest.mark.training
def test_three_steps_lead_to_gold_weights(gold):
    case = gold["three_steps"]
    model = build(vision.VisionLanguageModel, case)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        vision.caption_loss(model, case.input["images"], case.input["tokens"]).backward()
        optimizer.step()
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(weight, case.output["weights"][name], rtol=1e-3, atol=1e-4, msg=name)
