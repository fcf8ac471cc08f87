"""Keras on the backend of KERAS_BACKEND: fit with validation, evaluate, predict, single batches."""

import hashlib

import keras
import numpy as np

keras.utils.set_random_seed(7)
random = np.random.default_rng(7)
points = random.normal(size=(500, 8)).astype("float32")
labels = (points.sum(axis=1, keepdims=True) > 0).astype("float32")
x_test, y_test = points[400:], labels[400:]


class Printer(keras.callbacks.Callback):
    """Prints what `fit` reports."""

    def on_train_batch_end(self, batch, logs=None) -> None:
        if batch == 0:
            print("first loss", float(logs["loss"]).hex())

    def on_epoch_end(self, epoch, logs=None) -> None:
        for name, value in logs.items():
            print(name, float(value).hex())


model = keras.Sequential(
    [keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, activation="sigmoid")]
)
rates = keras.callbacks.LearningRateScheduler(lambda epoch, _rate: 0.01 if epoch < 2 else 0.001)
stopping = keras.callbacks.EarlyStopping(patience=9)
model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
model.fit(
    points[:300],
    labels[:300],
    batch_size=32,
    epochs=4,
    verbose=0,
    shuffle=False,
    validation_data=(points[300:400], labels[300:400]),
    callbacks=[Printer(), rates, stopping],
)
test_loss, test_accuracy = model.evaluate(x_test, y_test, batch_size=50, verbose=0)
print("test loss", test_loss.hex())
print("test accuracy", test_accuracy.hex())
for start in (0, 50):
    batch = points[start : start + 50], labels[start : start + 50]
    print("single loss", float(model.train_on_batch(*batch, return_dict=True)["loss"]).hex())
predictions = model.predict(x_test, batch_size=50, verbose=0)
weights = b"".join(array.tobytes() for array in [predictions, *model.get_weights()])
print("digest", hashlib.sha256(weights).hexdigest())
