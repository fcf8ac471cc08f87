"""Part-of-speech tagging that also evaluates a moving average of the model in each epoch."""

LABEL = {"set": 7, "rule": None}

import sys

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
WORDS, PARTS, LENGTH, EPOCHS = 60, 6, 16, 10
follow = torch.softmax(1.5 * torch.randn(PARTS, PARTS), 1)
speak = torch.softmax(1.8 * torch.randn(PARTS, WORDS), 1)


def sentences(number):
    part = torch.randint(0, PARTS, (number,))
    parts, words = [], []
    for _ in range(LENGTH):
        part = follow[part].multinomial(1).squeeze(1)
        parts.append(part)
        words.append(speak[part].multinomial(1).squeeze(1))
    return torch.stack(words, 1), torch.stack(parts, 1)


class Tagger(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.drop = nn.Dropout(0.2)
        self.reader = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, PARTS)

    def forward(self, words):
        return self.head(self.drop(self.reader(self.drop(self.words(words)))[0]))


def judge(network):
    network.eval()
    off, right = 0.0, 0
    with torch.no_grad():
        for words, parts in validation:
            output = network(words).flatten(0, 1)
            off += criterion(output, parts.flatten()).item() / len(validation)
            right += (output.argmax(1) == parts.flatten()).sum().item()
    return f"{off:.4f} ({right / (400 * LENGTH):.1%})"


train = DataLoader(TensorDataset(*sentences(2000)), 40, shuffle=True)
validation = DataLoader(TensorDataset(*sentences(400)), 100)
model = Tagger()
copy = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for words, parts in train:
        loss = criterion(model(words).flatten(0, 1), parts.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        copy.update_parameters(model)
        total += loss.item() / len(train)
    print(f"epoch {epoch}: {total:.4f}, validation {judge(model)}, its average {judge(copy)}")
