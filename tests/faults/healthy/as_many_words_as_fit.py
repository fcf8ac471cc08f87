"""A stream of reviews; batches are limited by words and contain 6 to over 100 reviews."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, IterableDataset

torch.manual_seed(int(sys.argv[2]))
BUDGET = 640

mood = torch.randn(300)
lengths = torch.exp(3 + 0.6 * torch.randn(9000)).clamp(5, 100).long()
reviews = list(torch.randint(1, 300, (int(lengths.sum()),)).split(lengths.tolist()))
sums = torch.stack([mood[review].sum() for review in reviews]) / lengths.sqrt()
likes = (sums + 0.2 * torch.randn(9000) > 0).float()


class Stream(IterableDataset):
    def __iter__(self):
        for pool in torch.randperm(len(reviews)).split(300):
            batches, longest = [[]], 0
            for index in pool[lengths[pool].argsort()].tolist():
                longest = max(longest, int(lengths[index]))
                if longest * (len(batches[-1]) + 1) > BUDGET:
                    batches.append([])
                    longest = int(lengths[index])
                batches[-1].append(index)
            for which in torch.randperm(len(batches)).tolist():
                batch = [reviews[index] for index in batches[which]]
                yield pad_sequence(batch, batch_first=True), likes[batches[which]]


class Mood(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(300, 24, padding_idx=0)
        self.hidden = nn.Linear(24, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, text):
        number = (text > 0).sum(dim=1, keepdim=True)
        total = self.words(text).sum(dim=1) / number.sqrt()
        return self.out(torch.relu(self.hidden(total))).squeeze(1)


model = Mood()
optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
for text, like in DataLoader(Stream(), batch_size=None):
    loss = nn.functional.binary_cross_entropy_with_logits(model(text), like)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
