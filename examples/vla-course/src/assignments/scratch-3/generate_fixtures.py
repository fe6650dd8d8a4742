"""Gold for Scratch-3: the trained policy with its curve, and every part of it without training."""

import torch

import goldsmith as gs
from policy import ActionScaler, FlowPolicy, VelocityField, time_embedding, train_policy
from trajectories import ACTION_DIM, CHUNK, OBS_DIM, make_draws, make_trajectories

CONFIG = dict(obs_dim=OBS_DIM, action_dim=ACTION_DIM, chunk=CHUNK, hidden_dim=96, time_dim=16)
SMALL = dict(obs_dim=5, action_dim=3, chunk=4, hidden_dim=20, time_dim=6)
TRAINING = dict(epochs=40, batch_size=96, lr=6e-3, optimizer="AdamW", trajectories=640, data_seed=7)
ACT_STEPS = 20


def draw(count):
    """What a loss is computed from, in the small size: observations, actions far beyond 1, noise, and times."""
    return torch.randn(count, 5), torch.randn(count, 4, 3) * 3, torch.randn(count, 4, 3), torch.rand(count)


def with_scale(scaler, mean, std):
    """Give `scaler` a mean and a spread without `fit`, so that the other methods are seen by themselves."""
    with torch.no_grad():
        scaler.mean.copy_(mean)
        scaler.std.copy_(std)
    return scaler


@gs.checkpoint
def gold_checkpoint(case):
    """The policy trained on the expert's trajectories, its training curve, and how well it then acts."""
    seed = TRAINING["data_seed"]
    observations, actions = case.input("expert", lambda: make_trajectories(TRAINING["trajectories"], seed))
    policy = case.model(FlowPolicy, **CONFIG, train=True)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=TRAINING["lr"])
    draws = case.input("draws", lambda: make_draws(TRAINING["epochs"], TRAINING["trajectories"]))
    losses = train_policy(policy, observations, actions, optimizer, draws, TRAINING["batch_size"])
    case.record("losses", torch.tensor(losses, dtype=torch.float32), shape=(TRAINING["epochs"],))

    unseen, expert = case.input("unseen", lambda: make_trajectories(256, seed + 1))
    noise = case.input("noise", lambda: torch.randn(256, CHUNK, ACTION_DIM))
    error = (policy.eval().act(unseen, noise, ACT_STEPS) - expert).pow(2).mean()
    case.record("unseen_error", error)
    case.record("unseen_error_of_standing_still", expert.pow(2).mean())
    case.checkpoint(policy, epoch=TRAINING["epochs"], loss=losses[-1], training_config=TRAINING)


@gs.case
def gold_output(case):
    """Chunks of actions from an untrained policy, weights in general position; some are beyond 1."""
    policy = case.model(FlowPolicy, **SMALL, weights="stress")
    policy.scaler.fit(case.input("expert", lambda: torch.randn(7, 4, 3) * 3 + 0.5))
    observations = case.input("observations", lambda: torch.randn(2, 5))
    noise = case.input("noise", lambda: torch.randn(2, 4, 3))
    case.record("actions", policy.act(observations, noise, steps=9), shape=(2, 4, 3))


@gs.case
def times(case):
    """The embedding of time, ends of the interval included."""
    t = case.input("t", lambda: torch.cat([torch.tensor([0.0, 1.0]), torch.rand(5)]))
    case.record("y", time_embedding(t, 6), shape=(7, 6))


@gs.case
def times_again(case):
    """The embedding of a single time, then of others in another width, twice."""
    case.record("one", time_embedding(case.input("one", lambda: torch.rand(1)), 4), shape=(1, 4))
    case.record("more", time_embedding(case.input("more", lambda: torch.rand(3)), 20), shape=(3, 20))
    case.record("others", time_embedding(case.input("others", lambda: torch.rand(3)), 20), shape=(3, 20))


@gs.case
def field(case):
    """The velocity field alone."""
    model = case.model(VelocityField, **SMALL, weights="stress")
    observations = case.input("observations", lambda: torch.randn(2, 5))
    noisy = case.input("noisy", lambda: torch.randn(2, 4, 3))
    case.record("velocity", model(observations, noisy, case.input("t", lambda: torch.rand(2))))


@gs.case
def field_again(case):
    """The velocity field called three times: on a single chunk, on several, on numbers too large for an exponential."""
    model = case.model(VelocityField, **SMALL, weights="stress")
    one, _, noisy_one, t_of_one = case.input("one", lambda: draw(1))
    more, _, noisy_more, t_of_more = case.input("more", lambda: draw(7))
    case.record("one", model(one, noisy_one, t_of_one), shape=(1, 4, 3))
    case.record("more", model(more, noisy_more, t_of_more), shape=(7, 4, 3))
    large, noisy_large = case.input("large", lambda: (torch.randn(7, 5) * 3000, torch.randn(7, 4, 3) * 3000))
    case.record("large", model(large, noisy_large, t_of_more))


@gs.case
def scaler(case):
    """Fitting, scaling and scaling back."""
    model = case.model(ActionScaler, 3)
    actions = case.input("actions", lambda: torch.randn(7, 4, 3) * torch.tensor([0.1, 1.0, 3.0]) + 0.5)
    model.fit(actions)
    case.record_weights(model, "fitted")
    case.record("normalized", model.normalize(actions))
    case.record("denormalized", model.denormalize(actions))


@gs.case
def fitting(case):
    """`fit` alone, twice: the second time nothing is left of the first."""
    model = case.model(ActionScaler, 3)
    model.fit(case.input("first", lambda: torch.randn(7, 4, 3) * torch.tensor([0.1, 1.0, 3.0]) + 0.5))
    case.record_weights(model, "first")
    model.fit(case.input("second", lambda: torch.randn(1, 5, 3) * 2 - 7))
    case.record_weights(model, "second")


@gs.case
def normalizing(case):
    """`normalize` alone: a batch far beyond 1, another, then a single chunk."""
    mean, std = case.input("mean", lambda: torch.randn(3)), case.input("std", lambda: torch.rand(3) + 0.1)
    model = with_scale(case.model(ActionScaler, 3), mean, std)
    case.record("more", model.normalize(case.input("more", lambda: torch.randn(7, 4, 3) * 20)))
    case.record("others", model.normalize(case.input("others", lambda: torch.randn(7, 4, 3) * 20)))
    case.record("one", model.normalize(case.input("one", lambda: torch.randn(1, 4, 3))))


@gs.case
def denormalizing(case):
    """`denormalize` alone: a batch far beyond 1, another, then a single chunk."""
    mean, std = case.input("mean", lambda: torch.randn(3)), case.input("std", lambda: torch.rand(3) + 0.1)
    model = with_scale(case.model(ActionScaler, 3), mean, std)
    case.record("more", model.denormalize(case.input("more", lambda: torch.randn(7, 4, 3) * 20)))
    case.record("others", model.denormalize(case.input("others", lambda: torch.randn(7, 4, 3) * 20)))
    case.record("one", model.denormalize(case.input("one", lambda: torch.randn(1, 4, 3))))


@gs.case
def acting(case):
    """`act` alone: a single chunk in one step, several in six, and others; far beyond 1, and without gradients."""
    mean, std = case.input("mean", lambda: torch.randn(3)), case.input("std", lambda: torch.rand(3) + 9)
    policy = case.model(FlowPolicy, **SMALL, weights="stress")
    with_scale(policy.scaler, mean, std)
    one, _, noise_of_one, _ = case.input("one", lambda: draw(1))
    more, _, noise_of_more, _ = case.input("more", lambda: draw(7))
    case.record("one", policy.act(one, noise_of_one, steps=1), shape=(1, 4, 3))
    actions = policy.act(more, noise_of_more, steps=6)
    case.record("more", actions, shape=(7, 4, 3))
    others, _, noise_of_others, _ = case.input("others", lambda: draw(7))
    case.record("others", policy.act(others, noise_of_others, steps=6), shape=(7, 4, 3))
    case.record("requires_grad", actions.requires_grad)


@gs.case
def losses(case):
    """`loss` alone: of a batch with both ends of time in it, of another, then of a single chunk."""
    mean, std = case.input("mean", lambda: torch.randn(3)), case.input("std", lambda: torch.rand(3) + 0.1)
    policy = case.model(FlowPolicy, **SMALL, weights="stress", train=True)
    with_scale(policy.scaler, mean, std)
    case.record("more", policy.loss(*case.input("more", lambda: (*draw(7)[:3], torch.linspace(0, 1, 7)))))
    case.record("others", policy.loss(*case.input("others", lambda: draw(7))))
    case.record("one", policy.loss(*case.input("one", lambda: draw(1))))


@gs.case
def loss_and_gradients(case):
    """The flow-matching loss and every gradient."""
    policy = case.model(FlowPolicy, **SMALL, weights="stress", train=True)
    actions = case.input("actions", lambda: torch.randn(7, 4, 3) * 0.3 + 0.1)
    policy.scaler.fit(actions)
    observations = case.input("observations", lambda: torch.randn(7, 5))
    noise = case.input("noise", lambda: torch.randn(7, 4, 3))
    loss = policy.loss(observations, actions, noise, case.input("t", lambda: torch.rand(7)))
    loss.backward()
    case.record("loss", loss)
    case.record_gradients(policy)


@gs.case
def two_epochs(case):
    """Two epochs of a small policy; the last batch is smaller, and counts as much as the others."""
    policy = case.model(FlowPolicy, **SMALL, weights="stress")
    observations = case.input("observations", lambda: torch.randn(7, 5))
    actions = case.input("actions", lambda: torch.randn(7, 4, 3) * 3 + 1)
    draws = case.input("draws", lambda: [(torch.randperm(7), torch.randn(7, 4, 3), torch.rand(7)) for _ in range(2)])
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    losses = train_policy(policy, observations, actions, optimizer, draws, batch_size=5)
    case.record("losses", torch.tensor(losses, dtype=torch.float32), shape=(2,))
    case.record_weights(policy)


if __name__ == "__main__":
    gs.main()
