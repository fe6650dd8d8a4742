"""Scratch-1 against its gold."""

import backbone
import pytest
import torch

import goldsmith

pytestmark = pytest.mark.rigor
CLOSE = dict(rtol=1e-4, atol=1e-5)
PARTS = {
    "rmsnorm": backbone.RMSNorm,
    "rmsnorm_small": backbone.RMSNorm,
    "rotary": backbone.RotaryEmbedding,
    "attention": backbone.CausalSelfAttention,
    "feed_forward": backbone.FeedForward,
    "block": backbone.TransformerBlock,
}


def build(factory, case):
    model = factory(**case.model_config)
    model.load_state_dict(case.state_dict)
    return model


@pytest.fixture
def gold(gold_folder):
    return goldsmith.load(gold_folder)


@pytest.mark.fidelity
def test_the_whole_model_gives_gold_logits(gold_folder):
    fixture = torch.load(gold_folder / "gold_output.pt")
    model = backbone.DecoderOnlyTransformer(**fixture["model_config"]).eval()
    model.load_state_dict(fixture["state_dict"])
    torch.testing.assert_close(model(fixture["input"]), fixture["output"], **CLOSE)
    assert fixture["seed"] == 42


@pytest.mark.fidelity
@pytest.mark.parametrize("name", PARTS)
def test_each_part_gives_gold_outputs(gold, name):
    model = build(PARTS[name], gold[name])
    torch.testing.assert_close(model(gold[name].input), gold[name].output, **CLOSE)


@pytest.mark.gradient
def test_loss_and_gradients_agree(gold):
    case = gold["gradients"]
    model = build(backbone.DecoderOnlyTransformer, case)
    loss = backbone.next_token_loss(model(case.input), case.input)
    loss.backward()
    torch.testing.assert_close(loss.detach(), case.output["loss"], **CLOSE)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, case.output["gradients"][name], rtol=1e-3, atol=1e-6, msg=name)


@pytest.mark.training
def test_three_steps_lead_to_gold_weights(gold):
    case = gold["three_steps"]
    model = build(backbone.DecoderOnlyTransformer, case)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    loss = backbone.train_epoch(model, case.input, optimizer, max_grad_norm=0.7)
    assert loss == pytest.approx(case.output["loss"], rel=1e-4)
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(weight, case.output["weights"][name], rtol=1e-3, atol=1e-4, msg=name)


@pytest.mark.fidelity
def test_greedy_decoding_gives_gold_tokens(gold):
    case = gold["generation"]
    tokens = backbone.generate(build(backbone.DecoderOnlyTransformer, case), case.input, max_new_tokens=30)
    assert torch.equal(tokens, case.output)


@pytest.mark.training
def test_the_trained_checkpoint_has_learned_its_language(gold):
    case = gold["gold_checkpoint"]
    model = backbone.DecoderOnlyTransformer(**case.model_config).eval()
    model.load_state_dict(case.model_state_dict)
    losses = [backbone.next_token_loss(model(tokens), tokens).item() for tokens in case.input]
    assert sum(losses) / len(losses) < 0.5 * case.output[0].item()
