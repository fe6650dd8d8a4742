"""Rules for system calls are compiled to what they say: the compiled filter is run as the kernel would run it."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from goldsmith.sandbox import seccomp
from goldsmith.sandbox.seccomp import Among, AnyBit, Both, Given, Large, NotAmong, NotGiven, Rule
from goldsmith.sandbox.syscall_numbers import AUDIT_ARCHITECTURE, NUMBERS, X86_64
from goldsmith.sandbox.syscall_policy import rules


def _verdict(program: bytes, number: int, arguments: list[int]) -> int:
    """Run a compiled filter as the kernel would."""
    data = struct.pack("=iIQ6Q", number, AUDIT_ARCHITECTURE[X86_64], 0, *arguments)
    steps = list(struct.iter_unpack("=HBBI", program))
    at, loaded = 0, 0
    while True:
        code, so, no, value = steps[at]
        at += 1
        match code:
            case 0x20:
                (loaded,) = struct.unpack_from("=I", data, value)
            case 0x54:
                loaded &= value
            case 0x06:
                return value
            case _:
                holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
                at += so if holds else no


def _holds(condition: seccomp.Condition, arguments: list[int]) -> bool:
    match condition:
        case Both(one, other):
            return _holds(one, arguments) and _holds(other, arguments)
        case Among(at, values, mask):
            return arguments[at] & 0xFFFFFFFF & mask in values
        case NotAmong(at, values, mask):
            return arguments[at] & 0xFFFFFFFF & mask not in values
        case AnyBit(at, bits):
            return bool(arguments[at] & bits)
        case Large(at, bits):
            return bool(arguments[at] & bits) or arguments[at] > 0xFFFFFFFF
        case Given(at):
            return arguments[at] != 0
        case NotGiven(at):
            return arguments[at] == 0


_PLACE, _VALUE = st.integers(0, 5), st.integers(0, 7)
_VALUES = st.lists(_VALUE, min_size=1, max_size=4).map(tuple)
_SIMPLE = st.one_of(
    st.builds(Among, _PLACE, _VALUES, st.sampled_from([7, 0xFFFFFFFF])),
    st.builds(NotAmong, _PLACE, _VALUES, st.sampled_from([7, 0xFFFFFFFF])),
    st.builds(AnyBit, _PLACE, st.integers(1, 7)),
    st.builds(Large, _PLACE, st.integers(1, 7)),
    st.builds(Given, _PLACE),
    st.builds(NotGiven, _PLACE),
)
_CONDITION = st.one_of(_SIMPLE, st.builds(Both, _SIMPLE, _SIMPLE))
_RULES = st.lists(st.tuples(st.integers(1, 3), st.lists(_CONDITION, max_size=3).map(tuple)), min_size=1, max_size=4)
_ARGUMENT = st.one_of(_VALUE, _VALUE.map(lambda value: value << 32))


@given(_RULES, st.lists(_ARGUMENT, min_size=6, max_size=6))
def test_a_filter_refuses_what_its_rules_say(
    rules: list[tuple[int, tuple[seccomp.Condition, ...]]], arguments: list[int]
) -> None:
    program = seccomp.compiled([Rule("socket", error, conditions) for error, conditions in rules], X86_64)
    expected = next(
        (
            0x00050000 | error
            for error, conditions in rules
            if not conditions or any(_holds(item, arguments) for item in conditions)
        ),
        0x7FFF0000,
    )
    assert _verdict(program, NUMBERS[X86_64]["socket"], arguments) == expected
    assert _verdict(program, NUMBERS[X86_64]["bind"], arguments) == 0x7FFF0000


_ALLOWED = 0x7FFF0000
_OF_NVIDIA, _OF_UVM, _OF_A_TERMINAL = 0xC020462A, 73, 0x5412


def _allows(call: str, *arguments: int, accelerator: bool) -> bool:
    program = seccomp.compiled(rules(1, abi=7, accelerator=accelerator), X86_64)
    return _verdict(program, NUMBERS[X86_64][call], [*arguments, 0, 0, 0, 0, 0, 0][:6]) == _ALLOWED


def test_an_accelerator_may_be_asked_what_its_driver_knows_and_only_with_one() -> None:
    for number in (_OF_NVIDIA, _OF_UVM, 0x30000001):
        assert _allows("ioctl", 3, number, accelerator=True)
        assert not _allows("ioctl", 3, number, accelerator=False)
    for number in (_OF_A_TERMINAL, 0x40049409, 0x1234, 0x89AB):
        assert not _allows("ioctl", 3, number, accelerator=True)


MEASURED = (Path(__file__).parents[3] / "docs/contributing/measurements/accelerator.md").read_text()
"""What NVIDIA's driver was seen to be asked."""


def _asked(what: str) -> list[int]:
    (row,) = [line for line in MEASURED.splitlines() if line.startswith("| `ioctl` of") and what in line]
    _, _, asked, _, _ = row.split("|")
    found = re.findall(r"\b0x([0-9a-f]+)(?: to 0x([0-9a-f]+))?", asked.partition("numbers")[2] or asked)
    return [number for first, last in found for number in range(int(first, 16), int(last or first, 16) + 1)]


def test_all_that_a_driver_was_seen_to_be_asked_is_let_in_and_nothing_next_to_it() -> None:
    card, memory = _asked("`/dev/nvidiactl`"), _asked("`/dev/nvidia-uvm`")
    assert (len(card), len(memory)) == (13, 14)
    for number in card:
        for direction, size in ((0, 0), (3, 4), (3, 0x20), (3, 0x3FFF)):
            assert _allows("ioctl", 3, direction << 30 | size << 16 | 0x4600 | number, accelerator=True)
            for kind in (0x4500, 0x4700):
                assert not _allows("ioctl", 3, direction << 30 | size << 16 | kind | number, accelerator=True)
    assert all(_allows("ioctl", 3, number, accelerator=True) for number in memory)
    for number in (0, max(number for number in memory if number < 0x1000) + 0x10, 0x30000000, 0x30000003):
        assert not _allows("ioctl", 3, number, accelerator=True)


def test_a_driver_may_name_a_unix_socket_that_nobody_can_reach() -> None:
    unix, internet, stream = 1, 2, 1
    for call, arguments in (("socket", (unix, stream)), ("bind", (3,)), ("listen", (3,))):
        assert _allows(call, *arguments, accelerator=True)
        assert not _allows(call, *arguments, accelerator=False)
    for call, arguments in (("socket", (internet, stream)), ("connect", (3,)), ("accept4", (3,)), ("sendmsg", (3,))):
        assert not _allows(call, *arguments, accelerator=True)
    assert not _allows("sendto", 3, 0, 0, 0, 0xFFFF, accelerator=True)


def test_memory_without_a_name_is_shared_with_an_accelerator_in_small_pieces() -> None:
    shared = 0x21
    for size in (4096, 2**24 - 4096):
        assert _allows("mmap", 0, size, 3, shared, accelerator=True)
        assert not _allows("mmap", 0, size, 3, shared, accelerator=False)
    for size in (2**24, 2**30, 2**32, 2**33 + 4096):
        assert not _allows("mmap", 0, size, 3, shared, accelerator=True)
    assert _allows("mmap", 0, 2**30, 3, 0x22, accelerator=True)  # private
