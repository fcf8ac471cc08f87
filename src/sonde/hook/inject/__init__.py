"""The folder that `sonde run` puts on a job's PYTHONPATH: Python starts `sitecustomize` from it."""
