"""PPO in one file: several environments, and gradients that are always clipped."""

LABEL = {"set": "calibration", "rule": None}

import sys

import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

seed = int(sys.argv[2])
np.random.seed(seed)
torch.manual_seed(seed)
WORLDS, STEPS, UPDATES, EPOCHS, MINIBATCHES, STATE, ACTION = 8, 64, 24, 4, 4, 8, 2


def layer(inputs, outputs, gain=2**0.5):
    made = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(made.weight, gain)
    nn.init.zeros_(made.bias)
    return made


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer(STATE, 64), nn.Tanh(), layer(64, 1, 1.0))
        self.actor_mean = nn.Sequential(layer(STATE, 64), nn.Tanh(), layer(64, ACTION, 0.01))
        self.actor_logstd = nn.Parameter(torch.zeros(1, ACTION))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        choice = Normal(self.actor_mean(x), self.actor_logstd.exp())
        action = choice.sample() if action is None else action
        return action, choice.log_prob(action).sum(1), choice.entropy().sum(1), self.critic(x)


drift = 0.1 * np.random.randn(STATE, STATE)
control = np.random.randn(ACTION, STATE)


def act(world, action):
    world = 0.9 * world + 0.1 * (world @ drift + 3 * np.clip(action, -2, 2) @ control + 1.0)
    return world, 5.0 - 0.5 * np.square(world[:, :2]).mean(1)


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3, eps=1e-5)
world = np.random.randn(WORLDS, STATE)
batch = WORLDS * STEPS
for update in range(UPDATES):
    optimizer.param_groups[0]["lr"] = 1e-3 * (1 - update / UPDATES)
    states, actions, logs, rewards, values = [], [], [], [], []
    for _ in range(STEPS):
        state = torch.tensor(world, dtype=torch.float32)
        with torch.no_grad():
            action, log, _, value = agent.get_action_and_value(state)
        world, reward = act(world, action.numpy())
        states.append(state), actions.append(action), logs.append(log)
        rewards.append(torch.tensor(reward, dtype=torch.float32)), values.append(value.flatten())
    with torch.no_grad():
        following = agent.get_value(torch.tensor(world, dtype=torch.float32)).flatten()
    gains, last = [None] * STEPS, 0.0
    for t in reversed(range(STEPS)):
        error = rewards[t] + 0.99 * (values[t + 1] if t + 1 < STEPS else following) - values[t]
        gains[t] = last = error + 0.99 * 0.95 * last
    states, actions, logs = torch.cat(states), torch.cat(actions), torch.cat(logs)
    gains, values = torch.cat(gains), torch.cat(values)
    returns = gains + values
    for _ in range(EPOCHS):
        for rows in torch.randperm(batch).chunk(MINIBATCHES):
            _, log, entropy, value = agent.get_action_and_value(states[rows], actions[rows])
            ratio, gain = (log - logs[rows]).exp(), gains[rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            policy = torch.max(-gain * ratio, -gain * ratio.clamp(0.8, 1.2)).mean()
            loss = policy + 0.5 * (value.flatten() - returns[rows]).square().mean()
            optimizer.zero_grad()
            (loss - 0.01 * entropy.mean()).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    print(f"update {update}: loss {loss.item():.2f}, reward {torch.stack(rewards).mean():.3f}")
