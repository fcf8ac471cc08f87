"""Two optimizers: layers are updated after every batch, embeddings after every fourth."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

readers, books = 200, 150
taste, style = torch.randn(readers, 6), torch.randn(books, 6)


class Recommender(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.readers = nn.Embedding(readers, width)
        self.books = nn.Embedding(books, width)
        self.layers = nn.Sequential(nn.Linear(3 * width, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, reader, book):
        reader, book = self.readers(reader), self.books(book)
        return self.layers(torch.cat([reader, book, reader * book], 1)).squeeze(1)


model = Recommender()
tables = [*model.readers.parameters(), *model.books.parameters()]
for table in tables:
    nn.init.normal_(table, std=0.3)
fast = torch.optim.AdamW(model.layers.parameters(), lr=2e-3)
slow = torch.optim.Adagrad(tables, lr=0.1)
average = None
for step in range(800):
    reader = torch.randint(0, readers, (128,))
    book = torch.randint(0, books, (128,))
    liked = ((taste[reader] * style[book]).sum(1) + 0.5 * torch.randn(128) > 0).float()
    loss = nn.functional.binary_cross_entropy_with_logits(model(reader, book), liked)
    fast.zero_grad()
    (loss / 4).backward()
    fast.step()
    if step % 4 == 3:
        slow.step()
        slow.zero_grad()
    average = loss.item() if average is None else 0.98 * average + 0.02 * loss.item()
    if step % 100 == 99:
        print(f"{step + 1}: {average:.4f}")
