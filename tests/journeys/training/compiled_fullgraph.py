"""A model with its loss, compiled as one graph that must not break; also evaluated."""

import torch
import torch.nn.functional as F
from telling import begin, tell, tell_end
from torch import nn


class Classifier(nn.Module):
    """Answers with its loss, as models of some libraries do."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(8, 16)
        self.activation = nn.GELU()
        self.norm = nn.BatchNorm1d(16)
        self.head = nn.Linear(16, 2)

    def forward(self, points: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.head(self.norm(self.activation(self.hidden(points))))
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


begin()
model = Classifier()
compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
optimizer = torch.optim.Adam(compiled.parameters(), lr=0.01)
for step in range(12):
    points = torch.randn(16, 8)
    loss = compiled(points, (points[:, 0] > 0).long())["loss"]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tell("loss", loss)
compiled.eval()
with torch.no_grad():
    for size in (16, 8):
        points = torch.randn(size, 8)
        tell("evaluation", compiled(points, (points[:, 0] > 0).long())["loss"])
print("frames", dict(torch._dynamo.utils.counters["frames"]))
print("graphs", torch._dynamo.utils.counters["stats"]["unique_graphs"])
tell_end(model, optimizer)
