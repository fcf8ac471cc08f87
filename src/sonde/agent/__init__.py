"""Everything beside the job: launcher, sampler and collectors, control requests, exit reasons."""
