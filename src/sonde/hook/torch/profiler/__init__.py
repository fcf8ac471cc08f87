"""PyTorch's own profiler: windows, annotations and the allocator."""
