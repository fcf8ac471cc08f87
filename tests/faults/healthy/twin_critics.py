"""TD3 (two critics): one noisy action before every training step."""

LABEL = {"set": "calibration", "rule": None}

import copy
import sys

import numpy as np
import torch
from torch import nn

seed = int(sys.argv[2])
np.random.seed(seed)
torch.manual_seed(seed)
SPACE = 3


def move(position, goal, action):
    position = position + 0.15 * action
    return position, -5.0 * float(np.linalg.norm(position - goal))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(3 * SPACE, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 1)
        )

    def forward(self, state, action):
        return self.layers(torch.cat([state, action], 1)).squeeze(1)


actor = nn.Sequential(nn.Linear(2 * SPACE, 96), nn.ReLU(), nn.Linear(96, SPACE), nn.Tanh())
critics = nn.ModuleList([Critic(), Critic()])
slow_actor, slow_critics = copy.deepcopy(actor), copy.deepcopy(critics)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)
critic_optimizer = torch.optim.Adam(critics.parameters(), lr=3e-4)
SIZE = 5000
states, later = np.zeros((2, SIZE, 2 * SPACE), np.float32)
actions, rewards = np.zeros((SIZE, SPACE), np.float32), np.zeros(SIZE, np.float32)
position, goal = np.random.uniform(-1, 1, (2, SPACE))
for step in range(1200):
    state = np.concatenate([position, goal]).astype(np.float32)
    if step < 256:
        action = np.random.uniform(-1, 1, SPACE)
    else:
        with torch.no_grad():
            action = actor(torch.from_numpy(state)[None])[0].numpy()
        action = np.clip(action + 0.1 * np.random.randn(SPACE), -1, 1)
    position, reward = move(position, goal, action)
    states[step], later[step] = state, np.concatenate([position, goal])
    actions[step], rewards[step] = action, reward
    if step % 40 == 39:
        position, goal = np.random.uniform(-1, 1, (2, SPACE))
    if step < 256:
        continue
    chosen = np.random.randint(0, step + 1, 64)
    s, t, a, r = (torch.from_numpy(part[chosen]) for part in (states, later, actions, rewards))
    with torch.no_grad():
        noise = (0.2 * torch.randn_like(a)).clamp(-0.5, 0.5)
        following = (slow_actor(t) + noise).clamp(-1, 1)
        targets = r + 0.97 * torch.min(slow_critics[0](t, following), slow_critics[1](t, following))
    loss = sum(nn.functional.mse_loss(critic(s, a), targets) for critic in critics)
    critic_optimizer.zero_grad()
    loss.backward()
    critic_optimizer.step()
    if step % 2 == 0:
        actor_loss = -critics[0](s, actor(s)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        for slow, fast in ((slow_actor, actor), (slow_critics, critics)):
            for average, new in zip(slow.parameters(), fast.parameters(), strict=True):
                average.data.lerp_(new.data, 0.01)
    if step % 100 == 0:
        print(f"{step}: critics {loss.item():.3f}, actor {actor_loss.item():.3f}")
