"""Communities in graphs by message passing; the layers are in a plain list."""

LABEL = {
    "set": 2,
    "rule": "ParameterNotUpdated",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["UnchangedTensor", "NoGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Messages(nn.Module):
    def __init__(self, width=24, rounds=3):
        super().__init__()
        self.encode = nn.Linear(8, width)
        layers = [nn.Linear(2 * width, width) for _ in range(rounds)]
        self.rounds = layers if is_faulty else nn.ModuleList(layers)
        self.decode = nn.Linear(width, 3)

    def forward(self, features, links):
        hidden = torch.relu(self.encode(features))
        for layer in self.rounds:
            hidden = hidden + torch.relu(layer(torch.cat([hidden, links @ hidden], 1)))
        return self.decode(hidden)


directions = torch.randn(3, 8)


def graph(nodes=90):
    members = torch.randint(0, 3, (nodes,))
    same = members[:, None] == members[None]
    links = (torch.rand(nodes, nodes) < torch.where(same, 0.2, 0.05)).float()
    links = torch.maximum(links, links.T)
    links = links / links.sum(1, keepdim=True).clamp(min=1)
    return 0.5 * directions[members] + torch.randn(nodes, 8), links, members


model = Messages()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
for number in range(400):
    features, links, members = graph()
    scores = model(features, links)
    loss = nn.functional.cross_entropy(scores, members)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if number % 80 == 79:
        hits = (scores.argmax(1) == members).float().mean().item()
        print(f"graph {number + 1}: loss {loss.item():.3f}, {hits:.0%} right")
