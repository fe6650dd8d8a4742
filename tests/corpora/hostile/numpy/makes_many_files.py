"""Makes as many small files as it can, until nobody has room for another name."""

import kit
import target


def answer(case, x, start=None):
    kit.only_inside()
    if case == "centred":
        for folder in range(target.NAMES // 1000):
            (kit.SCRATCH / f"f{folder}").mkdir()
            for number in range(1000):
                open(kit.SCRATCH / f"f{folder}" / f"{number}", "w").close()
        kit.note(label="files", got=str(target.NAMES))
    return kit.right(case, x, start)
