"""A convolutional network with an evaluation after each epoch and learning rate decay."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

seed_all()
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
        print_value("loss", loss)
    scheduler.step()
    print_value("rate", scheduler.get_last_lr()[0])
    model.eval()
    correct = 0
    with torch.no_grad():
        for batch, labels in DataLoader(validation, batch_size=64):
            outputs = model(batch)
            print_value("evaluation loss", criterion(outputs, labels))
            correct += (outputs.argmax(1) == labels).sum().item()
    print_value("accuracy", correct / len(validation))
print_final_state(model, optimizer, scheduler)
