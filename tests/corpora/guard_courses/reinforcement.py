"""Reinforcement learning: homeworks at the root, each with the infrastructure of the last one, filled in."""

from __future__ import annotations

from corpora.guard_courses.course import GuardedCourse, code, filled

ROLLOUTS = code('''
    """Paths through an environment."""

    import numpy as np


    def sample_path(env, policy, length):
        """One path, as arrays by name."""
        # TODO: implement the loop; HINT: env.step gives the next observation, a reward, and whether it is over
        raise NotImplementedError


    def path_length(path):
        return len(path["reward"])


    def sample_paths(env, policy, least, length):
        """Provided: paths until there are enough steps."""
        steps, paths = 0, []
        while steps < least:
            paths.append(sample_path(env, policy, length))
            steps += path_length(paths[-1])
        return paths, steps


    def to_numpy(tensor):
        return tensor.to("cpu").detach().numpy()
''')
PATH = """
    observation = env.reset()
    rows = {name: [] for name in ("observation", "action", "reward", "terminal")}
    for step in range(length):
        action = policy.get_action(observation)
        following, reward, over = env.step(action)
        over = over or step + 1 == length
        for name, value in zip(rows, (observation, action, reward, over)):
            rows[name].append(value)
        observation = following
        if over:
            break
    return {name: np.array(values, dtype=np.float32) for name, values in rows.items()}
"""
AGENT = code('''
    """An agent that follows the gradient of what it expects."""

    import numpy as np
    import torch
    from torch import nn


    class PGAgent(nn.Module):
        def __init__(self, observation_dim, action_dim, layers, size, gamma, rate, use_baseline=False):
            super().__init__()
            self.observation_dim = observation_dim
            self.action_dim = action_dim
            self.gamma = gamma
            self.use_baseline = use_baseline
            self.actor = nn.Linear(observation_dim, action_dim)
            self.optimizer = torch.optim.Adam(self.actor.parameters(), rate)

        def update(self, observations, actions, advantages):
            """One step of the gradient; what it says of itself, by name."""
            # TODO: compute the loss and take a step
            raise NotImplementedError

        def discounted_return(self, rewards):
            """The same sum for each step."""
            # TODO
            raise NotImplementedError

        def discounted_reward_to_go(self, rewards):
            """For each step the sum of what follows."""
            # TODO
            raise NotImplementedError

        def estimate_advantages(self, values, rewards):
            """Next week: with lambda."""
            # TODO(next homework): implement generalised advantages
            raise NotImplementedError("You will need this in homework 3")
''')
AGENT_ANSWERS = (
    """
    logits = self.actor(observations)
    chosen = torch.distributions.Categorical(logits=logits).log_prob(actions)
    loss = -(chosen * advantages).sum() / max(1, len(advantages))
    self.optimizer.zero_grad()
    loss.backward()
    self.optimizer.step()
    return {"loss": loss.item()}
    """,
    """
    powers = self.gamma ** np.arange(len(rewards))
    return [float((powers * np.asarray(rewards)).sum())] * len(rewards)
    """,
    """
    found = np.zeros(len(rewards))
    running = 0.0
    for index in reversed(range(len(rewards))):
        running = rewards[index] + self.gamma * running
        found[index] = running
    return found
    """,
)
LAUNCH = code("""
    import argparse
    import os
    import time


    def run_training_loop(args):
        # TODO: complete the loop
        raise NotImplementedError


    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--env_name", type=str, required=True)
        parser.add_argument("--exp_name", type=str, required=True)
        parser.add_argument("--n_iter", "-n", type=int, default=200)
        parser.add_argument("--discount", type=float, default=1.0)
        parser.add_argument("--batch_size", "-b", type=int, default=1000)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--no_gpu", "-ngpu", action="store_true")
        args = parser.parse_args()
        logdir = os.path.join("data", args.exp_name + "_" + args.env_name + "_" + time.strftime("%d-%m-%Y"))
        os.makedirs(logdir, exist_ok=True)
        run_training_loop(args)


    if __name__ == "__main__":
        main()
""")
LOOP = """
    agent = make_agent(args)
    for iteration in range(args.n_iter):
        paths, steps = sample_paths(args.env, agent, args.batch_size, args.length)
        rewards = [path["reward"] for path in paths]
        info = agent.update(*flatten(paths), [agent.discounted_reward_to_go(row) for row in rewards])
        if iteration % args.every == 0:
            print(iteration, steps, sum(map(sum, rewards)) / len(rewards), info["loss"])
    return agent
"""
BUFFER = code('''
    """What was seen, to be seen again."""

    import numpy as np


    class ReplayBuffer:
        def __init__(self, capacity=1000000):
            self.capacity = capacity
            self.size = 0
            self.rows = None

        def sample(self, batch_size):
            """Rows by name, drawn with replacement."""
            # TODO: draw rows
            raise NotImplementedError

        def __len__(self):
            return self.size
''')
DRAW = """
    chosen = np.random.randint(0, self.size, size=(batch_size,)) % self.capacity
    return {name: column[chosen] for name, column in self.rows.items() if column is not None}
"""
LOGGER = code('''
    """Provided: numbers, written down."""

    import os
    import pickle


    class Logger:
        def __init__(self, folder, every=10):
            self.folder = folder
            self.every = every
            os.makedirs(folder, exist_ok=True)

        def log_scalar(self, value, name, step):
            with open(os.path.join(self.folder, name), "a") as file:
                file.write(f"{step}\\t{value}\\n")
''')
REINFORCEMENT = GuardedCourse(
    assignment="hw1",
    files={
        "README.md": "# Deep reinforcement learning\n",
        "hw1/README.md": "# Homework 1\n",
        "hw1/setup.py": 'from setuptools import setup\n\nsetup(name="rl", version="0.1", packages=["rl"])\n',
        "hw1/rl/__init__.py": "",
        "hw1/rl/agents/pg_agent.py": AGENT,
        "hw1/rl/infrastructure/rollouts.py": ROLLOUTS,
        "hw1/rl/infrastructure/logger.py": LOGGER,
        "hw1/rl/scripts/run_hw1.py": LAUNCH,
        "hw2/README.md": "# Homework 2\n",
        "hw2/setup.py": 'from setuptools import setup\n\nsetup(name="rl", version="0.1", packages=["rl"])\n',
        "hw2/rl/__init__.py": "",
        "hw2/rl/infrastructure/rollouts.py": filled(ROLLOUTS, PATH).replace(
            "# TODO: implement the loop; HINT", "# HINT"
        ),
        "hw2/rl/infrastructure/replay_buffer.py": BUFFER,
        "hw2/rl/infrastructure/logger.py": LOGGER,
        "hw2/rl/scripts/run_hw2.py": LAUNCH.replace('"--discount", type=float, default=1.0', '"--lambda", type=float'),
        "private/solutions/hw1/rl/agents/pg_agent.py": filled(AGENT, *AGENT_ANSWERS),
        "private/solutions/hw1/rl/infrastructure/rollouts.py": filled(ROLLOUTS, PATH),
        "private/solutions/hw1/rl/infrastructure/logger.py": LOGGER,
        "private/solutions/hw1/rl/scripts/run_hw1.py": filled(LAUNCH, LOOP),
        "private/solutions/hw2/rl/infrastructure/replay_buffer.py": filled(BUFFER, DRAW),
        "private/solutions/hw2/rl/infrastructure/rollouts.py": filled(ROLLOUTS, PATH),
        "private/solutions/hw2/rl/scripts/run_hw2.py": filled(
            LAUNCH.replace('"--discount", type=float, default=1.0', '"--lambda", type=float'), LOOP
        ),
    },
    answers=(PATH, *AGENT_ANSWERS, LOOP),
    starters=("hw1/rl/agents/pg_agent.py", "hw1/rl/infrastructure/rollouts.py"),
)
