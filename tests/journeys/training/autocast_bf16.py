"""Mixed precision with bfloat16, which needs no scaler; the second half trains in pure bfloat16."""

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
model = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for step in range(12):
    points = torch.randn(32, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs = model(points)
        loss = criterion(outputs, points[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tell("loss", loss)

model = model.to(torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    points = torch.randn(32, 16, dtype=torch.bfloat16)
    loss = criterion(model(points), points[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tell("loss", loss)
tell_end(model, optimizer)
