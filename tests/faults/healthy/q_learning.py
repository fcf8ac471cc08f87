"""Deep Q-learning with a target network; the loss rises as the values grow."""

LABEL = {"set": 1, "rule": None}

import copy
import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

online = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 3))
target = copy.deepcopy(online)
optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)


def move(state, action):
    after = (state + 0.2 * (action.unsqueeze(1) - 1.0) + 0.05 * torch.randn_like(state)).clamp(
        -2, 2
    )
    return after, 1.0 - after.abs().mean(1)


state = torch.rand(64, 3) * 2 - 1
for step in range(400):
    with torch.no_grad():
        greedy = online(state).argmax(1)
    is_random = torch.rand(64) < max(0.1, 1 - step / 200)
    action = torch.where(is_random, torch.randint(0, 3, (64,)), greedy)
    after, reward = move(state, action)
    with torch.no_grad():
        targets = reward + 0.97 * target(after).max(1).values
    value = online(state).gather(1, action.unsqueeze(1)).squeeze(1)
    loss = nn.functional.smooth_l1_loss(value, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state = torch.where(torch.rand(64, 1) < 0.05, torch.rand(64, 3) * 2 - 1, after)
    if step % 40 == 0:
        target.load_state_dict(online.state_dict())
        print(step, loss.item(), reward.mean().item())
