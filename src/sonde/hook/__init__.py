"""Everything inside the training process: injection, the session, adapters and profilers."""
