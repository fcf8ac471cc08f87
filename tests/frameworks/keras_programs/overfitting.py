"""Labels without any relation to the data, which a large model learns by heart."""

import keras
import numpy as np

keras.utils.set_random_seed(7)
random = np.random.default_rng(7)
points = random.normal(size=(256, 16)).astype("float32")
labels = random.integers(0, 2, size=(256, 1)).astype("float32")
model = keras.Sequential(
    [keras.layers.Dense(128, activation="relu"), keras.layers.Dense(1, activation="sigmoid")]
)
model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy")
model.fit(
    points[:128],
    labels[:128],
    batch_size=16,
    epochs=40,
    verbose=0,
    validation_data=(points[128:], labels[128:]),
)
