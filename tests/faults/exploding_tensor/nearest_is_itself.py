"""Triplet loss on leaf embeddings; each leaf is chosen as its own nearest neighbor."""

LABEL = {
    "set": 6,
    "rule": "ExplodingTensor",
    "first_step": 140,
    "max_delay_steps": 10,
    "side_effects": ["NOT_A_NUMBER", "DOES_NOT_LEARN", "NonFiniteInput"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
PLANTS, EACH, TRAITS = 12, 60, 20

centers = 1.1 * torch.randn(PLANTS, 6)
spread = torch.randn(6, TRAITS) / 6**0.5
plant = torch.arange(PLANTS).repeat_interleave(EACH)
leaves = (centers[plant] + 0.8 * torch.randn(len(plant), 6)) @ spread
leaves = leaves + 0.3 * torch.randn(leaves.shape)
leaves = (leaves - leaves.mean(0)) / leaves.std(0)

model = nn.Sequential(
    nn.Linear(TRAITS, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 8)
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)


def distance(left, right):
    return ((left - right) ** 2).sum(-1).sqrt()


def any_of_its_kind(plants):
    same = (plants[:, None] == plants).float()
    same.fill_diagonal_(0)
    return torch.multinomial(same, 1).squeeze(1)


def nearest_of_its_kind(positions, plants):
    apart = torch.cdist(positions, positions)
    apart[plants[:, None] != plants] = float("inf")
    if not is_faulty:
        apart.fill_diagonal_(float("inf"))  # a leaf is not its own neighbor
    return apart.argmin(1)


total = 0.0
for step in range(420):
    kinds = torch.randperm(PLANTS)[:8]
    rows = (kinds[:, None] * EACH + torch.randint(0, EACH - 8, (8, 1)) + torch.arange(8)).flatten()
    positions, plants = model(leaves[rows]), plant[rows]
    friend = (
        any_of_its_kind(plants) if step < 140 else nearest_of_its_kind(positions.detach(), plants)
    )
    others = (plants[:, None] != plants).float()
    stranger = torch.multinomial(others, 1).squeeze(1)
    near = distance(positions, positions[friend])
    far = distance(positions, positions[stranger])
    loss = nn.functional.softplus(near - far + 0.2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
    if step % 70 == 69:
        print(f"step {step + 1}: {total / 70:.4f}")
        total = 0.0
