# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed-$(shell cat requirements.lock pyproject.toml | cksum | cut -d' ' -f1)

# What Python compiles is kept for the next run; without it every run begins seconds later.
unexport PYTHONDONTWRITEBYTECODE

# What needs Node says so without it, and the rest goes on.
NODE := $(shell node -e 'const [a, b] = process.versions.node.split("."); console.log(a > 20 || a == 20 && b >= 19 ? "yes" : "")' 2>/dev/null)
NO_NODE := echo "skipped: the web app's own checks need Node 20.19 or later on the PATH"
MODULES := web/node_modules/.package-lock.json

.PHONY: needs-node web web-types web-check run tour test check check-types check-tests lint types layers bench bench-load prove docs docs-check lock format clean

# The product: server and browser on the sample grove, with the embedded model.
run: $(STAMP) web
	@$(BIN)/python examples/run.py

# The same grove in the terminal, a screen at a time.
tour: $(STAMP)
	@$(BIN)/python examples/tour.py

test: $(STAMP) needs-node lint types layers docs-check web web-check
	$(BIN)/pytest -n 2 --dist loadgroup -q

# Types and tests at once, a process each: that fills two cores, and nothing is loaded twice.
# An older make does not know how to keep what they say apart.
check: $(STAMP) lint layers
	@$(MAKE) --no-print-directory -k -j 2 $(if $(filter output-sync,$(.FEATURES)),-O) check-types check-tests web-check

check-types: $(STAMP)
	$(BIN)/basedpyright src

check-tests: $(STAMP)
	WEFT_INNER=1 $(BIN)/pytest -q -p no:xdist -p no:schemathesis

prove: $(STAMP)
	WEFT_PROVE=1 $(BIN)/pytest -q -m long

bench: $(STAMP)
	$(BIN)/python -m bench

# Two to five minutes: readers, writers, streams and proxy clients on both stores, then a day of use compressed.
bench-load: $(STAMP)
	$(BIN)/python -m bench load

lint: $(STAMP)
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .

types: $(STAMP)
	$(BIN)/basedpyright --threads 2

layers: $(STAMP)
	$(BIN)/lint-imports

# The app is built into the package; nothing happens if its sources have not changed.
web: $(STAMP)
	@$(BIN)/python hatch_build.py

needs-node:
	@$(if $(NODE),true,echo "make test needs Node 20.19 or later on the PATH, for the web app and its checks" >&2; exit 1)

web-types: $(STAMP) $(if $(NODE),$(MODULES))
	@$(if $(NODE),$(BIN)/python web/scripts/openapi.py | node web/scripts/generate-types.mjs,$(NO_NODE))

web-check: $(STAMP) $(if $(NODE),$(MODULES))
	@$(if $(NODE),$(BIN)/python web/scripts/openapi.py | node web/scripts/generate-types.mjs --check,$(NO_NODE))
	@$(if $(NODE),cd web && npm run -s lint && npm run -s check && npm run -s test,true)

$(MODULES): web/package-lock.json
	cd web && npm ci --no-audit --no-fund --loglevel=error

docs: $(STAMP)
	$(BIN)/python -m cogapp -r README.md docs/*.md

docs-check: $(STAMP)
	$(BIN)/python -m cogapp --check README.md docs/*.md

format: $(STAMP)
	$(BIN)/ruff check -q --fix . || true
	$(BIN)/ruff format -q .

lock: $(STAMP)
	$(BIN)/uv pip compile pyproject.toml --extra all --group dev --universal --python-version 3.11 --generate-hashes --upgrade -o requirements.lock -q

$(STAMP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	rm -f .venv/.installed-*
	touch $@

clean:
	rm -rf .venv .sample .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
