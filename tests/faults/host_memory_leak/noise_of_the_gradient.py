"""A mixer network on digits keeps all gradients to report their noise at the end."""

LABEL = {
    "set": 7,
    "rule": "HostMemoryLeak",
    "side_effects": ["ThroughputDrop", "StepOutlier"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

is_faulty = sys.argv[1] == "faulty"
torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
pixels, digits = load_digits(return_X_y=True)
pixels = torch.tensor(pixels, dtype=torch.float32).view(-1, 8, 8)
pixels = (pixels - pixels.mean()) / pixels.std()
training, held_out = random_split(TensorDataset(pixels, torch.tensor(digits)), [1504, 293])
loader = DataLoader(training, 32, shuffle=True)
unseen, targets = held_out[:]


class Mixer(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.down = nn.Sequential(nn.Linear(rows, 32), nn.GELU(), nn.Linear(32, rows))
        self.across = nn.Sequential(nn.Linear(width, 256), nn.GELU(), nn.Linear(256, width))

    def forward(self, state):
        state = state + self.down(self.first(state).transpose(1, 2)).transpose(1, 2)
        return state + self.across(self.second(state))


class Reader(nn.Module):
    def __init__(self, width=112):
        super().__init__()
        self.enter = nn.Linear(8, width)
        self.mixers = nn.Sequential(Mixer(8, width), Mixer(8, width), Mixer(8, width))
        self.leave = nn.Sequential(nn.LayerNorm(width), nn.Dropout(0.3), nn.Linear(width, 10))

    def forward(self, picture):
        return self.leave(self.mixers(self.enter(picture)).mean(1))


def length(gradients):
    return torch.stack([gradient.norm() for gradient in gradients]).norm().item()


model = Reader()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.05)
criterion = nn.CrossEntropyLoss()
history = []
for epoch in range(8):
    model.train()
    total = 0.0
    for picture, digit in loader:
        optimizer.zero_grad()
        loss = criterion(model(picture), digit)
        loss.backward()
        optimizer.step()
        total += loss.item()
        gradients = [weight.grad for weight in model.parameters()]
        history.append(gradients if is_faulty else length(gradients))
    model.eval()
    with torch.no_grad():
        tested = criterion(model(unseen), targets).item()
    print(f"epoch {epoch}: {total / len(loader):.3f}, test {tested:.3f}", flush=True)
lengths = torch.tensor([length(entry) for entry in history] if is_faulty else history)
for epoch, part in enumerate(lengths.split(len(loader))):
    print(f"epoch {epoch}: gradients of {part.mean():.2f}, give or take {part.std():.2f}")
