"""The folder that `sonde run` adds to PYTHONPATH; Python runs `sitecustomize` from it."""
