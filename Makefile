# Everything needs only Python (3.11 or newer), git and make; the rest goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
WITH_TESTS := PYTHONPATH=tests $(BIN)/python
DEMO ?= build/demo-course
EXAMPLE_GOLD := examples/vla-course/tests/internal/fixtures

.PHONY: demo docs tutorial reference test test-long test-port test-jax coverage matrix lint bench release submissions kits drafts reports tolerances rigor behaviour soak hostile bubblewrap browser picture example-gold class pages clean

$(BIN)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"  # the first with --group
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group dev -e ".[dask,torch]"
	touch $@

# Nothing is removed: a folder that this target has not made is refused, and one that it has made is used again.
DEMO_MARK = .goldsmith/made-by-make-demo

demo: $(BIN)/.ready  ## copy the bundled course out and make all of its gold
	@if [ -e "$(DEMO)" ] && [ ! -f "$(DEMO)/$(DEMO_MARK)" ]; then \
		echo "make demo: $(DEMO) exists, and make demo did not make it; remove it yourself, or name another with DEMO=" >&2; exit 1; fi
	@if [ ! -e "$(DEMO)" ]; then \
		$(BIN)/goldsmith init --example "$(DEMO)" && mkdir -p "$(DEMO)/.goldsmith" && touch "$(DEMO)/$(DEMO_MARK)"; fi
	$(BIN)/goldsmith generate all --force --yes --course "$(DEMO)"
	$(BIN)/goldsmith status --course "$(DEMO)"

docs: $(BIN)/.ready  ## the site, in build/site; nothing in it is fetched from elsewhere
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open build/site/index.html"

tutorial: $(BIN)/.ready  ## the tutorial acted out in an empty folder, as a new user would
	$(WITH_TESTS) -m support.doc_pages docs/tutorial.md

reference: $(BIN)/.ready  ## docs/reference, from the code
	$(BIN)/python scripts/reference.py

test: $(BIN)/.ready  ## the tests
	$(BIN)/python -m pytest -n 3 --dist loadgroup -m "not long"  # on two cores, too: tests wait for a third of their time

test-long: $(BIN)/.ready  ## the tests that `make test` leaves out
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m long

test-port: $(BIN)/.port  ## models of transformers against small re-implementations; installs transformers, downloads no model
	$(BIN)/python -m pytest -n 2 tests/port

$(BIN)/.port: $(BIN)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group port
	touch $@

test-jax: $(BIN)/.jax  ## what has to do with JAX, which only this installs
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests/with_jax tests/frameworks

$(BIN)/.jax: $(BIN)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group jax -e ".[jax]"
	touch $@

coverage: $(BIN)/.ready  ## which branches `make test` runs, in child processes too (a sandboxed one cannot write it down)
	mkdir -p build/coverage
	$(BIN)/coverage run -m pytest -n 2 --dist loadgroup -m "not long" $(TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

matrix: build/nox/.ready  ## the core of the tests on the oldest and newest Python, torch and dependencies; SESSIONS picks some
	build/nox/bin/nox $(if $(SESSIONS),--session $(SESSIONS))

build/nox/.ready:
	$(PYTHON) -m venv build/nox
	build/nox/bin/python -m pip install --quiet --disable-pip-version-check "nox>=2024.4"
	touch $@

lint: $(BIN)/.ready  ## style, types, which folder may import which, and what may only get better
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/ratchets.py

release: $(BIN)/.ready  ## sdist and wheel in dist/, checked, and the wheel tried where this repository is not; TAG is what the tag must be
	$(WITH_TESTS) scripts/release.py $(if $(TAG),--tag $(TAG))

bench: $(BIN)/.ready  ## ratios, measured here and now
	$(BIN)/python benchmarks/start_up.py
	$(BIN)/python benchmarks/generate.py
	$(BIN)/python benchmarks/comparison.py
	$(BIN)/python benchmarks/rigor.py
	$(WITH_TESTS) benchmarks/grading.py

class: $(BIN)/.ready  ## five hundred submissions in one run, then killed half-way and resumed
	$(WITH_TESTS) benchmarks/whole_class.py

hosts: $(BIN)/.ready  ## a class on hosts that share nothing: network namespaces with roots of their own, killed and cut off half-way
	$(BIN)/python -m pytest tests/hosts

pages: $(BIN)/.ready  ## what pages cost a class of five hundred
	$(WITH_TESTS) benchmarks/pages.py

submissions: $(BIN)/.ready  ## check every submission of the corpus against what it is known to be
	$(WITH_TESTS) scripts/submission_tables.py --write

kits: $(BIN)/.ready  ## the same with the kits that students get, in place of gold
	$(WITH_TESTS) scripts/kit_table.py $(ARGS)

drafts: $(BIN)/.ready  ## draft recipes for whole assignments, and count what they are worth: the table of docs/contributing/measurements/drafts.md
	$(WITH_TESTS) scripts/draft_table.py $(ARGS)

reports: $(BIN)/.ready  ## regenerate the reports of docs/contributing/measurements/six-reports.md
	$(WITH_TESTS) scripts/six_reports.py --write

tolerances: $(BIN)/.ready  ## measure the tables of docs/contributing/measurements/tolerances.md again
	$(WITH_TESTS) scripts/tolerance_tables.py --write

rigor: $(BIN)/.ready  ## measure the table of docs/contributing/measurements/rigor.md again
	$(BIN)/python scripts/mutant_tables.py --write

behaviour: $(BIN)/.ready  ## what the program says and makes, compared with what is kept; ACCEPT=1 keeps it, SECTIONS picks some
	$(WITH_TESTS) scripts/behaviour.py $(SECTIONS) $(if $(ACCEPT),--accept)

soak: $(BIN)/.ready  ## the long kill test and ten thousand hostile children, and their tables in docs/contributing/measurements/soak.md
	$(WITH_TESTS) -m support.soak --write

hostile: $(BIN)/.ready  ## every attack, with bubblewrap and without, as root and not; the table in docs/contributing/measurements/attacks.md
	$(WITH_TESTS) -m support.hostile_ways --write

# An extra, never a condition: where it cannot be had, tests that need it are skipped and say so.
APT = DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=0 -o Acquire::http::Timeout=10

browser:  ## install a browser for the tests of pages, where that can be done without asking anybody
	@if command -v chromedriver >/dev/null && command -v chromium >/dev/null; then echo "a browser is installed"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& ($(APT) install -y chromium chromium-driver || ($(APT) update && $(APT) install -y chromium chromium-driver)) </dev/null >/dev/null 2>&1; then echo "a browser has been installed"; \
	else echo "no browser here, and no way to install one: its tests are skipped"; fi

bubblewrap:  ## install bubblewrap where that can be done without asking anybody
	@if command -v bwrap >/dev/null; then echo "bubblewrap is installed"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& ($(APT) install -y bubblewrap || ($(APT) update && $(APT) install -y bubblewrap)) </dev/null >/dev/null 2>&1; then echo "bubblewrap has been installed"; \
	else echo "no bubblewrap here, and no way to install it: its tests are skipped"; fi

picture: $(BIN)/.ready  ## the pictures, from a real terminal and browser, and the pages that the site opens
	$(WITH_TESTS) scripts/pictures.py

example-gold: $(BIN)/.ready  ## regenerate the bundled course's gold, away from this repository's history
	@if [ -n "$$(git ls-files --others $(EXAMPLE_GOLD))" ]; then \
		echo "make example-gold: $(EXAMPLE_GOLD) has files that git does not know; commit them or move them away" >&2; \
		exit 1; fi
	git clean -fdqX -- build/example
	mkdir -p build && cp -r examples/vla-course build/example
	GIT_CEILING_DIRECTORIES=$(CURDIR)/build $(BIN)/goldsmith generate all --exact --yes --course build/example
	rm -rf $(EXAMPLE_GOLD)
	cp -r build/example/tests/internal/fixtures $(EXAMPLE_GOLD)

# git removes what .gitignore names, and nothing that it tracks, nor a repository that someone keeps in there.
clean:
	git clean -fdqX -- .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis '*__pycache__*'
