"""For all tests: nothing depends on how many cores a machine has, or how fast it is."""

import atexit
import os
import shutil
import tempfile

from hypothesis import HealthCheck, settings

# Threads of PyTorch that wait for each other burn whole cores where tests share the machine with
# others. Read when PyTorch is loaded, here and in every process that a test starts.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
# The dashboard keeps its token there: nothing is written into the home of whoever runs the tests.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="sonde-tests-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# the same examples each time: whoever only wants to know whether a change is good
settings.register_profile("steady", settings.get_profile("any machine"), derandomize=True)
settings.load_profile("any machine")
