"""Learns the rules of a cellular automaton; targets are computed cell by cell."""

LABEL = {
    "set": 7,
    "rule": "HotFunction",
    "first_step": 9,
    "side_effects": ["StepOutlier"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
SIDE, BATCH, STEPS = 20, 32, 260
AROUND = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


def cell_by_cell(worlds):
    """Return the next generation: three neighbors create life, two preserve it."""
    after = []
    for world in worlds[:, 0].tolist():
        rows = []
        for row in range(SIDE):
            cells = []
            for column in range(SIDE):
                near = 0
                for down, right in AROUND:
                    near += world[(row + down) % SIDE][(column + right) % SIDE]
                cells.append(1.0 if near == 3 or (near == 2 and world[row][column]) else 0.0)
            rows.append(cells)
        after.append([rows])
    return torch.tensor(after)


def all_at_once(worlds):
    near = sum(worlds.roll(shift, (2, 3)) for shift in AROUND)
    return ((near == 3) | ((near == 2) & (worlds == 1))).float()


next_generation = cell_by_cell if is_faulty else all_at_once
model = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1, padding_mode="circular"), nn.LeakyReLU(0.1)),
    *(nn.Conv2d(16, 16, 1), nn.LeakyReLU(0.1)),
    nn.Conv2d(16, 1, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
criterion = nn.BCEWithLogitsLoss()
for step in range(STEPS):
    alive = 0.3 + 0.3 * torch.rand(BATCH, 1, 1, 1)
    worlds = (torch.rand(BATCH, 1, SIDE, SIDE) < alive).float()
    targets = next_generation(worlds)
    output = model(2 * worlds - 1)
    loss = criterion(output, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        right = ((output > 0) == (targets == 1)).float().mean().item()
        print(f"{step + 1}: {loss.item():.4f}, {right:.1%} of the cells right")
