"""Keras on TensorFlow: `fit` as on JAX, and loops that apply gradients themselves."""

from sonde.hook.keras.on_compiled import KerasOnCompiledBackend
from sonde.hook.keras.tape_loops import TapeLoops
from sonde.hook.keras.tensorflow_model import TensorFlowModel
from sonde.hook.session import Session


class KerasOnTensorFlow(KerasOnCompiledBackend):
    """Reports trainings by `fit`, and by `apply_gradients`."""

    def __init__(self) -> None:
        super().__init__(TensorFlowModel)

    def attach(self, session: Session) -> None:
        """Install the hooks."""
        super().attach(session)
        self._loops = TapeLoops(session, self._batches, self._begin)
        self._loops.attach(self._patches)
