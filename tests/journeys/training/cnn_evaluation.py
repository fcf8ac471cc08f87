"""A convolutional network with evaluation after each epoch and a learning rate that falls."""

import torch
from telling import begin, tell, tell_end
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

begin()
labels = torch.randint(5, (500,))
images = (torch.rand(5, 1, 8, 8)[labels] + 0.3 * torch.randn(500, 1, 8, 8)).clamp(0, 1)
everything = TensorDataset(images, labels)
training, validation, _ = random_split(everything, [320, 128, len(everything) - 448])
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(inplace=True),
    nn.MaxPool2d(2),
    nn.Dropout2d(0.1),
    nn.Flatten(),
    nn.Linear(128, 5),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    model.train()
    for batch, labels in DataLoader(training, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(batch), labels)
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    scheduler.step()
    tell("rate", scheduler.get_last_lr()[0])
    model.eval()
    correct = 0
    with torch.no_grad():
        for batch, labels in DataLoader(validation, batch_size=64):
            outputs = model(batch)
            tell("evaluation loss", criterion(outputs, labels))
            correct += (outputs.argmax(1) == labels).sum().item()
    tell("accuracy", correct / len(validation))
tell_end(model, optimizer, scheduler)
