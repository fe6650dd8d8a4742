"""The statements of a notebook's cells, each with the names that it binds, changes and needs."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from goldsmith.courses.notebooks.blanks import with_blanks_filled
from goldsmith.courses.notebooks.bounds import MAX_NOTE_CHARS, MAX_STATEMENTS
from goldsmith.courses.notebooks.cells import Cell
from goldsmith.courses.notebooks.graders import is_harness, without_hidden_tests
from goldsmith.courses.notebooks.magics import cell_magic, replace_magics
from goldsmith.foundation.syntax import parsing, syntax_tree
from goldsmith.targets.target import AS_GIVEN

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Import = ast.Import | ast.ImportFrom
BUILTIN = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__annotations__"}
_COMPREHENSIONS = ("listcomp", "setcomp", "dictcomp", "genexpr")
_CHANGES = frozenset(
    [
        *("append", "appendleft", "extend", "insert", "add", "update", "setdefault", "sort", "reverse"),
        *("remove", "discard", "clear", "pop", "popitem"),
        *("register", "register_module", "register_buffer", "register_parameter", "add_module"),
    ]
)
"""Methods that change what they are called on."""
_TRAINS = frozenset(["backward", "step", "fit", "zero_grad"])
_BLOCKS = (ast.If, ast.Try, ast.With)
_SEEMS_TO_DEFINE = re.compile(r"^(?:(?:async\s+)?(?:def|class)\s+(\w+)|(\w+)\s*(?::[^=\n]+)?=[^=])", re.M)


@dataclass(frozen=True)
class Broken:
    """A cell that Python cannot parse: what is wrong, on which line of it, and the names that it seems to define."""

    cell: Cell
    problem: str
    line: int
    names: tuple[str, ...]
    unfinished: tuple[Statement, ...] = ()
    """Its definitions, where it would parse with `...` in the blanks that are left to fill in."""

    @property
    def why(self) -> str:
        return f"Python cannot parse it ({self.problem}, line {self.line})"


@dataclass(eq=False)
class Statement:
    """One statement at the top level of a cell, which has it on the lines from `first` to `last`.

    It needs the names `now` when it runs, and those in `later` when a function in it is called. `certain` says that it
    binds its names whenever it runs.
    """

    cell: Cell
    node: ast.stmt
    text: str
    first: int
    last: int
    alone: bool
    position: int = 0
    binds: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    now: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, Import)

    @property
    def certain(self) -> bool:
        return not isinstance(self.node, (*_BLOCKS, ast.For, ast.While, ast.AugAssign, ast.Match, ast.AsyncFor))

    @property
    def is_definition(self) -> bool:
        """Say whether it only defines: a function, a class, an import, or a block of such."""
        if isinstance(self.node, (*Definition.__args__, *Import.__args__)) or type(self.node).__name__ == "TypeAlias":
            return not any(is_harness(name) for name in _imported(self.node))
        return isinstance(self.node, _BLOCKS) and _only_defines(self.node)

    @property
    def why_never(self) -> str:
        """Say why it is not kept whoever needs it; empty where it may be."""
        if isinstance(self.node, (ast.For, ast.While, ast.AsyncFor, *_BLOCKS)) and _called_methods(self.node) & _TRAINS:
            return "it trains"
        if any(is_harness(name) for name in _imported(self.node)):
            return "it is for a grader's tests"
        return "it only checks" if isinstance(self.node, (ast.Assert, ast.Delete, ast.Raise)) else ""


@dataclass
class Parsed:
    """Everything that the cells hold: `skipped` says of names that only left-out code binds where that is and why."""

    statements: list[Statement] = field(default_factory=list)
    broken: list[tuple[int, Broken]] = field(default_factory=list)
    left_out: list[tuple[Cell, str]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    imports_itself: bool = False

    def skip(self, cell: Cell, why: str, names: Sequence[str], line: int = 0) -> None:
        where = cell.place(line) if line else cell.name
        self.skipped |= dict.fromkeys(names, f"{where}, which was left out: {why}")


def parse_cells(cells: Sequence[Cell], own: str = "") -> Parsed:
    """Parse every cell on its own, so that one that cannot be parsed takes nothing with it. `own` is the module that
    the notebook stands for: importing it means the starter's."""
    parsed = Parsed()
    for cell in cells:
        why = cell.left_out or (f"{magic} is not Python" if (magic := cell_magic(cell.source)) else "")
        if why:
            parsed.left_out.append((cell, why))
            parsed.skip(cell, why, seeming_names(cell.source))
            continue
        source = without_hidden_tests(cell.source)
        try:
            try:
                found = list(_statements(cell, source))
            except SyntaxError:
                python = replace_magics(source)
                found = list(_statements(cell, python.source))
                for name, line in python.assigned.items():
                    parsed.skip(cell, "only IPython understands it", [name], line)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            problem = _problem(cell, error)
            parsed.broken.append((len(parsed.statements), problem))
            parsed.left_out.append((cell, problem.why))
            parsed.skip(cell, problem.why, problem.names)
            continue
        if len(parsed.statements) > MAX_STATEMENTS:
            break  # nobody has that many, and it will be refused
        for item in found:
            if own and own in _imported(item.node):
                item.text = _import_as_given(item.node, own)
                parsed.imports_itself = True
            item.position = len(parsed.statements)
            parsed.statements.append(item)
    return parsed


def seeming_names(source: str) -> list[str]:
    """Return the names that lines of a text seem to define at the top level, parsed or not."""
    return list(dict.fromkeys(one or two for one, two in _SEEMS_TO_DEFINE.findall(source)))


def _problem(cell: Cell, error: Exception) -> Broken:
    line = error.lineno if isinstance(error, SyntaxError) and error.lineno else 1
    deep = isinstance(error, RecursionError | MemoryError)
    problem = error.msg if isinstance(error, SyntaxError) else "nested too deeply" if deep else "characters of no text"
    unfinished: tuple[Statement, ...] = ()
    filled = with_blanks_filled(without_hidden_tests(cell.source)) if isinstance(error, SyntaxError) else None
    if filled is not None:
        unfinished = tuple(item for item in _statements(cell, filled) if isinstance(item.node, Definition))
    return Broken(cell, problem[:MAX_NOTE_CHARS], line, tuple(seeming_names(cell.source)), unfinished)


def _statements(cell: Cell, source: str) -> Iterator[Statement]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = syntax_tree(source).body[: MAX_STATEMENTS + 1]
        lines = source.split("\n")
        encoded = [line.encode() for line in lines]
        ends = [0, *(node.end_lineno or 0 for node in nodes)]
        starts = [*(_first_line(node) for node in nodes), len(lines) + 1]
        for number, node in enumerate(nodes):
            first, last = starts[number], ends[number + 1]
            alone = first > ends[number] and last < starts[number + 1]
            text = "\n".join(lines[first - 1 : last]) if alone else _segment(encoded, node, first)
            yield _with_names(Statement(cell, node, text, first, last, alone))


def _segment(lines: list[bytes], node: ast.stmt, first: int) -> str:
    """Return the text of a statement that shares a line with another; columns are counted in bytes."""
    found = lines[first - 1 : node.end_lineno]
    found[-1] = found[-1][: node.end_col_offset]
    found[0] = found[0][node.col_offset :] if first == node.lineno else found[0]
    return b"\n".join(found).decode()


def _first_line(node: ast.stmt) -> int:
    """Return the first line of a statement, decorators included."""
    decorators = node.decorator_list if isinstance(node, Definition) else []
    return min([node.lineno, *(item.lineno for item in decorators)])


def _with_names(statement: Statement) -> Statement:
    node = statement.node
    with parsing:
        table = symtable.symtable(statement.text + "\n", "cell", "exec")
    binds, now, later = set[str](), set[str](), set[str]()
    for symbol in table.get_symbols():
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace():
            binds.add(symbol.get_name())
        if symbol.is_referenced():
            now.add(symbol.get_name())
    for child in table.get_children():
        _needs(child, now, later)
    statement.binds = frozenset() if isinstance(node, ast.Delete) else frozenset(binds)
    statement.changes = frozenset(_changes(node)) - statement.binds
    statement.now = frozenset(now | statement.changes) - BUILTIN
    if isinstance(node, ast.AugAssign):
        statement.now |= statement.binds
    statement.later = frozenset(later) - BUILTIN
    statement.called = frozenset(_called_at_once(node))
    return statement


def _needs(table: symtable.SymbolTable, now: set[str], later: set[str]) -> None:
    """Add the module's names that a nested scope needs: a class's and a comprehension's at once, a function's later."""
    kind = str(getattr(table.get_type(), "value", table.get_type()))
    if kind == "function" and table.get_name() not in _COMPREHENSIONS:
        now = later
    for symbol in table.get_symbols():
        if symbol.is_global():
            now.add(symbol.get_name())
    for child in table.get_children():
        _needs(child, now, later)


def _changes(node: ast.stmt) -> Iterator[str]:
    """Yield names whose objects a statement changes: by an attribute, an item, or a method that is known to."""
    if isinstance(node, Definition):
        return
    for item in _outside_functions(node):
        match item:
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                yield from _root(item)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method) as place)):
                if method in _CHANGES or (method.endswith("_") and not method.endswith("__")):
                    yield from _root(place)
            case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=name), *_])):
                yield name


def _root(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through a statement without going into functions and classes."""
    left = [node]
    while left:
        item = left.pop()
        yield item
        if not isinstance(item, (*Definition.__args__, ast.Lambda)):
            left += ast.iter_child_nodes(item)


def _called_at_once(node: ast.stmt) -> Iterator[str]:
    """Yield names that running a statement may call: all of an assignment, of a definition those of its decorators."""
    if isinstance(node, Definition):
        for decorator in node.decorator_list:
            yield from (item.id for item in ast.walk(decorator) if isinstance(item, ast.Name))
    else:
        yield from (item.id for item in _outside_functions(node) if isinstance(item, ast.Name))


def _called_methods(node: ast.stmt) -> set[str]:
    calls = (item.func for item in _outside_functions(node) if isinstance(item, ast.Call))
    return {call.attr for call in calls if isinstance(call, ast.Attribute)}


def _imported(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [item.name for item in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def _import_as_given(node: ast.stmt, own: str) -> str:
    """Write an import of a module as one of the starter's version of it."""
    if isinstance(node, ast.ImportFrom):
        return ast.unparse(ast.ImportFrom(f"{own}{AS_GIVEN}", node.names, 0))
    assert isinstance(node, ast.Import)
    names = [ast.alias(f"{own}{AS_GIVEN}", item.asname or own) if item.name == own else item for item in node.names]
    return ast.unparse(ast.Import(names))


def _only_defines(node: ast.stmt) -> bool:
    """Say whether a block has a definition, and nothing that does something: `try: import` and its like."""
    if isinstance(node, ast.If) and "__main__" in ast.dump(node.test):
        return False
    defines = False
    left: list[tuple[ast.stmt, bool]] = [(node, False)]
    while left:
        item, handling = left.pop()
        if isinstance(item, (*Definition.__args__, *Import.__args__)):
            defines = True
        elif isinstance(item, ast.If | ast.Try | ast.With):
            left += [(inner, handling) for inner in [*item.body, *getattr(item, "orelse", ())]]
            left += [(inner, handling) for inner in getattr(item, "finalbody", ())]
            left += [(inner, True) for handler in getattr(item, "handlers", ()) for inner in handler.body]
        elif not isinstance(item, ast.Assign | ast.AnnAssign | ast.Pass | ast.Raise):
            quiet = isinstance(item, ast.Expr) and (handling or isinstance(item.value, ast.Constant))
            if not quiet:
                return False
    return defines
