"""A loop of TensorFlow with a gradient tape; STEPS says whether its steps are compiled."""

import os

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
random = np.random.default_rng(7)
points = random.normal(size=(320, 8)).astype("float32")
labels = (points.sum(axis=1, keepdims=True) > 0).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.build((None, 8))
optimizer = keras.optimizers.Adam(0.01)
loss_function = keras.losses.BinaryCrossentropy(from_logits=True)


def train_step(batch, targets):
    """One step."""
    with tf.GradientTape() as tape:
        loss = loss_function(targets, model(batch, training=True))
    gradients = tape.gradient(loss, model.trainable_weights)
    optimizer.apply_gradients(zip(gradients, model.trainable_weights, strict=True))
    return loss


if os.environ["STEPS"] == "compiled":
    train_step = tf.function(train_step)
data = tf.data.Dataset.from_tensor_slices((points, labels)).batch(32).repeat(3)
for batch, targets in data:
    print("loss", float(train_step(batch, targets)).hex())
for weights in model.get_weights():
    print("weights", float(np.abs(weights).sum()).hex())
