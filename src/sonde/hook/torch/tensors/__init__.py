"""Tensors of a PyTorch training: which are due, their statistics and values."""
