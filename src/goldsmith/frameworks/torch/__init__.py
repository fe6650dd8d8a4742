"""What Goldsmith knows of torch: `arrays`, `models`, `numerics` and `process`, as every framework; and

load:       gold's weights in a submission's models, and other ways of loading
foreign:    models and functions of another framework in torch's place
observers:  what a run is seen to do: calls of modules, results of operations, optimisers, weights used
rounding:   float64 throughout, and noise in the last place
device_*:   comparison of large tensors where they are
"""

SUFFIX = ".pt"
"""Of files that the library writes, and that it reads with its own function."""
