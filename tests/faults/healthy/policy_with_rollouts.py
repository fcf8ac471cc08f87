"""PPO: rollouts without gradients, then several epochs over each."""

LABEL = {"set": "calibration", "rule": None}

import sys

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(int(sys.argv[2]))
COPIES, LENGTH, STATE = 4, 64, 6


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(STATE, 64), nn.Tanh(), nn.Linear(64, 1))
        self.actor = nn.Sequential(nn.Linear(STATE, 64), nn.Tanh(), nn.Linear(64, 3))

    def get_value(self, states):
        return self.critic(states).squeeze(-1)

    def get_action(self, states, actions=None):
        choices = Categorical(logits=self.actor(states))
        actions = choices.sample() if actions is None else actions
        return actions, choices.log_prob(actions), choices.entropy(), self.get_value(states)


push = 0.3 * torch.randn(3, STATE)


def world(states, actions):
    moved = 0.97 * states + push[actions] + 0.05 * torch.randn_like(states)
    return moved, -moved[:, :2].abs().sum(dim=1) * 10


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
states = torch.randn(COPIES, STATE)
for update in range(25):
    rows = []
    for _ in range(LENGTH):
        with torch.no_grad():
            actions, logs, _, values = agent.get_action(states)
        following, rewards = world(states, actions)
        rows.append((states, actions, logs, values, rewards))
        states = following
    with torch.no_grad():
        later = agent.get_value(states)
    returns, total = [], later
    for row in reversed(rows):
        total = row[4] + 0.97 * total
        returns.insert(0, total)
    columns = [torch.cat(column) for column in zip(*rows, strict=True)]
    old_states, old_actions, old_logs, old_values, _ = columns
    returns = torch.cat(returns)
    advantages = returns - old_values
    for _ in range(4):
        for chosen in torch.randperm(COPIES * LENGTH).chunk(4):
            _, logs, entropy, values = agent.get_action(old_states[chosen], old_actions[chosen])
            ratio = (logs - old_logs[chosen]).exp()
            gain = advantages[chosen]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            policy = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            error = (values - returns[chosen]).square().mean()
            loss = policy - 0.01 * entropy.mean() + 0.5 * error
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    print(f"update {update}: loss {loss.item():.3f}, mean return {returns.mean().item():.2f}")
