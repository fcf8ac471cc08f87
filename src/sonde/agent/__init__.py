"""Beside the job: launcher, sampler, system collectors, control requests, exit reasons."""
