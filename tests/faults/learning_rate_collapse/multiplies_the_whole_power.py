"""Learning rate decay of 10% per epoch; MultiplicativeLR gets the factors for LambdaLR."""

LABEL = {
    "set": 4,
    "rule": "LearningRateCollapse",
    "first_step": 154,
    "side_effects": [
        "DOES_NOT_LEARN",
        "WeightUpdateRatio",
        "UnchangedTensor",
        "ParameterNotUpdated",
    ],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, MultiplicativeLR
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

pixels, digits = load_digits(return_X_y=True)
images = torch.tensor(pixels, dtype=torch.float32).view(-1, 1, 8, 8)
images = (images - images.mean()) / images.std()
loader = DataLoader(TensorDataset(images, torch.tensor(digits)), 128, shuffle=True, drop_last=True)

model = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten()),
    nn.Linear(32 * 16, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)


def decay(epoch):
    return 0.9**epoch


schedule = MultiplicativeLR if is_faulty else LambdaLR
scheduler = schedule(optimizer, decay)
criterion = nn.CrossEntropyLoss()
for epoch in range(40):
    total = 0.0
    for image, digit in loader:
        optimizer.zero_grad()
        loss = criterion(model(image), digit)
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
    scheduler.step()
    if epoch % 4 == 3:
        print(f"{epoch + 1}: {total:.4f}, rate {scheduler.get_last_lr()[0]:.2e}")
