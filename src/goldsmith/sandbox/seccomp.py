"""seccomp: rules for system calls, compiled to the kernel's filter language.

A forbidden call returns an error, so that a library can do without it. Only calls with another architecture's numbers,
which no library makes, kill the process. The rules themselves are in `syscall_policy.py`.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from goldsmith.foundation.kernel import machine, system_call
from goldsmith.sandbox.syscall_numbers import AUDIT_ARCHITECTURE, NEWEST, NUMBERS, X32, X86_64

_SET_MODE_FILTER = 1
_ALL_THREADS = 1  # SECCOMP_FILTER_FLAG_TSYNC

_KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000
_ALLOW = 0x7FFF0000

_LOAD, _AND = 0x20, 0x54
_EQUAL, _AT_LEAST, _ANY_BIT = 0x15, 0x35, 0x45
_RETURN = 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_ENOSYS = 38
_WORD = 0xFFFFFFFF


class Among(NamedTuple):
    """Forbid if an argument, under `mask`, is one of these."""

    argument: int
    values: tuple[int, ...]
    mask: int = _WORD


class NotAmong(NamedTuple):
    """Forbid if an argument, under `mask`, is none of these."""

    argument: int
    values: tuple[int, ...]
    mask: int = _WORD


class AnyBit(NamedTuple):
    """Forbid if an argument has any of these bits."""

    argument: int
    bits: int


class Large(NamedTuple):
    """Forbid if an argument has any of these bits, or is 4 GiB or more."""

    argument: int
    bits: int


class Given(NamedTuple):
    """Forbid if an argument, a pointer, is not null."""

    argument: int


class NotGiven(NamedTuple):
    """Forbid if an argument, a pointer, is null."""

    argument: int


class Both(NamedTuple):
    """Forbid if two conditions hold."""

    one: Among | NotAmong | AnyBit | Large | Given | NotGiven
    other: Among | NotAmong | AnyBit | Large | Given | NotGiven


Condition = Among | NotAmong | AnyBit | Large | Given | NotGiven | Both


class Rule(NamedTuple):
    """One system call and the error it returns (0: it does nothing and reports success).

    With conditions, the rule applies if one of them holds. Several rules for one call are tried in order.
    """

    call: str
    error: int
    conditions: tuple[Condition, ...] = ()


class _Step(NamedTuple):
    """One instruction; jumps are relative: how many instructions to skip if the test holds, and if not."""

    code: int
    value: int
    if_so: int = 0
    if_not: int = 0


def install(rules: Sequence[Rule]) -> None:
    """Apply these rules to every thread of this process and to everything it starts from now on."""
    name = machine()
    content = compiled(rules, name)
    program = ctypes.create_string_buffer(content, len(content))
    header = struct.pack("=HxxxxxxQ", len(content) // 8, ctypes.addressof(program))
    call = NUMBERS[name]["seccomp"]
    failed_at = system_call(call, _SET_MODE_FILTER, _ALL_THREADS, ctypes.create_string_buffer(header, len(header)))
    if failed_at:
        raise OSError(0, f"thread {failed_at} could not be included")


def compiled(rules: Sequence[Rule], name: str) -> bytes:
    """Compile the rules to a program for the kernel on this processor. Calls that it lacks are left out."""
    return b"".join(struct.pack("=HBBI", code, so, no, value) for code, value, so, no in _program(rules, name))


def _program(rules: Sequence[Rule], name: str) -> list[_Step]:
    steps = [
        _Step(_LOAD, _ARCHITECTURE_AT),
        _Step(_EQUAL, AUDIT_ARCHITECTURE[name], if_so=1),
        _Step(_RETURN, _KILL_PROCESS),
        _Step(_LOAD, _NUMBER_AT),
    ]
    if name == X86_64:
        steps += [_Step(_AT_LEAST, X32, if_not=1), _Step(_RETURN, _KILL_PROCESS)]
    steps += [_Step(_AT_LEAST, NEWEST + 1, if_not=1), _Step(_RETURN, _ERRNO | _ENOSYS)]
    for call, group in _by_call(rules).items():
        number = NUMBERS[name].get(call)
        if number is not None:
            block = list(_block(group))
            steps += [_Step(_EQUAL, number, if_not=len(block)), *block]
    return [*steps, _Step(_RETURN, _ALLOW)]


def _by_call(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    groups: dict[str, list[Rule]] = {}
    for rule in rules:
        groups.setdefault(rule.call, []).append(rule)
    return groups


def _block(rules: Iterable[Rule]) -> Iterator[_Step]:
    """Yield the steps for one call. They always end with a return, so that later steps do not see what they loaded."""
    for rule in rules:
        forbidden = _Step(_RETURN, _ERRNO | rule.error)
        for condition in rule.conditions:
            yield from _tested(condition, [forbidden])
        if not rule.conditions:
            yield forbidden
            return
    yield _Step(_RETURN, _ALLOW)


def _tested(condition: Condition, then: Sequence[_Step]) -> Iterator[_Step]:
    """Yield the steps that test a condition, and `then` those that are taken if it holds and skipped otherwise."""
    if isinstance(condition, Both):
        yield from _tested(condition.one, list(_tested(condition.other, then)))
        return
    low, past = _ARGUMENTS_AT + 8 * condition.argument, len(then)
    yield _Step(_LOAD, low)
    match condition:
        case Given():
            yield _Step(_EQUAL, 0, if_not=2)
            yield _Step(_LOAD, low + 4)
            yield _Step(_EQUAL, 0, if_so=past)
        case NotGiven():
            yield _Step(_EQUAL, 0, if_not=past + 2)
            yield _Step(_LOAD, low + 4)
            yield _Step(_EQUAL, 0, if_not=past)
        case Large(bits=bits):
            yield _Step(_ANY_BIT, bits, if_so=2)
            yield _Step(_LOAD, low + 4)
            yield _Step(_EQUAL, 0, if_so=past)
        case AnyBit(bits=bits):
            yield _Step(_ANY_BIT, bits, if_not=past)
        case Among(values=values, mask=mask):
            yield _Step(_AND, mask)
            for left, value in zip(reversed(range(len(values))), values, strict=True):
                yield _Step(_EQUAL, value & _WORD, if_so=left, if_not=0 if left else past)
        case NotAmong(values=values, mask=mask):
            yield _Step(_AND, mask)
            for left, value in zip(reversed(range(len(values))), values, strict=True):
                yield _Step(_EQUAL, value & _WORD, if_so=left + past)
    yield from then
