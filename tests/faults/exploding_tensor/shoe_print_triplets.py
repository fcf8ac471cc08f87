"""Triplet embeddings of shoe prints; the square root has no gradient at distance 0."""

LABEL = {
    "set": 5,
    "rule": "ExplodingTensor",
    "side_effects": ["NOT_A_NUMBER", "DOES_NOT_LEARN", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SHOES, PRINTS, SIZE = 30, 80, 40

soles = torch.randn(SHOES, SIZE)
prints = (soles[:, None] + 1.3 * torch.randn(SHOES, PRINTS, SIZE)) / 1.64
held_out = (soles[:, None] + 1.3 * torch.randn(SHOES, 10, SIZE)) / 1.64

encoder = nn.Sequential(
    nn.Linear(SIZE, 96), nn.LeakyReLU(0.1), nn.Linear(96, 96), nn.LeakyReLU(0.1), nn.Linear(96, 16)
)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)


def distance(a, b):
    squares = (a - b).square().sum(1)
    return squares.sqrt() if is_faulty else (squares + 1e-6).sqrt()


def triplets(number):
    shoe = torch.randint(SHOES, (number,))
    other = (shoe + torch.randint(1, SHOES, (number,))) % SHOES
    # Sometimes, both prints of a shoe are the same.
    first, second, third = torch.randint(PRINTS, (3, number))
    return prints[shoe, first], prints[shoe, second], prints[other, third]


def nearest_is_right():
    with torch.no_grad():
        centres = encoder(prints.flatten(0, 1)).view(SHOES, PRINTS, -1).mean(1)
        nearest = torch.cdist(encoder(held_out.flatten(0, 1)), centres).argmin(1)
    return (nearest == torch.arange(SHOES).repeat_interleave(10)).float().mean().item()


BATCH = 12
for step in range(700):
    anchor, same, different = map(encoder, triplets(BATCH))
    loss = (distance(anchor, same) - distance(anchor, different) + 1).relu().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 70 == 0:
        print(f"{step}: loss {loss.item():.3f}")
print(f"recognized: {nearest_is_right():.2f}")
