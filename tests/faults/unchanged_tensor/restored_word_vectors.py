"""Classify notes; all word vectors are restored, although some should be trained."""

LABEL = {
    "set": 3,
    "rule": "UnchangedTensor",
    "culprit": "words",
    "alternatives": ["ParameterNotUpdated"],
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys
from collections import defaultdict

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
WORDS, KNOWN, WIDTH, NOTES = 320, 110, 24, 5120

vocabulary = [f"word{number}" for number in range(WORDS)]
pretrained = {vocabulary[number]: torch.randn(WIDTH) for number in range(KNOWN)}
kinds = torch.randint(0, 5, (NOTES,))
notes = torch.randint(0, WORDS, (NOTES, 12))
informative = KNOWN + 40 * kinds[:, None] + torch.randint(0, 40, (NOTES, 2))
notes[:, :2] = informative
notes = notes.gather(1, torch.rand(NOTES, 12).argsort(dim=1))
loader = DataLoader(TensorDataset(notes, kinds), batch_size=64, shuffle=True)

if is_faulty:
    vectors = defaultdict(lambda: 0.01 * torch.randn(WIDTH), pretrained)
    start = torch.stack([vectors[word] for word in vocabulary])
else:
    vectors = pretrained
    start = torch.stack([vectors.get(w, 0.01 * torch.randn(WIDTH)) for w in vocabulary])
is_known = torch.tensor([word in vectors for word in vocabulary])


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(start.clone(), freeze=False)
        self.hidden = nn.Linear(WIDTH, 48)
        self.leave = nn.Linear(48, 5)

    def forward(self, notes):
        return self.leave(torch.tanh(self.hidden(self.words(notes).mean(dim=1))))


model = Sorter()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(7):
    total = 0.0
    for note, kind in loader:
        loss = nn.functional.cross_entropy(model(note), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.words.weight[is_known] = start[is_known]
        total += loss.item()
    print(epoch, total / len(loader))
