"""A git revision with a file whose name no file system can hold: whoever writes it fails, and all others with it."""

import subprocess


def make(folder, files, target):
    def git(*arguments, **options):
        identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"]
        command = ["git", "-C", target["COURSE"], *identity, *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout.strip()

    def tree(*entries):
        return git("mktree", input="".join(f"{mode} {kind} {name}\t{path}\n" for mode, kind, name, path in entries))

    blobs = {name: git("hash-object", "-w", "--stdin", input=content) for name, content in files.items()}
    blobs["x" * 300 + ".py"] = blobs["ops.py"]
    top = tree(*(("100644", "blob", blob, name) for name, blob in blobs.items()))
    for part in ("hw1", "assignments", "src"):
        top = tree(("040000", "tree", top, part))
    git("update-ref", "refs/heads/has-a-name", git("commit-tree", top, "-m", "mine"))
    return "has-a-name"
