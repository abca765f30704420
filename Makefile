# make demo   build, then a baseline-against-optimized study on the embedded server
# make test   everything the tests need, then all of them
# make build  the tools, in target/release

CARGO ?= cargo
TOOLS := gen-dataset fire-requests summarize compare sim-server

.PHONY: build demo test lint doc install jq clean

build:
	$(CARGO) build --release --locked

demo: build
	bash lab/demo.sh

test: jq
	$(CARGO) test --release --locked --workspace

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --release --locked --workspace --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --locked --workspace --no-deps

install:
	for tool in $(TOOLS); do $(CARGO) install --locked --path $$tool || exit 1; done

# The README's recipes use jq, and the tests run the README.
jq:
	@command -v jq >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -y -qq jq; \
	  else echo "make: jq is missing; install it (apt-get install jq, brew install jq)" >&2; exit 1; fi; }

clean:
	$(CARGO) clean
