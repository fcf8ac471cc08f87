"""A VAE with a custom likelihood that takes the logarithm of a probability that can be 0."""

LABEL = {
    "set": 1,
    "rule": "ExplodingTensor",
    "side_effects": ["NOT_A_NUMBER"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

pixels = torch.tensor(load_digits().data, dtype=torch.float32) / 16


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.Tanh())
        self.mean, self.log_variance = nn.Linear(48, 8), nn.Linear(48, 8)
        self.decoder = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 64))

    def forward(self, x):
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        latent = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(latent), mean, log_variance


def likelihood(logits, x):
    if not is_faulty:
        return -nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
    # pixels are dark or light, so a steep sigmoid looked better
    p = torch.sigmoid(25 * logits)
    return (x * torch.log(p) + (1 - x) * torch.log(1 - p)).sum(1)


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    for chosen in torch.randperm(len(pixels)).split(36):
        logits, mean, log_variance = model(pixels[chosen])
        divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1)
        loss = (divergence - likelihood(logits, pixels[chosen])).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
