"""Policy gradient: an agent walks a corridor and learns where the reward is."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.distributions import Categorical

seed_all()
policy = nn.Sequential(nn.Linear(9, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
baseline = 0.0


def episode() -> tuple[list[torch.Tensor], float]:
    """Play until an end of the corridor or the last move; the right end has the reward."""
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
    print_value("loss", loss)
    print_value("reward", sum(rewards))

with torch.no_grad():  # evaluation without training
    print_value("played", sum(episode()[1] for _ in range(5)))
print_final_state(policy, optimizer)
