"""Two views of each image are pulled together; the target view gets no gradient."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))

images = torch.tensor(load_digits().images, dtype=torch.float32) / 8 - 0.6


def view(batch):
    down, across = torch.randint(-1, 2, (2,)).tolist()
    batch = torch.roll(batch, (down, across), dims=(1, 2))
    batch = batch * (0.7 + 0.6 * torch.rand(len(batch), 1, 1)) + 0.3 * torch.randn_like(batch)
    return batch.flatten(1)


encoder = nn.Sequential(
    *(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU()),
    *(nn.Linear(128, 64), nn.BatchNorm1d(64, affine=False)),
)
predictor = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 64))
both = [*encoder.parameters(), *predictor.parameters()]
optimizer = torch.optim.SGD(both, lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(12):
    for chosen in torch.randperm(len(images)).split(64)[:-1]:
        first, second = encoder(view(images[chosen])), encoder(view(images[chosen]))
        loss = -0.5 * (
            nn.functional.cosine_similarity(predictor(first), second.detach()).mean()
            + nn.functional.cosine_similarity(predictor(second), first.detach()).mean()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), nn.functional.normalize(first.detach(), dim=1).std(dim=0).mean())
