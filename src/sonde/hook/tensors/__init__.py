"""Which tensors are recorded at which steps, and what is recorded of them."""
