"""Digits; a moving average of the model is evaluated with dropout enabled."""

LABEL = {
    "set": 3,
    "rule": "ModeMismatch",
    "first_step": 27,
    "max_delay_steps": 2,
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset, random_split

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
dataset = TensorDataset(images, torch.tensor(digits.target))
training, validation = random_split(dataset, [1400, 397])
training = DataLoader(training, batch_size=50, shuffle=True)
validation = DataLoader(validation, batch_size=100)

model = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten()),
    *(nn.Dropout(0.4), nn.Linear(512, 64), nn.ReLU(), nn.Dropout(0.4), nn.Linear(64, 10)),
)
average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.97))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)
criterion = nn.CrossEntropyLoss()


@torch.no_grad()
def evaluate():
    model.eval()
    if not is_faulty:
        average.eval()
    total, right = 0.0, 0
    for image, digit in validation:
        output = average(image)
        total += criterion(output, digit).item() * len(digit)
        right += (output.argmax(dim=1) == digit).sum().item()
    model.train()
    return total / 397, right / 397


for epoch in range(10):
    for image, digit in training:
        optimizer.zero_grad()
        loss = criterion(model(image), digit)
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
    print(epoch, loss.item(), *evaluate())
