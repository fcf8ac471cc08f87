"""The training loop as PyTorch shows it: passes, losses, steps, evaluations."""
