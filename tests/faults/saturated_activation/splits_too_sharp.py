"""Classify coffee by tasting notes with soft decision trees of too low a temperature."""

LABEL = {
    "set": 7,
    # over 90% of the sigmoid's inputs exceed 6, three in four exceed 20
    "rule": "SaturatedActivation",
    "side_effects": ["VanishingGradient", "Overfit", "Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
NOTES, SORTS, TREES, DEPTH = 14, 5, 8, 4
TEMPERATURE = 0.01 if is_faulty else 1.0


class Forest(nn.Module):
    """Soft decision trees: each sample reaches all leaves, each with a probability."""

    def __init__(self):
        super().__init__()
        inner, self.leaves = 2**DEPTH - 1, 2**DEPTH
        self.splits = nn.Linear(NOTES, TREES * inner)
        self.to_the_right = nn.Sigmoid()
        self.answers = nn.Linear(TREES * self.leaves, SORTS)

    def forward(self, notes):
        right = self.to_the_right(self.splits(notes) / TEMPERATURE).view(len(notes), TREES, -1)
        probabilities = torch.ones(len(notes), TREES, 1)
        for level in range(DEPTH):
            chance = right[:, :, 2**level - 1 : 2 ** (level + 1) - 1]
            probabilities = torch.stack(
                [probabilities * (1 - chance), probabilities * chance], 3
            ).flatten(2)
        return self.answers(self.leaves**0.5 * probabilities.flatten(1))


def taste(number, centres, mixing):
    sort = torch.randint(0, SORTS, (number,))
    variety = torch.randint(0, 3, (number,))
    return (centres[sort, variety] + torch.randn(number, NOTES)) @ mixing / 1.6, sort


world = 1.2 * torch.randn(SORTS, 3, NOTES), torch.linalg.qr(torch.randn(NOTES, NOTES)).Q
train = DataLoader(TensorDataset(*taste(4000, *world)), 64, shuffle=True)
unseen, unseen_sort = taste(1000, *world)
model = Forest()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    total = 0.0
    for notes, sort in train:
        loss = criterion(model(notes), sort)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(train)
    model.eval()
    with torch.no_grad():
        output = model(unseen)
        held_out = criterion(output, unseen_sort).item()
        right = (output.argmax(1) == unseen_sort).float().mean().item()
        steep = (model.splits(unseen) / TEMPERATURE).abs()
    print(
        f"epoch {epoch}: {total:.4f}, validation {held_out:.4f}, {right:.1%} right;"
        f" beyond 6: {(steep > 6).float().mean():.1%}, beyond 20: {(steep > 20).float().mean():.1%}"
    )
