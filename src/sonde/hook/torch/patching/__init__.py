"""Replacing and wrapping functions of PyTorch without a trace."""
