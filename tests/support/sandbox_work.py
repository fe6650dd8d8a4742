"""Ordinary work that must still be possible for a process that is locked in. Each returns something to look at."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def training() -> float:
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(2)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    inputs = torch.randn(512, 64)
    for _ in range(20):
        optimiser.zero_grad()
        loss = ((model(inputs) - inputs[:, :1]) ** 2).mean()
        loss.backward()
        optimiser.step()
    return float(loss.detach())


def linear_algebra() -> list[float]:
    import numpy as np
    import torch

    generator = np.random.default_rng(0)
    matrix = generator.normal(size=(200, 200))
    values = np.linalg.eigvalsh(matrix @ matrix.T)
    tensor = torch.from_numpy(matrix)
    attention = torch.nn.functional.scaled_dot_product_attention(*torch.randn(3, 2, 4, 16, 8).unbind(0))
    convolved = torch.nn.functional.conv2d(torch.randn(1, 3, 16, 16), torch.randn(4, 3, 3, 3))
    return [float(values[-1]), float(torch.linalg.svdvals(tensor)[0] ** 2), attention.numel() + convolved.numel()]


class Squares:
    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> Any:
        import torch

        return torch.full((3,), float(index * index))


def loader_with_workers() -> float:
    from torch.utils.data import DataLoader

    loader = DataLoader(Squares(), batch_size=4, num_workers=2)  # type: ignore[arg-type]
    return sum(float(batch.sum()) for _ in range(2) for batch in loader)


def saving_and_loading() -> list[float]:
    import numpy as np
    import torch
    from safetensors.torch import load_file, save_file

    tensor = torch.arange(4.0)
    save_file({"a": tensor}, "a.safetensors")
    torch.save(tensor, "a.pt")
    np.savez("a.npz", a=tensor.numpy())
    read = [load_file("a.safetensors")["a"], torch.load("a.pt"), torch.from_numpy(np.load("a.npz")["a"])]
    return [float(item.sum()) for item in read]


def temporary_files() -> list[str]:
    home = os.environ["HOME"]
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as folder:
        Path(folder, "deep").mkdir()
        Path(folder, "deep", "a").write_text("x")
        shutil.copy2(Path(folder, "deep", "a"), Path(folder, "b"))
        Path(folder, "b").rename(Path(folder, "deep", "c"))
        Path(folder, "deep", "c").touch()
        names = [file.name, folder, os.path.expanduser("~/x")]
    return [name for name in names if not name.startswith(home + "/")]


def another_python() -> str:
    run = subprocess.run([sys.executable, "-c", "import math, json; print(math.pi)"], capture_output=True, text=True)
    return run.stdout.strip() or run.stderr


def a_shell() -> str:
    return subprocess.run("echo $((6 * 7)) | cat", shell=True, capture_output=True, text=True).stdout.strip()


def stopping_ones_own_child() -> int:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    time.sleep(0.05)
    child.kill()
    return child.wait()


def _double(number: int) -> int:
    return 2 * number


def a_pool() -> list[int]:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import Event, JoinableQueue, Lock, Pool, Process, Value

    with Pool(2) as pool:
        found = pool.map(_double, range(10))
    with ProcessPoolExecutor(2) as executor:
        found += executor.map(_double, range(3))
    total, lock, queue, event = Value("i", 0), Lock(), JoinableQueue(), Event()

    def add() -> None:
        event.wait()
        for _ in range(50):
            with lock:
                total.value += 1
        queue.put(total.value)

    processes = [Process(target=add) for _ in range(3)]
    for process in processes:
        process.start()
    event.set()
    for process in processes:
        process.join()
    return [*found, total.value, max(queue.get(timeout=5) for _ in processes)]


def threads() -> int:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as executor:
        return sum(executor.map(_double, range(10)))


def facts_of_this_machine() -> list[bool]:
    cores = len(os.sched_getaffinity(0)) > 0 and (os.cpu_count() or 0) > 0
    return [cores, "VmPeak" in Path("/proc/self/status").read_text(), time.localtime().tm_year > 2000]
