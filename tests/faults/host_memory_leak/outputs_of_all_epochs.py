"""A Lightning module collects outputs for the end of the epoch and never clears them."""

LABEL = {"set": 1, "rule": "HostMemoryLeak"}

import logging
import sys
import tempfile
import warnings

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
lightning.seed_everything(int(sys.argv[2]), verbose=False)
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning")


class Restorer(lightning.LightningModule):
    """Denoises images."""

    def __init__(self):
        super().__init__()
        self.outputs = []
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 5, padding=2), nn.PReLU(), nn.Conv2d(8, 3, 5, padding=2)
        )

    def training_step(self, batch, index):
        noisy, clean = batch
        restored = noisy - self.body(noisy)
        loss = nn.functional.mse_loss(restored, clean)
        self.outputs.append(restored.detach())
        return loss

    def on_train_epoch_end(self):
        contrast = torch.stack([output.std() for output in self.outputs]).mean().item()
        print(self.current_epoch, contrast, len(self.outputs))
        if not is_faulty:
            self.outputs.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


positions = torch.arange(48.0)
phases = 6.28 * torch.rand(2, 320, 3, 1, 1)
waves = torch.sin(phases[0] + 0.3 * positions.view(-1, 1)) + torch.sin(phases[1] + 0.2 * positions)
loader = DataLoader(
    TensorDataset(waves + 0.5 * torch.randn(waves.shape), waves), batch_size=16, shuffle=True
)
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=20,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    trainer.fit(Restorer(), loader)
