"""Lightning with manual optimization that does not clear gradients."""

LABEL = {
    "set": 3,
    "rule": "MissingZeroGrad",
    "first_step": 1,
    "max_delay_steps": 2,
    "side_effects": ["NOT_A_NUMBER", "DOES_NOT_LEARN"],
}

import logging
import sys
import warnings

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
lightning.seed_everything(int(sys.argv[2]), verbose=False)
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Denoiser(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Sequential(
            *(nn.Conv1d(1, 24, 9, padding=4), nn.GELU()),
            *(nn.Conv1d(24, 24, 9, padding=4), nn.GELU()),
            nn.Conv1d(24, 1, 9, padding=4),
        )
        self.losses = []

    def training_step(self, batch, _):
        clean, noisy = batch
        optimizer = self.optimizers()
        loss = nn.functional.mse_loss(self.net(noisy), clean)
        if not is_faulty:
            optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        self.losses.append(loss.item())

    def on_train_epoch_end(self):
        print(f"epoch {self.current_epoch}: {sum(self.losses) / len(self.losses):.4f}")
        self.losses.clear()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


time = torch.linspace(0, 1, 64)
pitch = 2 + 6 * torch.rand(3200, 1)
phase = 2 * torch.pi * torch.rand(3200, 1)
clean = 1.4 * torch.sin(2 * torch.pi * pitch * time + phase).unsqueeze(1)
noisy = clean + 0.6 * torch.randn(3200, 1, 64)
loader = DataLoader(TensorDataset(clean, noisy), 32, shuffle=True)

trainer = lightning.Trainer(
    max_epochs=4,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Denoiser(), loader)
