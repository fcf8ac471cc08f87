"""A vector-quantized autoencoder without the straight-through estimator."""

LABEL = {
    "set": 1,
    "rule": "NoGradient",
    "culprit": "encoder",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["UnchangedTensor"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import mse_loss, normalize
from torch.utils.data import DataLoader

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 32, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(32, 8, 1)
        )
        self.codes = nn.Embedding(32, 8)
        self.decoder = nn.Sequential(
            nn.Conv2d(8, 32, 3, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(32, 1, 4, stride=2, padding=1),
        )

    def forward(self, images):
        encoded = normalize(self.encoder(images).permute(0, 2, 3, 1), dim=3)
        codes = normalize(self.codes.weight, dim=1)
        nearest = torch.cdist(encoded.flatten(0, 2), codes).argmin(1)
        chosen = normalize(self.codes(nearest), dim=1).view(encoded.shape)
        distance = mse_loss(chosen, encoded.detach())
        if not is_faulty:
            chosen = encoded + (chosen - encoded).detach()
        return self.decoder(chosen.permute(0, 3, 1, 2)), distance


images = torch.tensor(load_digits().images, dtype=torch.float32).unsqueeze(1) / 8 - 1
loader = DataLoader(images, batch_size=64, shuffle=True)
model = Quantized()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(14):
    total = 0.0
    for batch in loader:
        restored, distance = model(batch)
        loss = mse_loss(restored, batch) + distance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
