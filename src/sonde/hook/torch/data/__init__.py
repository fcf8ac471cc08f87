"""What a training loop waits for: data loaders, transfers, checkpoints, output."""
