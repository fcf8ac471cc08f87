"""PyTorch from the inside: what runs in the training process once it has imported torch."""
