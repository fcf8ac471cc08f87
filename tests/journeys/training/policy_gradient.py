"""Reinforcement learning: an agent walks a corridor and learns where the reward is."""

import torch
from telling import begin, tell, tell_end
from torch import nn
from torch.distributions import Categorical

begin()
policy = nn.Sequential(nn.Linear(9, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
baseline = 0.0


def episode() -> tuple[list[torch.Tensor], float]:
    """Walks until an end of the corridor or the last move; the right end pays."""
    path, chances = 4, []
    while 0 < path < 8 and len(chances) < 30:
        choice = Categorical(logits=policy(nn.functional.one_hot(torch.tensor(path), 9).float()))
        move = choice.sample()
        chances.append(choice.log_prob(move))
        path += 1 if move.item() else -1
    return chances, (1.0 if path == 8 else 0.0) - 0.01 * len(chances)


for step in range(20):
    losses, rewards = [], []
    for _ in range(3):
        chances, reward = episode()
        losses.append(-torch.stack(chances).sum() * (reward - baseline))
        rewards.append(reward)
    baseline += 0.1 * (sum(rewards) / 3 - baseline)
    optimizer.zero_grad()
    loss = torch.stack(losses).mean()
    loss.backward()
    optimizer.step()
    tell("loss", loss)
    tell("reward", sum(rewards))

with torch.no_grad():  # plays without learning
    tell("played", sum(episode()[1] for _ in range(5)))
tell_end(policy, optimizer)
