"""A dataset decodes and augments each image in pure Python, in the training process."""

LABEL = {
    "set": 1,
    "rule": "DataLoaderStarvation",
    "side_effects": ["Dataloader", "HotFunction"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def decode(index):
    """Decode an image in about a millisecond, like a small JPEG."""
    values, state = [], index * 7919 + 17
    for _ in range(192):
        for _ in range(20):
            state = (state * 1103515245 + 12345) % 2147483648
        values.append(state / 1073741824 - 1)
    return torch.tensor(values).view(3, 8, 8)


class Pictures(Dataset):
    def __init__(self, count):
        self.labels = torch.randint(0, 2, (count,))
        self.decoded = None if is_faulty else [decode(index) for index in range(count)]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        picture = self.decoded[index] if self.decoded else decode(index)
        return picture + self.labels[index], self.labels[index]


loader = DataLoader(Pictures(400), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
