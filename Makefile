# The project's tasks. `make` without a target lists them.
.DEFAULT_GOAL := help
.PHONY: help toolchain demo test check deny sbom sim planted kill kill-short faults hostile properties rate fuzz slow webhook-load bench schemathesis interop interop-engines

CARGO ?= cargo

help: ## Show this list
	@echo "Start with: make demo. The targets need no network except crates.io (and PyPI for interop), and cost no credits."
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Says what to install, before a build fails in the middle.
toolchain:
	@tests/toolchain.sh "$(CARGO)"

# Uses the dev profile, so that `make test` can reuse the build.
demo: toolchain ## Check a sample list against the built-in simulator; writes to rescreen-demo/
	$(CARGO) run -- demo --dir rescreen-demo

test: toolchain ## Run all tests and the examples (with cargo-nextest if it is installed)
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run --no-fail-fast; \
	else \
		echo "cargo-nextest is not installed; using cargo test"; \
		$(CARGO) test --lib --bins --tests --no-fail-fast; \
	fi
	$(CARGO) test --doc
	$(CARGO) run --quiet --example monthly_aml_book
	$(CARGO) run --quiet --example vehicle_fleet
	$(CARGO) run --quiet --example check_of_your_own
	$(CARGO) run --quiet --example onboarding
	$(CARGO) run --quiet --example supplier_banking

check: deny ## Check formatting, lints, documentation and licences
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps

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

SEEDS ?= 250
PROFILE ?= test
sim: ## Run campaigns in simulated time, each from a seed (SEEDS=N: how many; SEED=N: repeat one; PROFILE=simulation for long runs)
	SEED=$(SEED) SEEDS=$(SEEDS) $(CARGO) test --profile $(PROFILE) --test it -- --ignored --exact sim::seeds --nocapture

planted: ## Plant one bug after another, which the simulation must find, and print a table (RESCREEN_PLANTED=name: only one)
	$(CARGO) test --profile $(PROFILE) --features planted-bugs --test it planted:: -- --ignored --nocapture

kill-short: ## Kill runs 20 times in each of two campaigns, resume them, and count the charges (about two minutes)
	$(CARGO) test --test it kill:: -- --ignored --nocapture

kill: export RESCREEN_KILLS ?= 500
kill: ## The same with 500 kills (RESCREEN_KILLS=N; half an hour)
	$(CARGO) test --test it kill:: -- --ignored --nocapture

faults: ## Make each write, fsync, rename and commit of a small campaign fail once, and each storage call, including SQLite's; the next run must complete it
	$(CARGO) test --features fault-points --test it faults:: -- --ignored --nocapture

hostile: ## Run the real binary against misbehaving servers (several minutes)
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run --test it --run-ignored only --no-fail-fast --test-threads 6 hostile::; \
	else \
		echo "cargo-nextest is not installed; using cargo test"; \
		$(CARGO) test --test it hostile:: -- --ignored; \
	fi

properties: ## Test keys and bodies with a million random cases each (PROPTEST_CASES=N), slower properties with fewer
	PROPTEST_CASES=$(PROPTEST_CASES) PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED) $(CARGO) test --test it -- --ignored --exact properties::a_long_run_finds_no_violation --nocapture

schemathesis: ## Test the simulator with requests made from its OpenAPI document (skipped without schemathesis; two minutes)
	$(CARGO) build
	@tests/schemathesis.sh

interop: toolchain ## Read real outputs with DuckDB, pyarrow, polars, pandas, PostgreSQL and dbt (tools from PyPI; a minute)
	@tests/interop/run || [ $$? -eq 77 ]

interop-engines: toolchain ## The same with PySpark, Iceberg, Delta, Airflow and Dagster (a gigabyte of tools from PyPI; minutes)
	@tests/interop/run engines || [ $$? -eq 77 ]

rate: ## Test the rate limit in real time, with each run and the service in a separate process (under five minutes)
	$(CARGO) test --test it rate:: -- --ignored --nocapture --test-threads=1

fuzz: export FUZZ_SECONDS ?= 600
fuzz: ## Run each fuzz target for FUZZ_SECONDS seconds, with cargo-fuzz and a nightly toolchain (make test replays the corpus)
	@fuzz/run $(TARGET)

webhook-load: ## Send the receiver 200 deliveries a second for 30 seconds, and print how fast it answers
	$(CARGO) test --test it webhook::load -- --ignored --nocapture

slow: ## Run the other tests that take real time (a few minutes)
	$(CARGO) test --test it -- --ignored --skip kill:: --skip faults:: --skip hostile:: --skip properties:: --skip rate:: --skip sim:: --skip webhook::load

bench: ## Compare speed, memory and size with the goals and a bare client (minutes; BENCH_PARTS, BENCH_PAIRS, BENCH_ROWS, BENCH_LARGE=1)
	$(CARGO) bench --bench campaign
