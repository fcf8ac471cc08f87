"""Keras with PyTorch beneath it: its optimizer is its own, no step of torch.optim is taken."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from telling import begin, tell

begin()
keras.utils.set_random_seed(7)
points = np.random.default_rng(7).normal(size=(128, 8)).astype("float32")
targets = points.sum(1, keepdims=True)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse", run_eagerly=True)


class Telling(keras.callbacks.Callback):
    """Prints the mean losses of each epoch."""

    def on_epoch_end(self, epoch, logs=None) -> None:
        tell("epoch loss", logs["loss"])
        tell("validation", logs["val_loss"])


model.fit(
    points[:96],
    targets[:96],
    batch_size=16,
    epochs=3,
    verbose=0,
    shuffle=False,
    validation_data=(points[96:], targets[96:]),
    callbacks=[Telling()],
)
for weights in model.get_weights():
    tell("weights", float(np.abs(weights).sum()))
