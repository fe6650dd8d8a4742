"""A library in a process, that starts no threads, compiles nothing and knows no device but the CPU."""

from __future__ import annotations

from goldsmith.frameworks.framework import Framework


class Usual:
    def __init__(self, library: Framework) -> None:
        self._library = library

    def preload(self) -> None:
        """Do nothing: to import the library is all."""

    def keep_compiled(self) -> None:
        """Do nothing: it compiles nothing."""

    def is_started(self) -> bool:
        return False

    def devices(self) -> list[str]:
        return []

    def device_names(self) -> list[str]:
        return []

    def has_device(self, device: str) -> bool:
        return device in self._library.process.devices()

    def settle(self, device: str) -> None:
        """Do nothing: what is recorded is waited for."""

    def limit_memory(self, device: str, size: int) -> None:
        """Do nothing: nothing limits it from inside."""

    def cpu_capability(self) -> str:
        return ""
