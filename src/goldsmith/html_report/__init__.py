"""Pages that one looks at: one file each, with nothing fetched and nothing hidden from those without JavaScript."""
