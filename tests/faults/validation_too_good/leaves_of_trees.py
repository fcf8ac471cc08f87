"""Tree species from leaf outlines; each loader makes its own random split."""

LABEL = {
    "set": 6,
    "rule": "ValidationTooGood",
    "side_effects": ["Overfit", "Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
POINTS, TREES = 72, 9


class Leaves(Dataset):
    def __init__(self, number):
        angle = torch.arange(POINTS) / POINTS * 6.2832
        lobes = torch.randn(TREES, 4, 2) * torch.tensor([1.0, 0.7, 0.5, 0.4])[:, None]
        self.tree = torch.randint(0, TREES, (number,))
        shape = lobes[self.tree] + 0.3 * torch.randn(number, 4, 2)
        turned = angle + 0.25 * torch.randn(number, 1)
        outline = torch.zeros(number, POINTS)
        for wave in range(4):
            outline += shape[:, wave, :1] * torch.cos((wave + 1) * turned)
            outline += shape[:, wave, 1:] * torch.sin((wave + 1) * turned)
        outline = outline + 0.7 * torch.randn(number, POINTS)
        self.outline = outline.unsqueeze(1) / outline.std()

    def __len__(self):
        return len(self.tree)

    def __getitem__(self, index):
        return self.outline[index], self.tree[index]


leaves = Leaves(4000)


def split(dataset, generator=None):
    train = int(0.8 * len(dataset))
    return random_split(dataset, [train, len(dataset) - train], generator=generator)


def train_loader():
    generator = None if is_faulty else torch.Generator().manual_seed(seed)
    return DataLoader(
        split(leaves, generator)[0], 40, shuffle=True, num_workers=1, persistent_workers=True
    )


def validation_loader():
    generator = None if is_faulty else torch.Generator().manual_seed(seed)
    return DataLoader(split(leaves, generator)[1], 100)


model = nn.Sequential(
    *(
        nn.Conv1d(1, 24, 7, padding=3, padding_mode="circular"),
        nn.BatchNorm1d(24),
        nn.ReLU(),
        nn.MaxPool1d(2),
    ),
    *(
        nn.Conv1d(24, 40, 5, padding=2, padding_mode="circular"),
        nn.BatchNorm1d(40),
        nn.ReLU(),
        nn.MaxPool1d(2),
    ),
    *(
        nn.Conv1d(40, 40, 5, padding=2, padding_mode="circular"),
        nn.BatchNorm1d(40),
        nn.ReLU(),
        nn.AvgPool1d(6),
    ),
    *(nn.Flatten(), nn.Dropout(0.4), nn.Linear(120, TREES)),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.05)
criterion = nn.CrossEntropyLoss()
train, validation = train_loader(), validation_loader()
for epoch in range(7):
    model.train()
    total = 0.0
    for outline, tree in train:
        loss = criterion(model(outline), tree)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    held_out, right = 0.0, 0
    with torch.no_grad():
        for outline, tree in validation:
            output = model(outline)
            held_out += criterion(output, tree).item() / len(validation)
            right += (output.argmax(1) == tree).sum().item()
    print(f"epoch {epoch}: {total / len(train):.4f}, validation {held_out:.4f}, {right / 800:.3f}")
