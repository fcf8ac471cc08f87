"""Each block has its own classifier and optimizer; no gradients flow between blocks."""

LABEL = {"set": 4, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(int(sys.argv[2]))

pixels, digits = load_digits(return_X_y=True)
images = torch.tensor(pixels, dtype=torch.float32).view(-1, 1, 8, 8)
images = (images - images.mean()) / images.std()
train, valid = random_split(TensorDataset(images, torch.tensor(digits)), [1440, 357])
train_loader = DataLoader(train, 48, shuffle=True)
valid_loader = DataLoader(valid, 119)


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()
        )
        self.aside = nn.Sequential(
            nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(4 * outputs, 10)
        )

    def forward(self, x):
        features = self.body(x)
        return features, self.aside(features)


blocks = nn.ModuleList([Block(1, 16), Block(16, 24), Block(24, 32)])
optimizers = [torch.optim.AdamW(block.parameters(), lr=2e-3) for block in blocks]
criterion = nn.CrossEntropyLoss()
for epoch in range(7):
    blocks.train()
    for image, digit in train_loader:
        features = image
        losses = []
        for block, optimizer in zip(blocks, optimizers, strict=True):
            features, guess = block(features.detach())
            loss = criterion(guess, digit)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(round(loss.item(), 3))
    blocks.eval()
    total = right = 0
    with torch.no_grad():
        for image, digit in valid_loader:
            features, guesses = image, 0
            for block in blocks:
                features, guess = block(features)
                guesses = guesses + guess / len(blocks)
            total += criterion(guesses, digit).item() / len(valid_loader)
            right += (guesses.argmax(dim=1) == digit).sum().item()
    print(epoch, losses, f"valid {total:.3f}, right {right / len(valid):.3f}")
