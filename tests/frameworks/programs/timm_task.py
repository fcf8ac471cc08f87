"""timm's classification task with an average of its weights, both validated after each epoch."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch.utils.data import DataLoader, TensorDataset

# timm needs torchvision, whose compiled operators do not load beside a CPU build of PyTorch.
# They are never called, but their names have to exist.
_operators = torch.library.Library("torchvision", "DEF")
for _name in ("nms", "qnms"):
    _operators.define(f"{_name}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
for _name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d"):
    _operators.define(f"{_name}(Tensor values) -> Tensor")
    _operators.define(f"_{_name}_backward(Tensor values) -> Tensor")

import timm
from timm.task import ClassificationTask

seed_all()
images = torch.randn(72, 3, 32, 32)
labels = images.mean((1, 2, 3)).gt(0).long()
training = DataLoader(TensorDataset(images[:48], labels[:48]), batch_size=16)
validation = DataLoader(TensorDataset(images[48:], labels[48:]), batch_size=16)
model = timm.create_model("test_vit", num_classes=2, img_size=32)
task = ClassificationTask(model, torch.nn.CrossEntropyLoss(), verbose=False)
task.setup_ema(decay=0.5)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def validate(evaluated: torch.nn.Module) -> float:
    """Return the mean loss over all samples of the validation set."""
    evaluated.eval()
    total = 0.0
    with torch.inference_mode():
        for batch, target in validation:
            total += torch.nn.functional.cross_entropy(evaluated(batch), target).item() * len(batch)
    return total / len(validation.dataset)


for _ in range(2):
    task.train()
    for batch, target in training:
        optimizer.zero_grad()
        loss = task(batch, target)["loss"]
        loss.backward()
        optimizer.step()
        task.update_ema()
        print_value("loss", loss)
    print_value("validation", validate(task.get_eval_model()))
    print_value("average", validate(task.get_eval_model(ema=True)))
print_final_state(model, optimizer)
