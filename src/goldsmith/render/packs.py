"""Say what was packed, and what to do with it."""

from __future__ import annotations

from goldsmith.courses.packs.pack import Packed

_WHAT_TO_DO = {
    "gradescope": "Upload it to Gradescope as an autograder; its README.md says with which settings.",
    "autolab": "Upload autograde-Makefile and autograde.tar to Autolab; the README.md next to them says how.",
    "classroom50": "Copy what is in that folder to CLASSROOM/autograders/ASSIGNMENT/ of your classroom50 repository.",
}


def packed_lines(packed: Packed) -> str:
    """Name what was written, what is in it, and the next step."""
    files = ", ".join(packed.files)
    if packed.place == "classroom50":
        return "\n".join(
            [
                f"Wrote {files} ({packed.size / 1e6:.1f} MB): {packed.name} by sketches, without gold and solutions.",
                *(
                    [f"For no points there, as sketches do not show all of it: {', '.join(packed.left_out)}."]
                    if packed.left_out
                    else []
                ),
                _WHAT_TO_DO[packed.place],
            ]
        )
    return "\n".join(
        [
            f"Wrote {files} ({packed.size / 1e6:.1f} MB): {packed.name} with its gold, and no solution.",
            "It holds gold, so keep it from students.",
            _WHAT_TO_DO[packed.place],
        ]
    )
