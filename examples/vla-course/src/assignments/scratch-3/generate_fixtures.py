"""Gold for Scratch-3: the trained policy with its curve, and every part of it without training."""

import torch

import goldsmith as gs
from policy import ActionScaler, FlowPolicy, VelocityField, time_embedding, train_policy
from trajectories import ACTION_DIM, CHUNK, OBS_DIM, make_draws, make_trajectories

CONFIG = dict(obs_dim=OBS_DIM, action_dim=ACTION_DIM, chunk=CHUNK, hidden_dim=96, time_dim=16)
SMALL = dict(obs_dim=5, action_dim=3, chunk=4, hidden_dim=20, time_dim=6)
TRAINING = dict(epochs=40, batch_size=96, lr=6e-3, optimizer="AdamW", trajectories=640, data_seed=7)
ACT_STEPS = 20


@gs.checkpoint
def gold_checkpoint(case):
    """The policy trained on the expert's trajectories, its training curve, and how well it then acts."""
    seed = TRAINING["data_seed"]
    observations, actions = case.input("expert", lambda: make_trajectories(TRAINING["trajectories"], seed))
    policy = case.model(FlowPolicy, **CONFIG, train=True)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=TRAINING["lr"])
    draws = case.input("draws", lambda: make_draws(TRAINING["epochs"], TRAINING["trajectories"]))
    losses = train_policy(policy, observations, actions, optimizer, draws, TRAINING["batch_size"])
    case.record("losses", torch.tensor(losses), shape=(TRAINING["epochs"],))

    unseen, expert = case.input("unseen", lambda: make_trajectories(256, seed + 1))
    noise = case.input("noise", lambda: torch.randn(256, CHUNK, ACTION_DIM))
    error = (policy.eval().act(unseen, noise, ACT_STEPS) - expert).pow(2).mean()
    case.record("unseen_error", error)
    case.record("unseen_error_of_standing_still", expert.pow(2).mean())
    case.checkpoint(policy, epoch=TRAINING["epochs"], loss=losses[-1], training_config=TRAINING)


@gs.case
def gold_output(case):
    """Chunks of actions from an untrained policy, weights in general position."""
    policy = case.model(FlowPolicy, **SMALL, weights="stress")
    policy.scaler.fit(case.input("expert", lambda: torch.randn(7, 4, 3) * 0.3 + 0.1))
    observations = case.input("observations", lambda: torch.randn(2, 5))
    noise = case.input("noise", lambda: torch.randn(2, 4, 3))
    case.record("actions", policy.act(observations, noise, steps=9), shape=(2, 4, 3))


@gs.case
def times(case):
    """The embedding of time, ends of the interval included."""
    t = case.input("t", lambda: torch.cat([torch.tensor([0.0, 1.0]), torch.rand(5)]))
    case.record("y", time_embedding(t, 6), shape=(7, 6))


@gs.case
def field(case):
    """The velocity field alone."""
    model = case.model(VelocityField, **SMALL, weights="stress")
    observations = case.input("observations", lambda: torch.randn(2, 5))
    noisy = case.input("noisy", lambda: torch.randn(2, 4, 3))
    case.record("velocity", model(observations, noisy, case.input("t", lambda: torch.rand(2))))


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


if __name__ == "__main__":
    gs.main()
