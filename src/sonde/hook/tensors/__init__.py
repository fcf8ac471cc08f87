"""What is recorded of which tensors at which steps."""
