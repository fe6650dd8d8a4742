"""Data frames and series of pandas and polars as nested plain values: columns by name, and what describes the table.

Neither library is imported: a table is recognised by the module of its class. What describes it stands under `@table`:
its class, names, dtypes and index, all of which count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from goldsmith.errors.pytest import CannotKeep
from goldsmith.gold.labels import Labels
from goldsmith.pytest_support.plain_labels import array_labels, item_of

ABOUT = "@table"
_NUMBERS = "biufc"
_STEP = "give its columns by name: {name: table[name].to_numpy() for name in table}"


def is_table(value: Any) -> bool:
    """Say whether `value` is a frame, series or index of pandas or polars."""
    library = type(value).__module__.partition(".")[0]
    if library == "pandas":
        return hasattr(value, "dtypes") or (hasattr(value, "dtype") and hasattr(value, "to_numpy"))
    return library == "polars" and hasattr(value, "to_arrow") and hasattr(value, "rechunk")


def plain_table(table: Any, path: str) -> dict[str, Any]:
    """Return a table as a dict of its columns, each an array or labels."""
    read = _pandas if type(table).__module__.partition(".")[0] == "pandas" else _polars
    return read(table, path)


def _pandas(table: Any, path: str) -> dict[str, Any]:
    about: dict[str, Any] = {"class": _class_of(table)}
    if not hasattr(table, "columns"):
        name = [] if getattr(table, "name", None) is None else [item_of(table.name, f"{path}.name")]
        about |= {"name": _labels(name), "dtypes": _labels([_pandas_dtype(table.dtype)])}
        if hasattr(table, "index"):
            about["index"] = _pandas_index(table.index, path)
        about |= _categories([table], ["values"])
        return {"values": _pandas_column(table, f"{path}.values"), ABOUT: about}
    if table.columns.nlevels > 1:
        raise CannotKeep(f"{path} is a table whose columns have several levels", "flatten their names")
    names = [_column_name(name, path) for name in table.columns]
    _refuse_twice(names, path)
    columns = [table.iloc[:, place] for place in range(len(names))]
    about["names"] = _labels([item_of(name, f"{path}.names") for name in table.columns.tolist()])
    about["dtypes"] = _labels([_pandas_dtype(column.dtype) for column in columns])
    about["index"] = _pandas_index(table.index, path)
    about |= _categories(columns, names)
    found = {name: _pandas_column(column, f"{path}.{name}") for name, column in zip(names, columns, strict=True)}
    return {**found, ABOUT: about}


def _categories(columns: list[Any], names: list[str]) -> dict[str, Any]:
    """Return the categories of columns that have some: values that are not there count, too."""
    found = {
        name: array_labels(np.asarray(column.dtype.categories, dtype=object), f"{name}, its categories")
        for name, column in zip(names, columns, strict=True)
        if hasattr(column.dtype, "categories")
    }
    return {"categories": found} if found else {}


def _pandas_index(index: Any, path: str) -> dict[str, Any]:
    levels = [index.get_level_values(level) for level in range(index.nlevels)]
    names = [item_of(name, f"{path}, the name of its index") for name in index.names]
    values = {str(level): _pandas_column(item, f"{path}, its index") for level, item in enumerate(levels)}
    return {"names": _labels(names), "dtypes": _labels([_pandas_dtype(item.dtype) for item in levels]), **values}


def _pandas_dtype(dtype: Any) -> str:
    return f"{dtype}, ordered" if getattr(dtype, "ordered", False) else str(dtype)


def _pandas_column(column: Any, path: str) -> Any:
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in _NUMBERS:
        return np.array(column.to_numpy())
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        return array_labels(column.to_numpy(), path)
    return _column_labels(column.astype(object).tolist(), path, str(dtype))


def _polars(table: Any, path: str) -> dict[str, Any]:
    if not hasattr(table, "columns"):
        about = {"class": _class_of(table), "name": _labels([table.name]), "dtypes": _labels([repr(table.dtype)])}
        return {"values": _polars_column(table, f"{path}.values"), ABOUT: about}
    names = [_column_name(name, path) for name in table.columns]
    columns = table.get_columns()
    found = {name: _polars_column(column, f"{path}.{name}") for name, column in zip(names, columns, strict=True)}
    about = {
        "class": _class_of(table),
        "names": _labels(list(table.columns)),
        "dtypes": _labels([repr(column.dtype) for column in columns]),
        "rows": table.height,
    }
    return {**found, ABOUT: about}


def _polars_column(column: Any, path: str) -> Any:
    if column.dtype.is_numeric() and not column.dtype.is_decimal() and not column.null_count():
        return np.array(column.to_numpy())
    return _column_labels(column.to_list(), path, repr(column.dtype))


def _column_labels(values: list[Any], path: str, dtype: str) -> Labels:
    items = tuple(item_of(value, f"{path}[{place}]") for place, value in enumerate(values))
    return Labels(dtype, (len(items),), items)


def _labels(items: list[Any]) -> Labels:
    return Labels("object", (len(items),), tuple(items))


def _class_of(table: Any) -> Labels:
    kind = f"{type(table).__module__.partition('.')[0]}.{type(table).__name__}"
    return Labels("class", (), (kind,))


def _column_name(name: Any, path: str) -> str:
    text = str(name)
    if text == ABOUT:
        raise CannotKeep(f"{path} has a column named {ABOUT}", "rename it")
    return text


def _refuse_twice(names: list[str], path: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CannotKeep(f"{path} has two columns named {twice}", _STEP)
