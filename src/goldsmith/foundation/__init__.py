"""Files, signals, threads and other things that know nothing of courses, gold or submissions."""
