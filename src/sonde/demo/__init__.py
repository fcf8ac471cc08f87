"""The job behind `sonde demo`: a small real training with planted faults."""
