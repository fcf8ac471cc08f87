"""Sixteen agents walk to a goal on a grid; actor and critic share a network."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

moves = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


class Grid:
    def __init__(self, walkers=16, size=7):
        self.size = size
        self.where = torch.randint(0, size, (walkers, 2))
        self.goal = torch.randint(0, size, (walkers, 2))

    def seen(self):
        return torch.cat([self.where, self.goal], 1).float() / 3 - 1

    def walk(self, actions):
        self.where = (self.where + moves[actions]).clamp(0, self.size - 1)
        arrived = (self.where == self.goal).all(1)
        self.goal[arrived] = torch.randint(0, self.size, (int(arrived.sum()), 2))
        return arrived.float() - 0.02, arrived


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor = nn.Linear(64, 4)
        self.critic = nn.Linear(64, 1)

    def forward(self, seen):
        hidden = self.body(seen)
        return torch.distributions.Categorical(logits=self.actor(hidden)), self.critic(hidden)


grid = Grid()
agent = Agent()
optimizer = torch.optim.RMSprop(agent.parameters(), lr=1e-3, alpha=0.99)
average = 0.0
for update in range(360):
    chances, values, rewards, ends, entropies = [], [], [], [], []
    for _ in range(5):
        policy, value = agent(grid.seen())
        action = policy.sample()
        reward, end = grid.walk(action)
        chances.append(policy.log_prob(action))
        entropies.append(policy.entropy())
        values.append(value.squeeze(1))
        rewards.append(reward)
        ends.append(end)
    with torch.no_grad():
        future = agent(grid.seen())[1].squeeze(1)
    returns = []
    for reward, end in zip(reversed(rewards), reversed(ends), strict=True):
        future = reward + 0.95 * future * (~end)
        returns.append(future)
    advantage = torch.stack(returns[::-1]) - torch.stack(values)
    loss = -(advantage.detach() * torch.stack(chances)).mean() + 0.5 * advantage.pow(2).mean()
    loss = loss - 0.01 * torch.stack(entropies).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
    average += 0.02 * (torch.stack(rewards).mean().item() - average)
    if update % 60 == 59:
        print(f"{update + 1}: reward {average:.3f}, loss {loss.item():.3f}")
