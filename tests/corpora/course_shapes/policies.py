"""Agents: policies that sample, buffers, critics with target networks, returns."""

from __future__ import annotations

from corpora.course_shapes.to_draft import ShapeToDraft, module

POLICY = module('''
    """Policies."""

    import numpy as np
    import torch
    from torch import distributions, nn

    from agents import torch_util as ptu


    class MLPPolicy(nn.Module):
        """A policy for discrete or continuous actions."""

        def __init__(
            self, ac_dim: int, ob_dim: int, discrete: bool, n_layers: int, layer_size: int, learning_rate: float
        ):
            super().__init__()
            if discrete:
                self.logits_net = ptu.build_mlp(ob_dim, ac_dim, n_layers, layer_size)
            else:
                self.mean_net = ptu.build_mlp(ob_dim, ac_dim, n_layers, layer_size)
                self.logstd = nn.Parameter(torch.zeros(ac_dim))
            self.optimizer = torch.optim.Adam(self.parameters(), learning_rate)
            self.discrete = discrete

        @torch.no_grad()
        def get_action(self, obs: np.ndarray) -> np.ndarray:
            """Take a single observation (1-D) and return an action, sampled from the policy."""
            distribution = self(ptu.from_numpy(obs)[None])
            return ptu.to_numpy(distribution.sample())[0]

        def forward(self, obs: torch.FloatTensor):
            """Return the distribution over actions, for a batch of observations."""
            if self.discrete:
                return distributions.Categorical(logits=self.logits_net(obs))
            mean = self.mean_net(obs)
            return distributions.Independent(distributions.Normal(mean, self.logstd.exp()), 1)

        def update(self, obs: np.ndarray, actions: np.ndarray, advantages: np.ndarray) -> dict:
            """Take a step of the policy gradient; return its loss."""
            obs, actions, advantages = map(ptu.from_numpy, (obs, actions, advantages))
            loss = -(self(obs).log_prob(actions) * advantages).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return {"Actor Loss": loss.item()}
''')

RETURNS = module('''
    """Returns and advantages."""

    from typing import Sequence

    import numpy as np


    def discounted_return(rewards: Sequence[float], gamma: float) -> list[float]:
        """Return the sum of discounted rewards at every index, the same one. gamma is in [0, 1]."""
        total = sum(gamma**t * reward for t, reward in enumerate(rewards))
        return [total] * len(rewards)


    def reward_to_go(rewards: np.ndarray, gamma: float) -> np.ndarray:
        """Return for every step the discounted sum of the rewards from it on.

        rewards: (T,); gamma: the discount, at least 0 and at most 1
        """
        result = np.zeros_like(rewards, dtype=np.float64)
        running = 0.0
        for t in reversed(range(len(rewards))):
            running = rewards[t] + gamma * running
            result[t] = running
        return result


    def gae(rewards: np.ndarray, values: np.ndarray, terminals: np.ndarray, gamma: float, lam: float) -> np.ndarray:
        """Estimate advantages.

        rewards: (T,)
        values: (T,)
        terminals: (T,), 1 where an episode ends, else 0
        gamma, lam: between 0 and 1
        """
        assert len(rewards) == len(values) == len(terminals)
        assert set(np.unique(terminals)) <= {0, 1}
        values = np.append(values, [0.0])
        advantages = np.zeros(len(rewards) + 1)
        for t in reversed(range(len(rewards))):
            alive = 1 - terminals[t]
            delta = rewards[t] + gamma * values[t + 1] * alive - values[t]
            advantages[t] = delta + gamma * lam * alive * advantages[t + 1]
        return advantages[:-1]
''')

BUFFER = module('''
    """A replay buffer."""

    import numpy as np


    class ReplayBuffer:
        def __init__(self, capacity: int = 1000):
            """Keep at most `capacity` transitions, which must be at least 1."""
            if capacity < 1:
                raise ValueError("capacity must be at least 1")
            self.max_size, self.size = capacity, 0
            self.observations, self.rewards = None, None

        def insert(self, observation: np.ndarray, reward: float):
            """Insert a transition, over the oldest one where the buffer is full."""
            if self.observations is None:
                self.observations = np.empty((self.max_size, *observation.shape), dtype=observation.dtype)
                self.rewards = np.empty(self.max_size)
            self.observations[self.size % self.max_size] = observation
            self.rewards[self.size % self.max_size] = reward
            self.size += 1

        def sample(self, batch_size: int) -> dict:
            """Draw `batch_size` transitions at random."""
            indices = np.random.randint(0, min(self.size, self.max_size), batch_size)
            return {"observations": self.observations[indices], "rewards": self.rewards[indices]}
''')

CRITIC = module('''
    """Q-learning."""

    import copy

    import torch
    import torch.nn.functional as F
    from torch import nn

    from agents import torch_util as ptu


    class DQNCritic(nn.Module):
        def __init__(self, ob_dim: int, ac_dim: int, layer_size: int = 16, gamma: float = 0.9, double_q: bool = False):
            super().__init__()
            self.q_net = ptu.build_mlp(ob_dim, ac_dim, 1, layer_size)
            self.target_net = copy.deepcopy(self.q_net)
            self.gamma, self.double_q = gamma, double_q

        def targets(self, next_obs: torch.Tensor, rewards: torch.Tensor, dones: torch.Tensor) -> torch.Tensor:
            """Compute targets without gradients.

            next_obs: (batch, ob_dim)
            rewards: (batch,)
            dones: (batch,), boolean
            """
            with torch.no_grad():
                values = self.target_net(next_obs)
                chosen = self.q_net(next_obs).argmax(-1) if self.double_q else values.argmax(-1)
                best = values.gather(1, chosen[:, None]).squeeze(1)
                return rewards + self.gamma * best * (1 - dones.float())

        def loss(
            self,
            obs: torch.Tensor,
            actions: torch.Tensor,
            next_obs: torch.Tensor,
            rewards: torch.Tensor,
            dones: torch.Tensor,
        ) -> torch.Tensor:
            """Compute the mean squared Bellman error.

            obs: (batch, ob_dim)
            actions: (batch,), integers in [0, ac_dim)
            next_obs: (batch, ob_dim)
            rewards: (batch,)
            dones: (batch,), boolean
            """
            values = self.q_net(obs).gather(1, actions[:, None]).squeeze(1)
            return F.mse_loss(values, self.targets(next_obs, rewards, dones))

        def soft_update(self, tau: float):
            """Move the target network towards the other by a share of tau, which is between 0 and 1."""
            with torch.no_grad():
                for target, source in zip(self.target_net.parameters(), self.q_net.parameters()):
                    target.mul_(1 - tau).add_(source, alpha=tau)
''')

UTIL = module('''
    """Provided."""

    import numpy as np
    import torch
    from torch import nn


    def build_mlp(input_size, output_size, n_layers, size):
        layers = []
        for _ in range(n_layers):
            layers += [nn.Linear(input_size, size), nn.Tanh()]
            input_size = size
        return nn.Sequential(*layers, nn.Linear(input_size, output_size))


    def from_numpy(array):
        found = torch.from_numpy(np.asarray(array))
        return found.float() if found.dtype == torch.float64 else found


    def to_numpy(tensor):
        return tensor.detach().cpu().numpy()
''')

SHAPE = ShapeToDraft(
    assignment="hw2",
    solutions={
        "agents/policy.py": POLICY,
        "agents/returns.py": RETURNS,
        "agents/buffer.py": BUFFER,
        "agents/critic.py": CRITIC,
    },
    written={
        "agents/policy.py": ("MLPPolicy.get_action", "MLPPolicy.forward", "MLPPolicy.update"),
        "agents/returns.py": ("discounted_return", "reward_to_go", "gae"),
        "agents/buffer.py": ("ReplayBuffer.insert", "ReplayBuffer.sample"),
        "agents/critic.py": ("DQNCritic.targets", "DQNCritic.loss", "DQNCritic.soft_update"),
    },
    provided={"agents/__init__.py": "", "agents/torch_util.py": UTIL},
    tests={
        "test_agents.py": module("""
            import numpy as np
            import torch
            from agents.buffer import ReplayBuffer
            from agents.policy import MLPPolicy
            from agents.returns import gae, reward_to_go


            def test_policy():
                policy = MLPPolicy(ac_dim=3, ob_dim=5, discrete=True, n_layers=1, layer_size=16, learning_rate=1e-2)
                assert policy.get_action(np.zeros(5)).shape == ()
                policy.update(np.random.randn(7, 5), np.array([0, 1, 2, 0, 1, 2, 0]), np.random.randn(7))


            def test_returns():
                assert reward_to_go(np.array([1.0, 1.0]), 0.5)[0] == 1.5
                gae(np.ones(4), np.zeros(4), np.array([0, 0, 1, 0]), 0.9, 0.8)


            def test_buffer():
                buffer = ReplayBuffer(capacity=4)
                buffer.insert(np.zeros(3), 1.0)
                assert buffer.sample(2)["observations"].shape == (2, 3)
        """)
    },
    right={
        "action by multinomial": (
            "agents/policy.py",
            [
                (
                    "return ptu.to_numpy(distribution.sample())[0]",
                    "noise = torch.rand(3)\n        return ptu.to_numpy(distribution.sample())[0]",
                )
            ],
        ),
        "diagonal covariance": (
            "agents/policy.py",
            [
                (
                    "distributions.Independent(distributions.Normal(mean, self.logstd.exp()), 1)",
                    "distributions.MultivariateNormal(mean, scale_tril=torch.diag(self.logstd.exp()))",
                )
            ],
        ),
        "probabilities": (
            "agents/policy.py",
            [
                (
                    "distributions.Categorical(logits=self.logits_net(obs))",
                    "distributions.Categorical(probs=self.logits_net(obs).softmax(-1))",
                )
            ],
        ),
        "loss as a sum": (
            "agents/policy.py",
            [("* advantages).mean()", "* advantages).sum() / len(advantages)")],
        ),
        "rewards by powers": (
            "agents/returns.py",
            [
                (
                    "        running = rewards[t] + gamma * running\n        result[t] = running\n",
                    "        result[t] = sum(gamma ** (k - t) * rewards[k] for k in range(t, len(rewards)))\n",
                )
            ],
        ),
        "indices by choice": (
            "agents/buffer.py",
            [
                (
                    "np.random.randint(0, min(self.size, self.max_size), batch_size)",
                    "np.random.choice(min(self.size, self.max_size), batch_size)",
                )
            ],
        ),
        "target by lerp": (
            "agents/critic.py",
            [("target.mul_(1 - tau).add_(source, alpha=tau)", "target.copy_(torch.lerp(target, source, tau))")],
        ),
        "best by max": (
            "agents/critic.py",
            [("* best * (1 - dones.float())", "* best * torch.logical_not(dones).float()")],
        ),
    },
    wrong={
        "plain sum of rewards": ("agents/returns.py", [("rewards[t] + gamma * running", "rewards[t] + running")]),
        "done ignored": ("agents/critic.py", [("* best * (1 - dones.float())", "* best")]),
        "sign of the loss": ("agents/policy.py", [("loss = -(self(obs)", "loss = (self(obs)")]),
    },
)
