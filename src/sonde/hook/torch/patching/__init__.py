"""Reversible replacement and wrapping of PyTorch functions."""
