"""Engines: where work runs, in threads of this machine or on the workers of a Dask cluster.

What runs there is not known here. `grade` judges submissions and `rigor` tries mutants, each with work of its own:
`engine.py` says what an engine takes, `portable.py` what work must say of itself to run where none of its files are.
`dask_cluster.py` connects, `workers.py` hands items to workers and follows what becomes of them, and `on_worker.py` is
what runs there. `environment.py` says what must be the same on both sides.
"""
