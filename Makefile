# Each target sets up what it needs (.venv, node_modules) and redoes only what changed.
.POSIX:
PYTHON = python3
BIN = .venv/bin
READY = .venv/ready node_modules/ready
# These nbval runs anew with every test. What each chapter printed while it was built, a test compares anyway.
QUICK = chapters/10-*.ipynb chapters/relatives.ipynb

book: $(READY)
	$(BIN)/python site/build/build.py

# What takes seconds comes before what takes minutes. Three workers on two cores: tests also wait, for servers and frames.
test: needs lint browser book
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 3 --junitxml=_build/reports/tests.xml $(QUICK) tests

needs:
	@for tool in bash git; do \
		command -v $$tool >/dev/null || { echo "make test needs $$tool: install it and try again." >&2; exit 1; }; done

# The one that is installed, or one that it brings.
browser: $(READY)
	$(BIN)/python tests/chromium.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/nbstripout --keep-id --verify chapters/*.ipynb
	$(BIN)/node node_modules/@biomejs/biome/bin/biome ci --formatter-enabled=false
	$(BIN)/node node_modules/typescript/bin/tsc -p .

# What the wheel holds of the browser's code, after its modules have changed.
bundle: $(READY)
	$(BIN)/python tools/bundle.py

# Editions for a class: without the solutions, and with them open.
student teacher: $(READY)
	$(BIN)/python site/build/build.py --edition $@

# Whether the pages that the book links to are still there; needs the network.
links: book
	$(BIN)/jupyter-book build . --builder linkcheck -q

# Sentences that set a picture, each beside what the picture then says: ten minutes, and as long again to read.
captions: browser book
	@$(BIN)/python tests/captions.py

bench: browser book .venv/peers
	$(BIN)/pytest -q -s tests/bench.py tests/bench_press.py tests/bench_lesions.py tests/bench_layer.py tests/bench_train.py \
		tests/bench_evidence.py tests/bench_gates.py tests/bench_xray.py

# Lighthouse measures time, so it has the machine to itself.
audit: browser book .venv/audit tests/audit/node_modules/ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 chapters
	$(BIN)/pytest -q -s -m audit tests/audit/audit.py::test_lighthouse
	$(BIN)/pytest -q -n 2 -rP -m audit tests/test_*.py tests/audit/audit.py tests/audit/mutants.py \
		--deselect tests/audit/audit.py::test_lighthouse

# A class of 30 on a real JupyterHub. As root: each reader gets a Unix account for the while.
hub: $(READY) .venv/hub tests/hub/node_modules/ready
	$(BIN)/pytest -q -s tests/hub/load.py

# What chapters/evidence lacks, or has from other code. `tools/evidence.py --all` measures all, four hours of a core.
evidence: $(READY)
	$(BIN)/python tools/evidence.py

# Pretrained nets that chapters measure, 480 MB, into the user's cache, or `make model NETS="smollm2 minilm"`. Who
# builds, tests or reads needs them not.
model: .venv/model
	$(BIN)/python -m plusx.nets.pretrained $(NETS)

# What chapters/data/graph-nets.json keeps of nets for crystals and proteins: half an hour of a core.
graphs: .venv/graphs
	OMP_NUM_THREADS=1 PYTHONPATH=.venv/graphs $(BIN)/python tools/graphs.py

lab: $(READY)
	$(BIN)/jupyter lab --notebook-dir=. chapters

clean:
	rm -rf _build .pytest_cache .ruff_cache .hypothesis

.venv/ready: requirements.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
		"Plus x needs Python 3.11 or newer: make PYTHON=/path/to/python3")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

# --ignore-scripts: the packages are plain files, nothing to build or run. Errors alone are shown, as pip's --quiet does.
node_modules/ready: .venv/ready package.json package-lock.json
	$(BIN)/npm ci --ignore-scripts --loglevel=error
	touch $@

.venv/audit: tests/audit/requirements.txt .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -r tests/audit/requirements.txt
	touch $@

.venv/model: tools/model.txt .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -r tools/model.txt
	touch $@

tests/audit/node_modules/ready: .venv/ready tests/audit/package.json tests/audit/package-lock.json
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/npm ci --prefix tests/audit --ignore-scripts --loglevel=error
	touch $@

# In a folder of their own, which nothing else sees; their torch is the book's.
.venv/peers: tests/peers.txt .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $@ -r tests/peers.txt
	touch $@

.venv/graphs: tools/graphs.txt .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $@ -r tools/graphs.txt
	touch $@

.venv/hub: tests/hub/requirements.txt .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -r tests/hub/requirements.txt
	touch $@

tests/hub/node_modules/ready: .venv/ready tests/hub/package.json tests/hub/package-lock.json
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/npm ci --prefix tests/hub --ignore-scripts --loglevel=error
	touch $@

.PHONY: book test needs browser lint bundle student teacher links captions bench audit hub evidence model graphs lab clean
