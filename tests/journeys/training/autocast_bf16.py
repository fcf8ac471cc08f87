"""Mixed precision with bfloat16 and no scaler; the second half trains in pure bfloat16."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
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
    print_value("loss", loss)

model = model.to(torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    points = torch.randn(32, 16, dtype=torch.bfloat16)
    loss = criterion(model(points), points[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print_value("loss", loss)
print_final_state(model, optimizer)
