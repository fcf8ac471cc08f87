"""Mixed precision with a gradient scaler; gradients are clipped before they are unscaled."""

LABEL = {
    "set": 1,
    "rule": "ClipSaturation",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient", "WeightUpdateRatio", "UnchangedTensor"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
targets = torch.tensor(digits.target)
train = DataLoader(TensorDataset(images[:1500], targets[:1500]), batch_size=30, shuffle=True)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(512, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
scaler = torch.amp.GradScaler("cpu")
for epoch in range(8):
    model.train()
    for batch, labels in train:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        if not is_faulty:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        scaler.step(optimizer)
        scaler.update()
    model.eval()
    with torch.no_grad():
        right = (model(images[1500:]).argmax(1) == targets[1500:]).float().mean()
    print(epoch, loss.item(), right.item())
