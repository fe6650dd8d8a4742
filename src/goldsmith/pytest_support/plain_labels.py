"""Turn text, dates and objects into the plain form that gold can keep, or say which of them has none."""

from __future__ import annotations

import datetime
import decimal
import fractions
import sys
import uuid
from typing import Any

from goldsmith.errors.pytest import CannotKeep
from goldsmith.gold.labels import MISSING_TIME, Item, Labels, Tagged

_TIMES = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)
_BY_TEXT = (decimal.Decimal, fractions.Fraction, uuid.UUID)
"""Objects that their text says completely."""
_OF_PANDAS = ("Period", "Interval")
_TIME_KINDS, _WITHOUT_UNIT = "mM", ("timedelta64", "datetime64")
_DTYPES = {"U": "numpy.str", "S": "numpy.bytes", "T": "StringDType", "O": "object"}
_STEP = "give numbers, text, dates or None, or the object's values by name"


def labels_of(value: Any, path: str) -> Labels | None:
    """Return a date, or an array of text, dates or objects, as labels; None for anything else."""
    if _missing_kind(value):
        return Labels(_missing_kind(value), (), (item_of(value, path),))
    if isinstance(value, _TIMES) or _is_said_by_text(value):
        item = _time(value) if isinstance(value, _TIMES) else _by_text(value)
        return Labels(item.kind, (), (item.text,))
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray | numpy.generic) or isinstance(value, str | bytes):
        return None
    if value.dtype.kind not in (*_DTYPES, *_TIME_KINDS) or isinstance(value, numpy.ma.MaskedArray):
        return None
    return array_labels(numpy.asarray(value), path)


def array_labels(array: Any, path: str) -> Labels:
    """Return an array of text, times or objects as labels. How much room it has for text is no part of it."""
    if array.dtype.kind in _TIME_KINDS:
        if array.dtype.name in _WITHOUT_UNIT:
            raise CannotKeep(f"{path} has times without a unit", "give it one: .astype('timedelta64[s]')")
        texts = [str(item) for item in array.reshape(-1)]
        times = [Tagged(MISSING_TIME, "") if text == MISSING_TIME else text for text in texts]
        return Labels(array.dtype.name, tuple(array.shape), tuple(times))
    flat = array.reshape(-1)
    items = tuple(item_of(flat[place], f"{path}[{place}]") for place in range(flat.size))
    return Labels(_DTYPES[array.dtype.kind], tuple(array.shape), items)


def item_of(value: Any, path: str) -> Item:
    """Return one object in its plain form."""
    missing = _missing_kind(value)
    if missing:
        return Tagged(missing, "")
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.datetime64 | numpy.timedelta64):
        return Tagged(MISSING_TIME, "") if numpy.isnat(value) else Tagged(value.dtype.name, str(value))
    if numpy is not None and isinstance(value, numpy.bool_ | numpy.number):
        value = value.item()
    if value is None or type(value) in (str, bool, int, float):
        plain: Item = value
        return plain
    if isinstance(value, bytes):
        return Tagged("bytes", bytes(value).hex())
    if isinstance(value, str) and type(value).__module__ == "numpy":
        return str(value)
    if isinstance(value, _TIMES):
        return _time(value)
    if _is_said_by_text(value):
        return _by_text(value)
    raise CannotKeep(f"{path} is of type {type(value).__name__}, which has no plain form", _STEP)


def _by_text(value: Any) -> Tagged:
    return Tagged(type(value).__name__, str(value))


def _time(value: Any) -> Tagged:
    kind = type(value).__name__
    if isinstance(value, datetime.timedelta):
        return Tagged(kind, value.isoformat() if hasattr(value, "isoformat") else str(value))
    zone = getattr(getattr(value, "tzinfo", None), "key", "")
    fold = ", second time" if getattr(value, "fold", 0) else ""
    return Tagged(kind, value.isoformat() + (f"[{zone}]" if zone else "") + fold)


def _missing_kind(value: Any) -> str:
    """Return the name of a missing value that is neither None nor NaN, empty for any other value."""
    kind = type(value).__name__
    if kind in ("NAType", "NaTType") and _is_of_pandas(value):
        return "NA" if kind == "NAType" else MISSING_TIME
    return ""


def _is_said_by_text(value: Any) -> bool:
    return isinstance(value, _BY_TEXT) or (type(value).__name__ in _OF_PANDAS and _is_of_pandas(value))


def _is_of_pandas(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas"
