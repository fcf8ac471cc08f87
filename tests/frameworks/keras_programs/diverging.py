"""A learning rate that is far too high: the loss grows until it is not finite."""

import keras
import numpy as np

keras.utils.set_random_seed(7)
points = np.random.default_rng(7).normal(size=(320, 8)).astype("float32")
targets = points.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(100.0), "mse")
model.fit(points, targets, batch_size=16, epochs=3, verbose=0)
