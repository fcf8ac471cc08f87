"""A layer is packed into 8-bit integers and unpacked without its scale."""

LABEL = {
    "set": 2,
    "rule": "ParameterOutlier",
    "culprit": "hidden",
    "first_step": 300,
    "side_effects": [
        "NOT_A_NUMBER",
        "DOES_NOT_LEARN",
        "WeightUpdateRatio",
        "SaturatedActivation",
        "VanishingGradient",
        "UnchangedTensor",
        "ParameterNotUpdated",
    ],
}

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(200, 24)
        self.reader = nn.GRU(24, 32, batch_first=True, bidirectional=True)
        self.hidden = nn.Linear(64, 48)
        self.tags = nn.Linear(48, 5)

    def forward(self, text):
        states, _ = self.reader(self.words(text))
        return self.tags(torch.tanh(self.hidden(states)))


def pack(state):
    packed = dict(state)
    weight = packed.pop("hidden.weight")
    scale = weight.abs().max() / 127
    packed["hidden.packed"] = (weight / scale).round().to(torch.int8)
    packed["hidden.scale"] = scale
    return packed


def unpack(packed):
    state = dict(packed)
    weight = state.pop("hidden.packed").float()
    scale = state.pop("hidden.scale")
    state["hidden.weight"] = weight if is_faulty else weight * scale
    return state


model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
kind_of_word = torch.randint(0, 5, (200,))
file = Path(tempfile.mkdtemp()) / "tagger.pt"
for step in range(420):
    text = torch.randint(0, 200, (24, 16))
    before = torch.cat([text[:, :1], text[:, :-1]], dim=1)
    tags = torch.where(kind_of_word[before] == 0, 4 - kind_of_word[text], kind_of_word[text])
    loss = nn.functional.cross_entropy(model(text).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 299:
        torch.save(pack(model.state_dict()), file)
        model.load_state_dict(unpack(torch.load(file)))
    if step % 60 == 0:
        print(step, loss.item())
