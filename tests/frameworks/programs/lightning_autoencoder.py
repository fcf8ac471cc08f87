"""An autoencoder of small layers under Lightning's trainer, validated after each epoch."""

import lightning
import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

seed_all()
points = torch.randn(80, 16)
training = DataLoader(TensorDataset(points[:64]), batch_size=16)
validation = DataLoader(TensorDataset(points[64:]), batch_size=6)


class Autoencoder(lightning.LightningModule):
    """Encodes 16 numbers as 3."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
        self.decoder = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 16))

    def _loss(self, batch: list[torch.Tensor]) -> torch.Tensor:
        return nn.functional.mse_loss(self.decoder(self.encoder(batch[0])), batch[0])

    def training_step(self, batch: list[torch.Tensor], _number: int) -> torch.Tensor:
        loss = self._loss(batch)
        print_value("loss", loss)
        return loss

    def validation_step(self, batch: list[torch.Tensor], _number: int) -> None:
        self.log("val_loss", self._loss(batch), batch_size=len(batch[0]))

    def on_validation_epoch_end(self) -> None:
        if not self.trainer.sanity_checking:
            print_value("validation", self.trainer.callback_metrics["val_loss"])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-2)


model = Autoencoder()
trainer = lightning.Trainer(
    max_epochs=3,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(model, training, validation)
print_final_state(model)
