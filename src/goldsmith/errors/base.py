"""The base of all errors that people see, and the exit codes that follow from them."""

from __future__ import annotations

import re
import shlex
from typing import Any, ClassVar, dataclass_transform

AGAINST = 1
USAGE = 2
COULD_NOT_RUN = 3
INTERRUPTED = 130

_FEW_ITEMS = 3


def making_command(name: str) -> str:
    """Return the command that makes the gold of an assignment, or of a recipe by itself, which is named by its path."""
    return f"goldsmith {'record' if name.endswith('.py') else 'generate'} {shlex.quote(name)}"


@dataclass_transform(eq_default=False)
class GoldsmithError(Exception):
    """The base of all errors that are shown to people as one sentence.

    A subclass declares its facts as fields, like a dataclass, and a `template` of the sentence over them. Lists are
    joined: `{names}` with commas, `{names:or}` with that word; `{names:few}` shortens, `{names:first}` counts the rest.
    Where the words depend on the facts, it has its own `sentence`.
    """

    exit_code: ClassVar[int] = COULD_NOT_RUN
    outcome: ClassVar[str] = "failed"
    template: ClassVar[str]
    fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.fields = tuple(dict.fromkeys((*cls.fields, *cls.__annotations__)))

    def __init__(self, *values: Any, **by_name: Any) -> None:
        """Set the fields. `dataclass` would do this, but takes 0.3 ms for each class whenever goldsmith starts."""
        facts = dict(zip(self.fields, values, strict=False)) | by_name
        if facts.keys() - set(self.fields) or len(facts) < len(values) + len(by_name):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self.fields) or 'nothing'}")
        vars(self).update(facts)
        super().__init__(*(getattr(self, name) for name in self.fields))

    @property
    def kind(self) -> str:
        return re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()

    def sentence(self) -> str:
        return self.template.format_map(_Facts(self))

    def __str__(self) -> str:
        return self.sentence()


class UsageError(GoldsmithError):
    """The base of errors in a command line or in what it refers to."""

    exit_code = USAGE


class _Facts(dict[str, Any]):
    """The fields of an error by name, lists made ready for a template."""

    def __init__(self, error: GoldsmithError) -> None:
        self._error = error

    def __missing__(self, name: str) -> Any:
        value = getattr(self._error, name)
        return Listing(value) if isinstance(value, (list, tuple)) else value


class Listing(tuple[Any, ...]):
    """Several things that a sentence names; see `GoldsmithError` for its formats."""

    def __format__(self, form: str) -> str:
        names = [str(item) for item in self]
        if form == "first":
            return names[0] + (f" (and {len(names) - 1} more)" if len(names) > 1 else "")
        if form == "few":
            return ", ".join(names[:_FEW_ITEMS]) + (" …" if len(names) > _FEW_ITEMS else "")
        return f" {form} ".join(names) if form else ", ".join(names)
