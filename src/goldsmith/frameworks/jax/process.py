"""JAX in a process: preloaded without its backend, which a fork would break, its devices, and what bears on the bits it
computes."""

from __future__ import annotations

import sys
from typing import Any

import jax

from goldsmith.foundation.compiled_code import compiled_code_folder

PACKAGES = ("jax", "flax", "equinox", "optax")


def preload() -> None:
    """Import JAX's functions; the backend, and its threads, start when an array is made."""
    import jax.numpy  # noqa: F401


_MOST_COMPILED_BYTES = 512 * 2**20


def keep_compiled() -> None:
    """Keep every operation that is compiled, however quickly: there are hundreds, of some hundredths of a second."""
    folder = compiled_code_folder()
    if folder is None:
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_compilation_cache_max_size", _MOST_COMPILED_BYTES)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def keep_to(device: str) -> None:
    """Keep to the CPU, where JAX would take an accelerator; too late once its backend has been started."""
    if device == "cpu" and not is_started():
        jax.config.update("jax_platforms", "cpu")


def devices() -> list[str]:
    """List the devices besides the CPU, by the names that all libraries use."""
    return [name for name, _ in _others()]


def device_names() -> list[str]:
    """List them as their makers call them."""
    return [device.device_kind for _, device in _others()]


def _others() -> list[tuple[str, Any]]:
    found = [device for device in jax.devices() if device.platform != "cpu"]
    return [(f"{'cuda' if device.platform == 'gpu' else device.platform}:{device.id}", device) for device in found]


def has_device(device: str) -> bool:
    from goldsmith.frameworks.jax.arrays import device_named

    try:
        device_named(device)
    except Exception:  # each backend raises its own
        return False
    return True


def environment(device: str) -> dict[str, Any]:
    """Return the fields of `gold.facts.Environment` that JAX knows, with the libraries that are built on it."""
    found = {name: getattr(sys.modules.get(name), "__version__", "") for name in ("flax", "equinox", "optax")}
    settings = {"jax_enable_x64": str(jax.config.jax_enable_x64)}
    precision = jax.config.jax_default_matmul_precision
    if precision is not None:
        settings["jax_default_matmul_precision"] = str(precision)
    if device != "cpu" or (is_started() and jax.default_backend() != "cpu"):
        settings["jax_backend"] = jax.default_backend()
    return {
        "jax": str(jax.__version__),
        "versions": {name: version for name, version in found.items() if version},
        "settings": settings,
    }


def is_started() -> bool:
    """Say whether the backend has been started, with its threads: a process that forks then may hang."""
    from jax._src import xla_bridge

    return bool(xla_bridge.backends_are_initialized())
