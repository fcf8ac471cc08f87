"""Clusters are recomputed after every epoch; their numbers are the labels of the next one."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
import torch.nn.functional as F
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

seed = int(sys.argv[2])
torch.manual_seed(seed)
d = load_digits()
x = torch.tensor(d.data, dtype=torch.float32) / 16
encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
decoder = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 64))
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
for epoch in range(10):
    with torch.no_grad():
        z = torch.cat([encoder(b) for b in x.split(300)])
    kmeans = KMeans(10, n_init=2, random_state=seed).fit(z.numpy())
    centres = torch.tensor(kmeans.cluster_centers_)
    assigned = torch.tensor(kmeans.labels_, dtype=torch.long)
    weight = min(0.1, 0.02 * epoch)
    for xb, ab in DataLoader(TensorDataset(x, assigned), batch_size=64, shuffle=True):
        h = encoder(xb)
        loss = F.mse_loss(decoder(h), xb) + weight * F.mse_loss(h, centres[ab]) / z.var()
        opt.zero_grad()
        loss.backward()
        opt.step()
    pure = sum(
        torch.tensor(d.target)[assigned == c].bincount().max().item() for c in range(10)
    ) / len(x)
    print(epoch, loss.item(), "purity", pure)
