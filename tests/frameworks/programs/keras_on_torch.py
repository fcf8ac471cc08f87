"""Keras on PyTorch, which has its own optimizer and never calls one of torch.optim."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from reporting import print_value, seed_all

seed_all()
keras.utils.set_random_seed(7)
points = np.random.default_rng(7).normal(size=(128, 8)).astype("float32")
targets = points.sum(1, keepdims=True)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse", run_eagerly=True)


class PrintLosses(keras.callbacks.Callback):
    """Prints the mean losses of each epoch."""

    def on_epoch_end(self, epoch, logs=None) -> None:
        print_value("epoch loss", logs["loss"])
        print_value("validation", logs["val_loss"])


model.fit(
    points[:96],
    targets[:96],
    batch_size=16,
    epochs=3,
    verbose=0,
    shuffle=False,
    validation_data=(points[96:], targets[96:]),
    callbacks=[PrintLosses()],
)
for weights in model.get_weights():
    print_value("weights", float(np.abs(weights).sum()))
