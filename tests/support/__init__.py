"""What tests share: throw-away courses, real terminals and processes, generated workers."""
