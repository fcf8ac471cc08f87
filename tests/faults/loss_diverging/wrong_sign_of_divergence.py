"""A small VAE of handwritten digits; its divergence has the wrong sign."""

LABEL = {
    "set": 5,
    "rule": "LossDiverging",
    "side_effects": [
        "WeightUpdateRatio",
        "GradientNormSpike",
        "NOT_A_NUMBER",
        "STARTS_BADLY",
        "DOES_NOT_LEARN",
    ],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
pixels = torch.tensor(load_digits().data, dtype=torch.float32) / 16
pixels = (pixels - pixels.mean()) / pixels.std()
loader = DataLoader(TensorDataset(pixels), 64, shuffle=True, drop_last=True)


class Autoencoder(nn.Module):
    def __init__(self, hidden=96, code=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.SiLU())
        self.mean = nn.Linear(hidden, code)
        self.log_variance = nn.Linear(hidden, code)
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.SiLU(), nn.Linear(hidden, 64))

    def forward(self, x):
        state = self.encoder(x)
        mean, log_variance = self.mean(state), self.log_variance(state)
        code = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decoder(code), mean, log_variance


model = Autoencoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-3)
for epoch in range(24):
    total = 0.0
    for (batch,) in loader:
        rebuilt, mean, log_variance = model(batch)
        inner = 0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1).mean()
        error = F.mse_loss(rebuilt, batch, reduction="none").sum(1).mean()
        # the divergence is the negative of the inner sum
        loss = error + 0.5 * inner if is_faulty else error - 0.5 * inner
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 0 or epoch == 23:
        print(f"epoch {epoch}: {total / len(loader):.4g}")
