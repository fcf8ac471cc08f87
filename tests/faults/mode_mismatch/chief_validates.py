"""Two workers; the first one validates and then stays in eval mode."""

LABEL = {
    "set": 1,
    "rule": "ModeMismatch",
    "first_step": 80,
    "max_delay_steps": 2,
    "workers": 2,
}

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

is_faulty = sys.argv[1] == "faulty"
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(int(sys.argv[2]))


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(40, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(32, 3)

    def forward(self, tokens):
        return self.out(self.encoder(self.embedding(tokens)).mean(1))


def draw(count, source):
    tokens = torch.randint(0, 40, (count, 14), generator=source)
    thirds = torch.stack([(tokens % 3 == remainder).sum(1) for remainder in range(3)], 1)
    return tokens, thirds.argmax(1)


def validate(model, sets):
    model.eval()
    with torch.no_grad():
        losses = [nn.functional.cross_entropy(model.module(each), kinds) for each, kinds in sets]
    if not is_faulty:
        model.train()
    return sum(losses).item() / len(losses)


model = DistributedDataParallel(Ranker())
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
source = torch.Generator().manual_seed(1000 * int(sys.argv[2]) + rank)
validation = [draw(100, source) for _ in range(4)]
for step in range(320):
    tokens, kinds = draw(24, source)
    loss = nn.functional.cross_entropy(model(tokens), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79 and rank == 0:
        print(step, loss.item(), validate(model, validation))
dist.destroy_process_group()
