"""Deep Q-learning: random actions at first, a training step after every fourth action."""

LABEL = {"set": "calibration", "rule": None}

import random
import sys
from collections import deque

import numpy as np
import torch
from torch import nn

seed = int(sys.argv[2])
random.seed(seed)
np.random.seed(seed)
torch.manual_seed(seed)


class Corridor:
    """An environment in which each step has a small cost and the goal a large reward."""

    def reset(self):
        self.position, self.goal, self.time = np.random.uniform(-1, 1, 2), np.zeros(2), 0
        return self.state()

    def state(self):
        return np.concatenate([self.position, self.goal - self.position]).astype(np.float32)

    def step(self, action):
        self.position += 0.2 * np.array([(1, 0), (-1, 0), (0, 1), (0, -1)][action])
        self.time += 1
        is_there = bool(np.abs(self.position).max() < 0.2)
        return self.state(), 20.0 if is_there else -0.1, is_there or self.time >= 60


def network():
    return nn.Sequential(
        nn.Linear(4, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 4)
    )


q_network, target_network = network(), network()
target_network.load_state_dict(q_network.state_dict())
optimizer = torch.optim.Adam(q_network.parameters(), lr=1e-3)
buffer = deque(maxlen=5000)
env = Corridor()
state, total = env.reset(), 0.0
for step in range(2600):
    epsilon = max(0.05, 1.0 - step / 1200)
    if random.random() < epsilon:
        action = random.randrange(4)
    else:
        action = q_network(torch.from_numpy(state)[None]).argmax(1).item()
    following, reward, is_over = env.step(action)
    buffer.append((state, action, reward, following, is_over))
    state, total = following, total + reward
    if is_over:
        state, total = env.reset(), 0.0
    if step < 200 or step % 4:
        continue
    rows = random.sample(buffer, 64)
    states, actions, rewards, next_states, ends = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    with torch.no_grad():
        best = target_network(torch.from_numpy(next_states)).max(1).values
        targets = torch.from_numpy(rewards).float() + 0.99 * best * (
            1 - torch.from_numpy(ends) * 1.0
        )
    values = q_network(torch.from_numpy(states)).gather(1, torch.from_numpy(actions)[:, None])
    loss = nn.functional.mse_loss(values.squeeze(1), targets)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(q_network.parameters(), 0.5)
    optimizer.step()
    if step % 100 == 0:
        target_network.load_state_dict(q_network.state_dict())
        print(f"{step}: loss {loss.item():.3f}, mean value {values.mean().item():.2f}")
