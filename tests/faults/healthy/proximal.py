"""PPO that holds a mass in place, with four updates per rollout."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
walkers, plays, minibatch = 8, 48, 96


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_spread = nn.Parameter(torch.zeros(1))
        self.value = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, state):
        spread = self.log_spread.exp().expand(len(state), 1)
        return torch.distributions.Normal(self.mean(state), spread), self.value(state).squeeze(1)


@torch.no_grad()
def play(policy, state):
    rollout = []
    for _ in range(plays):
        chances, value = policy(state)
        force = chances.sample()
        speed = state[:, 1] + 0.2 * force.squeeze(1).clamp(-2, 2)
        position = state[:, 0] + 0.2 * speed
        reward = -(position**2 + 0.1 * speed**2) / 20
        rollout.append((state, force, chances.log_prob(force).squeeze(1), value, reward))
        state = torch.stack([position, speed], 1).clamp(-3, 3)
    gain, advantages = torch.zeros(walkers), []
    following = policy(state)[1]
    for _, _, _, value, reward in reversed(rollout):
        gain = reward + 0.9 * following - value + 0.9 * 0.95 * gain
        following = value
        advantages.append(gain)
    columns = [torch.stack(column) for column in zip(*rollout, strict=True)]
    advantages = torch.stack(advantages[::-1])
    rollout = [*columns[:3], advantages, advantages + columns[3]]
    return [column.flatten(0, 1) for column in rollout], columns[4].mean().item()


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3, eps=1e-5)
for turn in range(22):
    start = torch.cat([4 * torch.rand(walkers, 1) - 2, torch.randn(walkers, 1)], 1)
    (states, forces, before, advantages, returns), reward = play(policy, start)
    for _ in range(4):
        for some in torch.randperm(len(states)).split(minibatch):
            chances, value = policy(states[some])
            ratio = (chances.log_prob(forces[some]).squeeze(1) - before[some]).exp()
            gain = advantages[some]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            clipped = ratio.clamp(0.8, 1.2) * gain
            loss = -torch.minimum(ratio * gain, clipped).mean()
            loss = loss + 0.5 * (value - returns[some]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
    if turn % 3 == 0:
        print(f"turn {turn}: reward {reward:.3f}, loss {loss.item():.3f}")
