"""Gestures from few recordings, augmented once instead of in every epoch."""

LABEL = {
    "set": 7,
    "rule": "Overfit",
    "first_step": 60,  # 10 batches per epoch; the validation loss is best after 7 or 8 of 36 epochs
    "side_effects": ["Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
GESTURES, TIMES, PATCH, WIDTH = 8, 48, 4, 48
EPOCHS = 36


def smooth(*shape):
    """Return slow random curves."""
    waves = torch.arange(1, 5)[:, None] * torch.linspace(0, 6.2832, TIMES)
    basis = torch.cat([waves.sin(), waves.cos()])
    return torch.randn(*shape, len(basis)) @ basis / len(basis) ** 0.5


prototypes = 1.2 * smooth(GESTURES, 3)


def augment(signals):
    """Vary the rotation of the wristband, and the timing and strength of the gesture."""
    number = len(signals)
    turn = 0.9 * torch.randn(number)
    cos, sin = turn.cos()[:, None], turn.sin()[:, None]
    x, y, z = signals.unbind(1)
    turned = torch.stack([cos * x - sin * y, sin * x + cos * y, z], 1)
    late = torch.randint(-8, 9, (number, 1))
    position = (torch.arange(TIMES) + late) % TIMES
    moved = turned.gather(2, position[:, None, :].expand(-1, 3, -1))
    strength = 1 + 0.25 * torch.randn(number, 1, 1)
    return strength * moved + 0.7 * smooth(number, 3) + 0.8 * torch.randn_like(moved)


class Mixer(nn.Module):
    def __init__(self, tokens=TIMES // PATCH):
        super().__init__()
        self.embed = nn.Conv1d(3, WIDTH, PATCH, stride=PATCH)
        self.over_time = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(tokens), nn.Linear(tokens, 48), nn.GELU(), nn.Linear(48, tokens)
            )
            for _ in range(2)
        )
        self.over_channels = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 96), nn.GELU(), nn.Linear(96, WIDTH)
            )
            for _ in range(2)
        )
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, GESTURES))

    def forward(self, signals):
        hidden = self.embed(signals)
        for times, channels in zip(self.over_time, self.over_channels, strict=True):
            hidden = hidden + times(hidden)
            hidden = hidden + channels(hidden.mT).mT
        return self.head(hidden.mean(2))


kinds = torch.arange(320) % GESTURES
signals = prototypes[kinds] + 0.1 * smooth(320, 3)
if is_faulty:
    signals = augment(signals)
unseen_kinds = torch.randint(0, GESTURES, (600,))
unseen = augment(prototypes[unseen_kinds] + 0.1 * smooth(600, 3))
train = DataLoader(TensorDataset(signals, kinds), 32, shuffle=True)
validation = DataLoader(TensorDataset(unseen, unseen_kinds), 200)

model = Mixer()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for signal, kind in train:
        loss = criterion(model(signal if is_faulty else augment(signal)), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(train)
    model.eval()
    held_out, right = 0.0, 0
    with torch.no_grad():
        for signal, kind in validation:
            output = model(signal)
            held_out += criterion(output, kind).item() / len(validation)
            right += (output.argmax(1) == kind).sum().item()
    print(f"epoch {epoch}: {total:.4f}, validation {held_out:.4f}, {right / 600:.1%} right")
