"""PyTorch integration: what runs in the training process once torch is imported."""
