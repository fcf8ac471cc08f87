"""Rules over the windows of a job, and what becomes of their findings."""
