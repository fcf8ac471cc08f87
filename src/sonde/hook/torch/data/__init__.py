"""What a PyTorch training waits for: data loaders, transfers, checkpoints, output."""
