"""Recognise files that hold secrets, mostly by name: credentials, keys, settings of one person's environment."""

from __future__ import annotations

import fnmatch
import re
from pathlib import PurePath

CREDENTIALS = frozenset({"id_rsa", "id_ed25519", "id_ecdsa", ".netrc", ".pypirc", "credentials.json"})
_PATTERNS = (
    ".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
    "*.gpg", "id_rsa*", "id_ed25519*", "id_ecdsa*", "id_dsa*", "_netrc", ".git-credentials", ".htpasswd", ".npmrc",
    ".dockercfg", ".pgpass", "kaggle.json", "secrets.toml", "secrets.json", "secrets.y*ml", "service-account*.json",
    ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".kaggle", ".gitconfig", ".git", ".hg", ".svn",
)  # fmt: skip
_HARMLESS = (".example", ".sample", ".template", ".dist")
_KEY = re.compile(rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----\s+\S")
_CODE = (".py", ".ipynb", ".md", ".rst")
_SEARCHED_BYTES = 4096


def is_secret_name(name: str) -> bool:
    """Say whether a file or folder of this name holds secrets, wherever it is; `.env.example` does not."""
    plain = name.lower()
    if plain.endswith(_HARMLESS):
        return False
    return plain in CREDENTIALS or any(fnmatch.fnmatchcase(plain, pattern) for pattern in _PATTERNS)


def is_secret_content(path: PurePath, beginning: bytes) -> bool:
    """Say whether a file that begins like this is a private key under another name. Code and prose may quote one."""
    return path.suffix not in _CODE and _KEY.search(beginning[:_SEARCHED_BYTES]) is not None
