"""Building blocks that know nothing of courses, gold or submissions: files, signals, threads, syntax trees."""
