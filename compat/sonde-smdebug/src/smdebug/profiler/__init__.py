"""System metrics, steps and profiles of a job."""
