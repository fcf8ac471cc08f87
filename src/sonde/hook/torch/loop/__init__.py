"""The training loop in PyTorch: passes, losses, steps and evaluations."""
