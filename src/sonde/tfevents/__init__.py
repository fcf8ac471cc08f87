"""TensorFlow's event files, as TensorBoard and smdebug use them, without TensorFlow."""
