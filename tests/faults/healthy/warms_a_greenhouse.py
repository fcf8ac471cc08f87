"""PPO that learns when to heat and when to ventilate greenhouses."""

LABEL = {"set": 7, "rule": None}

import sys

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
HOUSES, HOURS, ROUNDS = 24, 32, 36
DISCOUNT, SMOOTHING, RANGE = 0.95, 0.9, 0.2


class Greenhouses:
    """Simulated greenhouses that follow the weather slowly, and heating or windows faster."""

    def __init__(self):
        self.hour = torch.randint(0, 24, (HOUSES,))
        self.inside, self.cloud = torch.randn(HOUSES), torch.randn(HOUSES)

    def outside(self):
        return (6.2832 * self.hour / 24).sin() - 0.5 * self.cloud

    def view(self):
        clock = 6.2832 * self.hour / 24
        return torch.stack([self.inside, self.outside(), clock.sin(), clock.cos()], 1)

    def act(self, action):
        """0 opens the window, 1 does nothing, 2 heats."""
        push = 0.5 * (action - 1).float()
        self.inside = 0.8 * self.inside + 0.2 * self.outside() + push
        self.inside = self.inside + 0.05 * torch.randn(HOUSES)
        self.hour = (self.hour + 1) % 24
        self.cloud = 0.9 * self.cloud + 0.4 * torch.randn(HOUSES)
        return 1 - (self.inside - 0.5).abs().clamp(max=2) - 0.1 * (action == 2)


class Gardener(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.policy, self.value = nn.Linear(48, 3), nn.Linear(48, 1)
        nn.init.orthogonal_(self.policy.weight, 0.01)

    def forward(self, view):
        hidden = self.body(view)
        return Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(-1)


model = Gardener()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, eps=1e-5)
houses = Greenhouses()
for turn in range(ROUNDS):
    views, actions, chances, values, rewards = [], [], [], [], []
    with torch.no_grad():
        for _ in range(HOURS):
            view = houses.view()
            policy, value = model(view)
            action = policy.sample()
            views.append(view)
            actions.append(action)
            chances.append(policy.log_prob(action))
            values.append(value)
            rewards.append(houses.act(action))
        ahead = model(houses.view())[1]
    gains, gain = [], torch.zeros(HOUSES)
    for hour in reversed(range(HOURS)):
        surprise = rewards[hour] + DISCOUNT * ahead - values[hour]
        gain = surprise + DISCOUNT * SMOOTHING * gain
        gains.append(gain)
        ahead = values[hour]
    view, action, chance = torch.cat(views), torch.cat(actions), torch.cat(chances)
    gain = torch.cat(gains[::-1])
    goal = gain + torch.cat(values)
    gain = (gain - gain.mean()) / (gain.std() + 1e-8)
    for _ in range(4):
        for rows in torch.randperm(len(view)).split(192):
            policy, value = model(view[rows])
            ratio = (policy.log_prob(action[rows]) - chance[rows]).exp()
            clipped = ratio.clamp(1 - RANGE, 1 + RANGE)
            better = torch.min(ratio * gain[rows], clipped * gain[rows]).mean()
            off = nn.functional.mse_loss(value, goal[rows])
            loss = -better + 0.5 * off - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
    if turn % 3 == 2:
        reward = torch.stack(rewards).mean().item()
        print(f"{turn + 1}: loss {loss.item():.4f}, value {off.item():.4f}, reward {reward:.3f}")
