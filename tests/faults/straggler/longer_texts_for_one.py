"""Two workers; texts were distributed by length, and the second one has the long ones."""

LABEL = {
    "set": 1,
    "rule": "Straggler",
    "culprit": "worker 1",
    "workers": 2,
}

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(seed)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 32)
        self.lstm = nn.LSTM(32, 48, batch_first=True)
        self.out = nn.Linear(48, 2)

    def forward(self, texts):
        return self.out(self.lstm(self.words(texts))[0].mean(1))


model = DistributedDataParallel(Reader())
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
lengths = (8, 100) if is_faulty else (20, 20)
torch.manual_seed(seed + 100 * (rank + 1))
for step in range(160):
    texts = torch.randint(0, 50, (24, lengths[rank]))
    labels = (texts[:, :8].float().mean(1) > 24.5).long()
    texts[:, 8:] = 49  # the end of a letter, without information
    loss = nn.functional.cross_entropy(model(texts), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39 and rank == 0:
        print(step, loss.item())
dist.destroy_process_group()
