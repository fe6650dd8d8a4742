"""The README as an index shows it: with links and pictures that lead to the repository, where one is named.

REPOSITORY is its address, as on a page of a code host; without it, as in a clone, the README is what it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ReadmeForIndex(MetadataHookInterface):
    def update(self, metadata: dict[str, object]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        address = os.environ.get("REPOSITORY", "").rstrip("/")
        if address:
            files = f"{address}/{{}}/v{metadata['version']}"
            text = re.sub(r"(!\[[^]]*\]\()(?!https?:)([^)#]+)", rf"\1{files.format('raw')}/\2", text)
            text = re.sub(r"((?<!!)\[[^]]*\]\()(?!https?:|#)([^)]+)", rf"\1{files.format('blob')}/\2", text)
            metadata["urls"] = {"Repository": address, "Changelog": f"{files.format('blob')}/CHANGELOG.md"}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
