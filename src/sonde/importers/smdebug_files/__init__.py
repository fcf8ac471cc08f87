"""The files that smdebug and the SageMaker profiler write, one module per kind."""
