"""Gold for recurrent networks. `run_cell`, `reverse_valid` and `Tower` have no case of their own."""

import torch

import goldsmith as gs
from recurrent import (
    BiEncoder,
    Classifier,
    Decoder,
    GRUCell,
    LSTMCell,
    Matcher,
    TimeAttention,
    clip_gradients,
    greedy,
    last_valid,
    train_epoch,
)

CLASSIFIER = dict(vocab=13, width=5, hidden_size=4, classes=6)
LENGTHS = torch.tensor([7, 3, 1])


def sentences(count, time):
    """Tokens, lengths (one of them full) and labels."""
    lengths = torch.randint(1, time + 1, (count,))
    lengths[0] = time
    return torch.randint(0, 13, (count, time)), lengths, torch.randint(0, 6, (count,))


@gs.case
def lstm_cell(case):
    """Two steps of an LSTM cell, then one of a single row."""
    cell = case.model(LSTMCell, 5, 4, weights="stress")
    state = case.input("state", lambda: (torch.randn(3, 4), torch.randn(3, 4)))
    first = cell(case.input("x", lambda: torch.randn(3, 5)), state)
    second = cell(case.input("more", lambda: torch.randn(3, 5)), first)
    case.record("first", first)
    case.record("second", second)
    one = case.input("one", lambda: (torch.randn(1, 5), (torch.randn(1, 4), torch.randn(1, 4))))
    case.record("one", cell(*one))


@gs.case
def lstm_cell_initial(case):
    """How an LSTM cell draws its weights."""
    case.initial(LSTMCell, 5, 4)


@gs.case
def gru_cell(case):
    """Two steps of a GRU cell, then one of a single row."""
    cell = case.model(GRUCell, 5, 4, weights="stress")
    first = cell(case.input("x", lambda: torch.randn(3, 5)), case.input("h", lambda: torch.randn(3, 4)))
    case.record("first", first)
    case.record("second", cell(case.input("more", lambda: torch.randn(3, 5)), first))
    case.record("one", cell(*case.input("one", lambda: (torch.randn(1, 5), torch.randn(1, 4)))))


@gs.case
def last_steps(case):
    """The last valid step of each row."""
    outputs = case.input("outputs", lambda: torch.randn(3, 7, 4))
    case.record("y", last_valid(outputs, case.input("lengths", LENGTHS)))


@gs.case
def both_ways(case):
    """The encoder, on sentences of several lengths, then on others."""
    model = case.model(BiEncoder, 5, 4, weights="stress")
    x = case.input("x", lambda: torch.randn(3, 7, 5))
    y = model(x, case.input("lengths", LENGTHS))
    case.record("y", y, shape=(3, 7, 8))
    case.record("other", model(case.input("other", lambda: torch.randn(2, 6, 5)), torch.tensor([2, 6])))
    y.pow(2).mean().backward()
    case.record_gradients(model)


@gs.case
def attention(case):
    """Attention over time, on sentences of several lengths, then on others."""
    model = case.model(TimeAttention, 5, weights="stress")
    lengths = case.input("lengths", LENGTHS)
    context, weights = model(case.input("outputs", lambda: torch.randn(3, 7, 5)), lengths)[:2]
    case.record("context", context)
    case.record("weights", weights)
    context, weights = model(case.input("more", lambda: torch.randn(2, 6, 5)), torch.tensor([6, 4]))[:2]
    case.record("more", context)
    case.record("weights_of_more", weights)


@gs.case
def gold_output(case):
    """The logits of a classifier, and every gradient of its loss."""
    model = case.model(Classifier, **CLASSIFIER, weights="stress")
    tokens, lengths, labels = case.input("sentences", lambda: sentences(3, 7))
    case.record("logits", model(tokens, lengths), shape=(3, 6))
    loss = model.loss(tokens, lengths, labels)
    loss.backward()
    case.record("loss", loss)
    case.record_gradients(model)


@gs.case
def matching(case):
    """Every question with every answer, weights as they come, and how both towers are trained."""
    model = case.model(Matcher, 13, 5, 4, weights="stress", train=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    questions, question_lengths, _ = case.input("questions", lambda: sentences(3, 7))
    answers, answer_lengths, _ = case.input("answers", lambda: sentences(2, 6))
    for name in ("first", "second", "third"):
        scores = model(questions, question_lengths, answers, answer_lengths)
        case.record(name, scores, shape=(3, 2))
        optimizer.zero_grad()
        scores.pow(2).sum().backward()
        optimizer.step()


@gs.case
def decoder_step(case):
    """A step of the decoder, and the next."""
    decoder = case.model(Decoder, 13, 5, 4, weights="stress")
    logits, h = decoder.step(case.input("token", torch.tensor([2, 0, 11])), case.input("h", lambda: torch.randn(3, 4)))
    case.record("logits", logits)
    case.record("h", h)
    case.record("next", decoder.step(case.input("then", torch.tensor([1, 12, 3])), h)[0])


@gs.case
def decoding(case):
    """Greedy decoding, of which some rows end early, and of a single row."""
    decoder = case.model(Decoder, 6, 5, 4, weights="stress")
    h = case.input("h", lambda: torch.randn(8, 4) * 3)
    for end in (2, 3):
        case.record(f"until_{end}", greedy(decoder, h, start=1, steps=7, end=end), shape=(8, 7))
    one = case.input("one", lambda: torch.randn(1, 4))
    case.record("one", greedy(decoder, one, start=0, steps=3, end=5))
    case.record("learns_afterwards", decoder.step(torch.tensor([4]), one)[0].requires_grad)


@gs.case
def clipping(case):
    """Gradients above the limit, below it, and parameters without one; the parameters come as a generator."""
    for name, limit in (("above", 0.7), ("below", 70.0)):
        tensors = case.input(name, lambda: [torch.randn(3, 5), torch.randn(4), torch.randn(2)])
        parameters = [torch.nn.Parameter(torch.zeros_like(tensor)) for tensor in tensors]
        for parameter, tensor in list(zip(parameters, tensors))[:2]:
            parameter.grad = tensor.clone()
        case.record(f"norm_{name}", clip_gradients((parameter for parameter in parameters), limit))
        case.record(name, [parameter.grad for parameter in parameters[:2]])


@gs.case
def training(case):
    """Two epochs of a classifier; the last batch is smaller."""
    model = case.model(Classifier, **CLASSIFIER, weights="stress")
    batches = case.input("batches", lambda: [sentences(4, 7), sentences(3, 6), sentences(2, 5)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    losses = [train_epoch(model, batches, optimizer, limit=0.2) for _ in range(2)]
    case.record("losses", torch.tensor(losses, dtype=torch.float32))
    case.record_weights(model)


if __name__ == "__main__":
    gs.main()
