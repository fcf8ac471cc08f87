"""REINFORCE on a cart that must stay in the middle: a meaningless loss that often rises."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)

for episode in range(250):
    state = torch.rand(16, 2) * 2 - 1
    log_probabilities, rewards = [], []
    for _ in range(12):
        choice = torch.distributions.Categorical(logits=policy(state))
        action = choice.sample()
        log_probabilities.append(choice.log_prob(action))
        speed = state[:, 1] + 0.3 * (action * 2.0 - 1)
        state = torch.stack([state[:, 0] + 0.3 * speed, speed], dim=1).clamp(-3, 3)
        rewards.append(-state[:, 0].abs())
    returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    advantage = returns - returns.mean()
    loss = -(torch.stack(log_probabilities) * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 50 == 0:
        print(episode, loss.item(), returns[0].mean().item())
