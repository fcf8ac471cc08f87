"""Settings of all tests, independent of the cores and speed of the machine."""

import atexit
import os
import shutil
import tempfile

from hypothesis import HealthCheck, settings

# Waiting threads of PyTorch use entire cores, which slows down tests that share the machine.
# PyTorch reads these when it is loaded, here and in every process that a test starts.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
# The dashboard stores its token there, so that tests do not write to the home folder.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="sonde-tests-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# the same examples each time, to check whether a change is good
settings.register_profile("steady", settings.get_profile("any machine"), derandomize=True)
settings.load_profile("any machine")
