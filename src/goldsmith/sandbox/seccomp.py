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
_NEW_LISTENER = 8

_KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000
_ASK = 0x7FC00000  # SECCOMP_RET_USER_NOTIF
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


class Given(NamedTuple):
    """Forbid if an argument, a pointer, is not null."""

    argument: int


class NotGiven(NamedTuple):
    """Forbid if an argument, a pointer, is null."""

    argument: int


Condition = Among | NotAmong | AnyBit | Given | NotGiven


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
    failed_at = _install(compiled(rules, machine()), _ALL_THREADS)
    if failed_at:
        raise OSError(0, f"thread {failed_at} could not be included")


def install_listener(calls: Sequence[str]) -> int:
    """Have each of these calls, of this process and of everything it starts from now on, wait for an answer by whoever
    holds the descriptor that this returns. What other rules refuse is not asked."""
    name = machine()
    numbers = [NUMBERS[name][call] for call in calls if call in NUMBERS[name]]
    steps = [
        _Step(_LOAD, _ARCHITECTURE_AT),
        _Step(_EQUAL, AUDIT_ARCHITECTURE[name], if_not=len(numbers) + 1),
        _Step(_LOAD, _NUMBER_AT),
        *(_Step(_EQUAL, number, if_so=left + 1) for left, number in zip(_countdown(numbers), numbers, strict=True)),
        _Step(_RETURN, _ALLOW),
        _Step(_RETURN, _ASK),
    ]
    return _install(_packed(steps), _NEW_LISTENER)


def _install(content: bytes, flags: int) -> int:
    program = ctypes.create_string_buffer(content, len(content))
    header = struct.pack("=HxxxxxxQ", len(content) // 8, ctypes.addressof(program))
    call = NUMBERS[machine()]["seccomp"]
    return system_call(call, _SET_MODE_FILTER, flags, ctypes.create_string_buffer(header, len(header)))


def compiled(rules: Sequence[Rule], name: str) -> bytes:
    """Compile the rules to a program for the kernel on this processor. Calls that it lacks are left out."""
    return _packed(_program(rules, name))


def _packed(steps: Iterable[_Step]) -> bytes:
    return b"".join(struct.pack("=HBBI", code, so, no, value) for code, value, so, no in steps)


def _countdown(items: Sequence[object]) -> Iterator[int]:
    """Yield how many items are left after each."""
    return reversed(range(len(items)))


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
            yield from _tested(condition, forbidden)
        if not rule.conditions:
            yield forbidden
            return
    yield _Step(_RETURN, _ALLOW)


def _tested(condition: Condition, forbidden: _Step) -> Iterator[_Step]:
    low = _ARGUMENTS_AT + 8 * condition.argument
    yield _Step(_LOAD, low)
    match condition:
        case Given():
            yield _Step(_EQUAL, 0, if_not=2)
            yield _Step(_LOAD, low + 4)
            yield _Step(_EQUAL, 0, if_so=1)
        case NotGiven():
            yield _Step(_EQUAL, 0, if_not=3)
            yield _Step(_LOAD, low + 4)
            yield _Step(_EQUAL, 0, if_not=1)
        case AnyBit(bits=bits):
            yield _Step(_ANY_BIT, bits, if_not=1)
        case Among(values=values, mask=mask):
            yield _Step(_AND, mask)
            for left, value in zip(_countdown(values), values, strict=True):
                yield _Step(_EQUAL, value & _WORD, if_so=left, if_not=0 if left else 1)
        case NotAmong(values=values, mask=mask):
            yield _Step(_AND, mask)
            for left, value in zip(_countdown(values), values, strict=True):
                yield _Step(_EQUAL, value & _WORD, if_so=left + 1)
    yield forbidden
