"""PyTorch's profiler: trace windows, annotations and the allocator."""
