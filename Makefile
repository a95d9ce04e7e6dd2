# The project's tasks. `make` without a target lists them.
.DEFAULT_GOAL := help
.PHONY: help toolchain demo test gate gauntlet format clippy doc check deny sbom sim planted kill faults hostile timed properties rate \
	slow fuzz webhook-load bench schemathesis interop interop-engines dist

CARGO ?= cargo
# The tests, the examples and the demo link the same compiled crates: one feature has what tests need.
HARNESS := --features harness,book-postgres
# For long simulation runs: simulation.
PROFILE ?= test
IGNORED := $(CARGO) test --profile $(PROFILE) $(HARNESS) --test it -- --ignored --nocapture

help: ## Show this list
	@echo "Start with: make demo. The targets need no network except crates.io (and PyPI for interop), and cost no credits."
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Says what to install, before a build fails in the middle.
toolchain:
	@tests/toolchain.sh "$(CARGO)"

demo: toolchain ## Check a sample list against the built-in simulator; writes to rescreen-demo/
	$(CARGO) run $(HARNESS) -- demo --dir rescreen-demo

EXAMPLES := monthly_aml_book vehicle_fleet check_of_your_own onboarding supplier_banking
test: toolchain ## Run all tests that need no real time, and the examples (with cargo-nextest if it is installed)
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run --workspace $(HARNESS) --no-fail-fast; \
	else \
		echo "cargo-nextest is not installed: cargo test has no time limit for a test, and does not run the tests of the gate itself"; \
		$(CARGO) test --workspace $(HARNESS) --lib --bins --tests --no-fail-fast; \
	fi
	@for example in $(EXAMPLES); do \
		echo "example $$example"; \
		$(CARGO) run --quiet $(HARNESS) --example $$example || exit 1; \
	done

gate: toolchain ## Run what a change must pass before it is merged, and write target/gate.json (GATE_AGAIN=1 repeats it)
	@tests/ci/gate

gauntlet: toolchain ## Run what needs real time, kills, new seeds or a long run (ONLY="make-kill …", GAUNTLET_SEED=N)
	@tests/ci/gauntlet

check: deny format clippy doc ## Check formatting, lints, documentation and licences

format:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --workspace --all-targets $(HARNESS) -- -D warnings

doc:
	$(CARGO) test --workspace --doc $(HARNESS)
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

# Advisories change over time and need a network: .github/workflows/advisories.yml checks them.
deny:
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
		$(CARGO) deny check bans licenses sources; \
	else \
		echo "SKIPPED: cargo-deny is not installed; bans, licences and sources are not checked (cargo install cargo-deny --locked)"; \
	fi

sbom: ## List the crates in a release as CycloneDX (rescreen.cdx.json), with cargo-cyclonedx
	@if $(CARGO) cyclonedx --version >/dev/null 2>&1; then \
		$(CARGO) cyclonedx --format json --target all --override-filename rescreen.cdx; \
	else \
		echo "SKIPPED: cargo-cyclonedx is not installed (cargo install cargo-cyclonedx --locked)"; \
	fi

sim: ## Run campaigns in simulated time, each from a seed (SEEDS=N: how many, FIRST=N: from which; SEED=N: repeat one)
	FIRST=$(FIRST) SEED=$(SEED) SEEDS=$(SEEDS) $(IGNORED) --exact sim::seeds

planted: ## Plant each known bug in a copy, check that the simulation finds it, and print a table (RESCREEN_PLANTED=name: only one)
	@tests/planted/run

kill: ## Kill runs 20 times in each of two campaigns, resume them, and count the charges (RESCREEN_KILLS=N: how often)
	$(IGNORED) kill::

faults: ## Make each write, fsync, rename, commit and storage call of small campaigns fail once; the next run must complete them
	$(IGNORED) faults::

hostile: ## Run the real binary against misbehaving servers (several minutes)
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run $(HARNESS) --test it --run-ignored only --no-fail-fast --test-threads 12 -E 'test(/^hostile::/) - test(/::timed::/)'; \
	else \
		echo "cargo-nextest is not installed; using cargo test"; \
		$(CARGO) test $(HARNESS) --test it hostile:: -- --ignored --skip ::timed::; \
	fi

timed: ## Run the tests that need real time or a quiet machine (needs cargo-nextest)
	$(CARGO) nextest run --workspace $(HARNESS) --profile gauntlet --run-ignored only --no-fail-fast -E 'test(/(^|::)timed::/) | test(/(^|::)memory::/)'

properties: ## Test keys and bodies with a million random cases each (PROPTEST_CASES=N), slower properties with fewer
	PROPTEST_CASES=$(PROPTEST_CASES) PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED) $(IGNORED) --exact properties::a_long_run_finds_no_violation

schemathesis: ## Test the simulator with requests made from its OpenAPI document (skipped without schemathesis; two minutes)
	$(CARGO) build $(HARNESS)
	@tests/schemathesis.sh

interop: toolchain ## Read real outputs with DuckDB, pyarrow, polars, pandas, PostgreSQL and dbt (tools from PyPI; a minute)
	@tests/interop/run || [ $$? -eq 77 ]

interop-engines: toolchain ## The same with PySpark, Iceberg, Delta, Airflow, Dagster and Ray (two gigabytes of tools from PyPI; minutes)
	@tests/interop/run engines || [ $$? -eq 77 ]

rate: ## Test the rate limit in real time, with each run and the service in a separate process (under five minutes)
	$(IGNORED) --test-threads=1 rate::real_time

fuzz: export FUZZ_SECONDS ?= 60
fuzz: ## Run each fuzz target for FUZZ_SECONDS seconds, with cargo-fuzz and a nightly toolchain (make test replays the corpus)
	@fuzz/run $(TARGET)

webhook-load: ## Send the receiver 200 deliveries a second for 30 seconds, and print how fast it answers
	$(IGNORED) webhook::load

slow: ## Run the other tests that take minutes
	$(IGNORED) --skip kill:: --skip faults:: --skip hostile:: --skip properties:: --skip rate:: --skip sim:: --skip webhook::load --skip ::timed:: --skip memory::

bench: ## Compare speed, memory and size with the goals and a bare client (minutes; BENCH_PARTS, BENCH_PAIRS, BENCH_ROWS, BENCH_LARGE=1)
	$(CARGO) bench --bench campaign

dist: toolchain ## Make and test the packages of a release, in target/packages (TARGETS, ONLY; needs PyPI, crates.io and root; 30 minutes)
	@packages/make
