"""Draft a first recipe for a solution: a case for every part that students write.

How a part is called is learned from the course's public tests, from examples in docstrings and from its other parts
(`observed_calls`), else guessed (`guess_arguments`) and tried (`working_calls`). Cases are composed (`compose_cases`),
run and judged as gold (`try_case`), and written (`recipe_text`, `recipe_file`). Runs in the child, where the solution
may be imported.
"""
