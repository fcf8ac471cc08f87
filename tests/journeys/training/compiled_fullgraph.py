"""A model that returns its loss, compiled with fullgraph=True; also evaluated."""

import torch
import torch.nn.functional as F
from reporting import print_final_state, print_value, seed_all
from torch import nn


class Classifier(nn.Module):
    """Returns its loss, like models of some libraries."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(8, 16)
        self.activation = nn.GELU()
        self.norm = nn.BatchNorm1d(16)
        self.head = nn.Linear(16, 2)

    def forward(self, points: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.head(self.norm(self.activation(self.hidden(points))))
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


seed_all()
model = Classifier()
compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
optimizer = torch.optim.Adam(compiled.parameters(), lr=0.01)
for step in range(12):
    points = torch.randn(16, 8)
    loss = compiled(points, (points[:, 0] > 0).long())["loss"]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print_value("loss", loss)
compiled.eval()
with torch.no_grad():
    for size in (16, 8):
        points = torch.randn(size, 8)
        print_value("evaluation", compiled(points, (points[:, 0] > 0).long())["loss"])
print("frames", dict(torch._dynamo.utils.counters["frames"]))
print("graphs", torch._dynamo.utils.counters["stats"]["unique_graphs"])
print_final_state(model, optimizer)
