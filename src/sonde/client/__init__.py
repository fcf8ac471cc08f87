"""The public `Job` and what hangs from it, for people who write Python."""
