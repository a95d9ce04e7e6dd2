# What is done with this project. `make` alone prints the list.
.DEFAULT_GOAL := help
.PHONY: help demo test check deny sbom sim planted kill kill-short faults hostile properties rate fuzz slow bench

CARGO ?= cargo

help: ## This list
	@echo "make demo is the place to begin. Nothing here needs a network beyond crates.io, or costs a credit."
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# The dev profile: its build serves `make test` too.
demo: ## A sample book against the built-in simulator, into rescreen-demo/
	$(CARGO) run -- demo --dir rescreen-demo

test: ## All tests and the examples (cargo-nextest where it is present)
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run --no-fail-fast; \
	else \
		echo "cargo-nextest is not here: cargo test takes its place"; \
		$(CARGO) test --lib --bins --tests --no-fail-fast; \
	fi
	$(CARGO) test --doc
	$(CARGO) run --quiet --example monthly_aml_book
	$(CARGO) run --quiet --example vehicle_fleet
	$(CARGO) run --quiet --example check_of_your_own

check: deny ## Form, lints, documentation, licences: all must be clean
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps

# Advisories change by themselves and need a network: .github/workflows/advisories.yml looks at them.
deny:
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
		$(CARGO) deny check bans licenses sources; \
	else \
		echo "SKIPPED: cargo-deny is not here, so bans, licences and sources are not checked (cargo install cargo-deny --locked)"; \
	fi

sbom: ## The crates that a release is built of, as CycloneDX (rescreen.cdx.json), with cargo-cyclonedx
	@if $(CARGO) cyclonedx --version >/dev/null 2>&1; then \
		$(CARGO) cyclonedx --format json --target all --override-filename rescreen.cdx; \
	else \
		echo "SKIPPED: cargo-cyclonedx is not installed (cargo install cargo-cyclonedx --locked)"; \
	fi

SEEDS ?= 250
PROFILE ?= test
sim: ## Whole campaigns in simulated time, each from a seed: SEEDS=N of them, or SEED=… again; PROFILE=simulation for long runs
	SEED=$(SEED) SEEDS=$(SEEDS) $(CARGO) test --profile $(PROFILE) --test it -- --ignored --exact sim::seeds --nocapture

planted: ## Plants one bug after another for the simulation to find, and prints the table (RESCREEN_PLANTED=name: one)
	$(CARGO) test --profile $(PROFILE) --features planted-bugs --test it planted:: -- --ignored --nocapture

kill-short: ## Kill a run 20 times, go on, and count the charges: about half a minute of real time
	$(CARGO) test --test it kill:: -- --ignored --nocapture

kill: export RESCREEN_KILLS ?= 500
kill: ## The same with 500 kills (RESCREEN_KILLS): some minutes
	$(CARGO) test --test it kill:: -- --ignored --nocapture

faults: ## Every write, fsync, rename and commit of a small campaign fails in its turn, and so do its storage calls, those of SQLite too; the next run completes it
	$(CARGO) test --features fault-points --test it faults:: -- --ignored --nocapture

hostile: ## Hand-made servers that misbehave, against the real binary: some minutes
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run --test it --run-ignored only --no-fail-fast --test-threads 6 hostile::; \
	else \
		echo "cargo-nextest is not here: cargo test takes its place"; \
		$(CARGO) test --test it hostile:: -- --ignored; \
	fi

properties: ## Keys and bodies with a million random cases each (PROPTEST_CASES=N), the slower properties with their part of it
	PROPTEST_CASES=$(PROPTEST_CASES) PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED) $(CARGO) test --test it -- --ignored --exact properties::a_long_run_finds_no_violation --nocapture

rate: ## The rate limit in real time, each run and the service in processes of their own: less than six minutes
	$(CARGO) test --test it rate:: -- --ignored --nocapture --test-threads=1

fuzz: export FUZZ_SECONDS ?= 600
fuzz: ## Each fuzz target so many seconds (FUZZ_SECONDS), with cargo-fuzz and a nightly toolchain; make test replays the corpus
	@fuzz/run $(TARGET)

slow: ## The other tests that take real time: less than a minute
	$(CARGO) test --test it -- --ignored --skip kill:: --skip faults:: --skip hostile:: --skip properties:: --skip rate:: --skip sim::

bench: ## Speed, memory and size against the goals, beside a bare client (minutes; BENCH_PARTS, BENCH_PAIRS, BENCH_ROWS, BENCH_LARGE=1)
	$(CARGO) bench --bench campaign
