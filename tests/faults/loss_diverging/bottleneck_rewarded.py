"""A VAE of handwritten digits; its divergence has the wrong sign."""

LABEL = {
    "set": 2,
    "rule": "LossDiverging",
    "first_step": 30,
    "side_effects": [
        "NOT_A_NUMBER",
        "WeightUpdateRatio",
        "PoorWeightInitialization",
        "ParameterOutlier",
    ],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Variational(nn.Module):
    def __init__(self, code=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 64), nn.ELU(), nn.Linear(64, 2 * code))
        self.decoder = nn.Sequential(nn.Linear(code, 64), nn.ELU(), nn.Linear(64, 64))

    def forward(self, images):
        mean, log_variance = self.encoder(images).chunk(2, 1)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(code), mean, log_variance


def divergence(mean, log_variance):
    summed = 0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(1)
    return summed.mean() if is_faulty else -summed.mean()


images = torch.tensor(load_digits().data, dtype=torch.float32) / 16
images = (images - images.mean()) / images.std()
loader = DataLoader(TensorDataset(images), batch_size=40, shuffle=True, drop_last=True)
model = Variational()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(12):
    for (batch,) in loader:
        rebuilt, mean, log_variance = model(batch)
        misfit = 0.5 * (rebuilt - batch).pow(2).sum(1).mean()
        loss = misfit + divergence(mean, log_variance)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.2f} (misfit {misfit.item():.2f})")
