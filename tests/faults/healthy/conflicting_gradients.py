"""Three tasks share a network; conflicting components of their gradients are removed."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 96), nn.GELU(), nn.Linear(96, 48), nn.GELU())
        self.amount = nn.Linear(48, 1)
        self.kind = nn.Linear(48, 4)
        self.is_late = nn.Linear(48, 1)

    def forward(self, orders):
        hidden = self.body(orders)
        return self.amount(hidden), self.kind(hidden), self.is_late(hidden)


maps = [torch.randn(20, size) / 20**0.5 for size in (6, 4, 6)]


def orders(number):
    rows = torch.randn(number, 20)
    amount = torch.tanh(rows @ maps[0]).sum(dim=1, keepdim=True) / 2
    kind = (rows @ maps[1] + 0.2 * torch.randn(number, 4)).argmax(dim=1)
    is_late = (torch.tanh(2 * rows @ maps[2]).sum(dim=1, keepdim=True) > 0).float()
    return rows, (amount + 0.1 * torch.randn_like(amount), kind, is_late)


criteria = nn.MSELoss(), nn.CrossEntropyLoss(), nn.BCEWithLogitsLoss()


def settled(gradients):
    changed = [gradient.clone() for gradient in gradients]
    for mine in changed:
        for index in torch.randperm(len(gradients)).tolist():
            other = gradients[index]
            overlap = mine @ other
            if overlap < 0:
                mine -= overlap / (other @ other) * other
    return torch.stack(changed).sum(dim=0)


model = Shared()
body = list(model.body.parameters())
heads = [p for name, p in model.named_parameters() if not name.startswith("body")]
optimizer = torch.optim.Adam([{"params": body}, {"params": heads, "lr": 2e-3}], lr=1e-3)
for step in range(450):
    rows, answers = orders(64)
    losses = [c(o, a) for c, o, a in zip(criteria, model(rows), answers, strict=True)]
    each = [torch.autograd.grad(loss, body, retain_graph=True) for loss in losses]
    flat = settled([torch.cat([part.flatten() for part in parts]) for parts in each])
    above = torch.autograd.grad(sum(losses), heads)
    sizes = [parameter.numel() for parameter in body]
    for parameter, part in zip(body, flat.split(sizes), strict=True):
        parameter.grad = part.view_as(parameter)
    for parameter, gradient in zip(heads, above, strict=True):
        parameter.grad = gradient
    optimizer.step()
    if step % 50 == 0:
        print(step, *(round(loss.item(), 3) for loss in losses))
