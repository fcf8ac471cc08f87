"""Lightning with metrics, and a moving average of the weights that a callback validates."""

import lightning
import torch
import torchmetrics
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

seed_all()
points = torch.randn(120, 10)
labels = points[:, 0].gt(0).long()
training = DataLoader(TensorDataset(points[:80], labels[:80]), batch_size=16)
validation = DataLoader(TensorDataset(points[80:], labels[80:]), batch_size=12)


class Classifier(lightning.LightningModule):
    """Logs loss and accuracy of both splits."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
        self.accuracy = torchmetrics.Accuracy("multiclass", num_classes=2)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.layers(batch)

    def training_step(self, batch: list[torch.Tensor], _number: int) -> torch.Tensor:
        predictions = self(batch[0])
        loss = self.criterion(predictions, batch[1])
        self.log("train_accuracy", self.accuracy(predictions, batch[1]))
        print_value("loss", loss)
        return loss

    def validation_step(self, batch: list[torch.Tensor], _number: int) -> None:
        predictions = self(batch[0])
        self.log("val_loss", self.criterion(predictions, batch[1]), batch_size=len(batch[0]))
        self.log("val_accuracy", self.accuracy(predictions, batch[1]))

    def on_validation_epoch_end(self) -> None:
        if not self.trainer.sanity_checking:
            print_value("validation", self.trainer.callback_metrics["val_loss"])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Averaging(lightning.Callback):
    """Maintains an average of the weights, and validates it after each epoch."""

    def on_fit_start(self, _trainer, module) -> None:
        self.average = AveragedModel(module, multi_avg_fn=get_ema_multi_avg_fn(0.9))

    def on_train_batch_end(self, _trainer, module, *_batch) -> None:
        self.average.update_parameters(module)

    def on_train_epoch_end(self, _trainer, _module) -> None:
        self.average.eval()
        total = 0.0
        with torch.no_grad():
            for batch, target in validation:
                losses = nn.functional.cross_entropy(self.average(batch), target, reduction="sum")
                total += losses.item()
        print_value("average", total / len(validation.dataset))


model = Classifier()
trainer = lightning.Trainer(
    max_epochs=3,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[Averaging()],
)
trainer.fit(model, training, validation)
print_final_state(model)
