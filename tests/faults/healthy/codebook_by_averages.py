"""An autoencoder whose codebook is updated by moving averages instead of an optimizer."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))


class Codebook(nn.Module):
    def __init__(self, codes=24, width=8):
        super().__init__()
        self.register_buffer("vectors", 0.3 * torch.randn(codes, width))
        self.register_buffer("counts", torch.ones(codes))
        self.register_buffer("sums", self.vectors.clone())

    @torch.no_grad()
    def follow(self, inputs, chosen):
        used = nn.functional.one_hot(chosen, len(self.vectors)).float()
        self.counts.lerp_(used.sum(0), 0.05)
        self.sums.lerp_(used.T @ inputs, 0.05)
        self.vectors.copy_(self.sums / self.counts.clamp(min=0.05).unsqueeze(1))
        unused = self.counts < 0.1
        if unused.any():
            rows = torch.randint(0, len(inputs), (int(unused.sum()),))
            self.vectors[unused] = inputs[rows]
            self.sums[unused] = inputs[rows]
            self.counts[unused] = 1.0

    def forward(self, inputs):
        flat = inputs.flatten(0, 1)
        chosen = torch.cdist(flat, self.vectors).argmin(1)
        coded = self.vectors[chosen].view_as(inputs)
        if self.training:
            self.follow(flat, chosen)
        return inputs + (coded - inputs).detach(), (inputs - coded.detach()).pow(2).mean()


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32))
        self.codebook = Codebook()
        self.decoder = nn.Sequential(nn.Linear(32, 96), nn.SiLU(), nn.Linear(96, 64))

    def forward(self, images):
        coded, distance = self.codebook(self.encoder(images).view(-1, 4, 8))
        return self.decoder(coded.flatten(1)), distance


images = torch.tensor(load_digits().data, dtype=torch.float32)
images = (images - images.mean()) / images.std()
loader = DataLoader(TensorDataset(images), batch_size=48, shuffle=True, drop_last=True)
model = Coder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    for (batch,) in loader:
        rebuilt, distance = model(batch)
        loss = nn.functional.mse_loss(rebuilt, batch) + 0.25 * distance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
