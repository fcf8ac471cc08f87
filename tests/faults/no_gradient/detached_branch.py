"""Features of two towers are joined; a detach left over from debugging cuts off one tower."""

LABEL = {
    "set": 1,
    "rule": "NoGradient",
    "culprit": "image.",
    "first_step": 6,
    "max_delay_steps": 2,
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.text = nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.Linear(32, 16))
        self.image = nn.Sequential(nn.Linear(40, 32), nn.GELU(), nn.Linear(32, 16))
        self.join = nn.Linear(32, 3)

    def forward(self, text, image):
        seen = self.image(image)
        if is_faulty:
            seen = seen.detach()
        return self.join(torch.cat([self.text(text), seen], dim=1))


text, image = torch.randn(3000, 20), torch.randn(3000, 40)
score = text[:, :3] + image[:, :3] + 0.3 * torch.randn(3000, 3)
loader = DataLoader(TensorDataset(text, image, score.argmax(1)), batch_size=50, shuffle=True)

model = TwoTowers()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    total = 0.0
    for left, right, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(left, right), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.3f}")
