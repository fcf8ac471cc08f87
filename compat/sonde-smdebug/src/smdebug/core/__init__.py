"""Configuration, hook and tensors, independent of the framework."""
