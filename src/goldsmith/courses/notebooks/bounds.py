"""Bounds on what is read of a notebook: each with its unit and its reason."""

MAX_NOTEBOOK_BYTES = 256 * 2**20
"""Bytes of a file, outputs included: as much as a whole submission may have."""
MAX_TEXT_BYTES = 4 * 2**20
"""Bytes of a script or of Markdown, which have no outputs: code, and what is written about it."""
MAX_CODE_BYTES = 512 * 2**10
"""Bytes of the code in it, which is parsed, and parsing takes up to nine hundred times as much memory as the text."""
MAX_SOURCE_BYTES = 6 * MAX_CODE_BYTES
"""Bytes of one cell's text in JSON, where a character may take six. Split into the shortest lines that there are, it
takes twenty times as much memory."""
MAX_STATEMENTS = 20_000
"""Statements outside of functions and classes."""
MAX_CELLS = 20_000
"""Cells of all kinds: a long notebook of a course has two hundred."""
MAX_METADATA_BYTES = 2**18
"""Bytes of metadata that are decoded, of a cell or of the notebook. Widgets' states, which are larger, are not."""
MAX_NOTES = 12
"""Notes about one notebook."""
MAX_NOTE_CHARS = 300
"""Characters of a note, and of a line or a name that an error quotes: identifiers may be a megabyte long."""
