# Lists the recipes
default:
    @just --list

# Builds the release binary
build:
    cargo build --release --locked

# Builds the binary that is published: smaller, slower to build
dist:
    cargo build --profile dist --locked

# Runs all tests, or those whose name contains FILTER
test *FILTER:
    cargo test --locked {{FILTER}}

# Formatting, clippy without warnings
lint:
    cargo fmt --check
    cargo clippy --locked --all-targets -- -D warnings

# Kills and fails every kind of write at every step; all of it with EMPIRICA_TEST_LONG=1
faults:
    cargo test --locked --features fault-injection --test runner -- faults_walk

# Which lines the tests reach, by file (needs cargo-llvm-cov)
coverage:
    cargo llvm-cov --locked --summary-only --failure-mode all

# Measures against plain git, as ratios in one run
bench:
    cargo bench --locked --bench ratios
    cargo bench --locked --bench history

# Everything that must pass
ci:
    .ci/run
