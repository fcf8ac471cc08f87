"""Read what was recorded for a job, finished or running."""
