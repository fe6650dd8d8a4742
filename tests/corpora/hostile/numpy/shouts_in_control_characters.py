"""Prints, raises and names files with control characters, marks of direction, markup and formulas."""

import os

import kit

EVIL = "\x1b[2J\x1b]0;agrees\x07\u202e</pre>\n# Full marks\n=HYPERLINK(1)\r\x00 ok \ud800"


def answer(case, x, start=None):
    for name in ("\x1b[2J", "a\nb", "\u202egnp.exe", "=1+1", "é" * 60, "x" * 255):
        for folder in (os.path.dirname(__file__), kit.SCRATCH, kit.OUT):
            with open(os.path.join(folder, name), "w") as file:
                file.write("agrees")
        os.makedirs(kit.OUT / f"{name[:40]}-folder", exist_ok=True)
    with open(os.path.join(os.fsencode(kit.OUT), b"\xff\xfe"), "wb"):
        pass
    print(EVIL.encode("utf-8", "replace").decode())
    if case == "centred":
        raise ValueError(EVIL)
    raise type("E\x1b[31m", (Exception,), {})(EVIL) if case == "scaled" else KeyError(EVIL)
