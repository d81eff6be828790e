# aptix-edge's commands. `make help` lists them; each installs its missing tools (tools/setup/setup).

SHELL := bash
.SHELLFLAGS := --norc -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# The version of a crate in Cargo.lock, since a tool must have exactly its library's version.
locked = $(shell awk -v name='"$(1)"' '$$1 == "name" { found = $$3 == name } \
	found && $$1 == "version" { gsub(/"/, "", $$3); print $$3; exit }' Cargo.lock)

# An option of a program, where there is a value for it.
option = $(if $(2),--$(1) '$(subst ','\'',$(2))')

client := clients/typescript
python := clients/python

# The commit, as the build tells it of itself. What is deployed, packed or released is of the present one; for a test, a build
# that tells an earlier one is good enough.
commit = $(shell git describe --always --dirty --abbrev=8 --exclude '*' 2>/dev/null || cat .commit 2>/dev/null)
tells_commit := $(filter deploy package packages release,$(MAKECMDGOALS))

# The unit tests compute little, and the crate is compiled for them alone.
export UNIT_TESTS := --lib --config profile.dev.package.aptix-edge.opt-level=0

# Clippy compiles as rustc does, so that whatever is tested is linted on the way: a check of its own would read everything
# once more. The second variable is how `cargo clippy` itself hands its arguments on.
export LINTED := env RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__

# Where no HOME is set, as in a unit of systemd, it is the one of the system's users.
ifeq ($(HOME),)
export HOME := $(shell unset HOME && echo ~)
endif

# The tools live in one per-user cache, so that a second checkout reuses those of the first.
export APTIX_CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/aptix-edge
export WORKER_VERSION := $(call locked,worker)
export WASM_BINDGEN_VERSION := $(call locked,wasm-bindgen)
export WORKER_BUILD_BIN := $(APTIX_CACHE)/worker-build-$(WORKER_VERSION)/bin/worker-build
export CARGO_DENY_VERSION := 0.20.2
export CARGO_DENY_BIN := $(APTIX_CACHE)/cargo-deny-$(CARGO_DENY_VERSION)/bin/cargo-deny
# worker-build takes its tools from these paths and downloads none.
export WASM_BINDGEN_BIN := $(APTIX_CACHE)/wasm-bindgen-$(WASM_BINDGEN_VERSION)/bin/wasm-bindgen
export WASM_OPT_BIN := $(CURDIR)/node_modules/.bin/wasm-opt
export ESBUILD_BIN := $(CURDIR)/node_modules/.bin/esbuild
# wrangler and Miniflare need Node 22, which node_modules/.bin holds.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

.PHONY: help setup dev build build-dev client check test test-steps test-native test-worker test-build test-client test-tools \
	test-long bench bench-limits bench-retrieval check-catalog replay-bundle rehearse check-openapi check-dependencies sbom package packages release deploy fmt clean
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' Makefile

dev: $(or $(APTIX_BUILD),build-dev) ## serve on 127.0.0.1:8787 (PORT=…), a change after seconds; without a key, with a stand-in for the model service; CATALOG=catalog.json for yours; TRACE=1 prints each turn's spans
	@exec node tools/dev/dev.mjs

# The tests in JavaScript wait more than they compute, so four files run at once, beside the native tests, which compute.
scripts = $(sort $(shell find tests $(client)/test $(python)/test -name node_modules -prune -o -name '*.test.mjs' -print))
step := tools/test_run/step

check: setup ## while editing: format, lints and the native tests that the change can concern; a minute once the crate is compiled, two where whole turns are concerned
	cargo fmt --check
	@git ls-files -z src tests clients tools server | xargs -0 wc -l | awk '$$1 > 500 && $$2 ~ /\.(rs|m?[jt]sx?|css)$$/ && $$2 !~ /\/openapi\.ts$$/ { print "warning: " $$2 " has " $$1 " lines: is it one thought?" }'
	tools/test_run/concerned
	@echo 'make check: passed; make test runs everything'

test: ## everything: licences, format, lints, native tests, release build, bundle size, end to end; 11 minutes, the first time 18; REPORT=1 lists what each step and file cost
	@tools/setup/setup packages
	@echo 'make test: about 11 minutes; 18 where nothing is compiled yet'
	@node tools/test_run/report.mjs begin
	@status=0; $(MAKE) test-steps || status=$$?; node tools/test_run/report.mjs end $$status $(if $(REPORT),--all)

test-steps:
	$(step) format cargo fmt --check
	@tools/setup/side_by_side test-native test-worker

# The programs that tests in JavaScript run. A native test with them, so that all is compiled with the same features.
programs := $(LINTED) cargo build --locked --workspace --bins --test native

# The half of `make test` that computes. It gives way to the other half, which takes longer and whose tests hold short times.
test-native:
	$(step) programs nice $(programs)
	$(step) 'native tests' nice $(LINTED) cargo test --locked --workspace --exclude aptix-edge
	$(step) 'unit tests' nice $(LINTED) cargo test --locked $(UNIT_TESTS)

test-worker:
	@tools/setup/side_by_side test-build test-client test-tools
	@# cargo waits for the other half here, until the programs are compiled; the tests would wait for whatever it compiles.
	$(programs)
	@compgen -G 'tests/e2e/*.test.mjs' >/dev/null || { echo 'make test: tests/e2e/ holds no *.test.mjs' >&2; exit 1; }
	APTIX_PROGRAMS=built $(step) 'tests in JavaScript' node tools/test_run/run.mjs $(scripts)

test-build: setup
	$(step) 'release build' $(MAKE) build build-server/.complete
	tools/setup/bundle_size

# Beside the build, since its packages come from the network for up to two minutes, the first time.
test-client:
	$(step) client $(MAKE) $(client)/dist/index.js

# What only the tests need, and what waits for the network for minutes, the first time. Where it is missing, they say so, and
# all others run.
test-tools:
	-tools/setup/setup chromium
	-$(step) 'tools in Python' tools/setup/python_tools >/dev/null

test-long: build client build-server/.complete ## the random tests at length, every cut of the client's streams, a mixed load of 80 clients for MINUTES=8, one whose process is ended KILLS=30 times, the end-to-end tests over the package's server, and the release before with this one (APTIX_SEED=… repeats one)
	APTIX_LONG_TESTS=1 cargo test --locked -p native -- --nocapture walk:: interleavings:: rows::
	APTIX_LONG_TESTS=1 cargo test --locked -p native -- --nocapture fuzz::
	APTIX_LONG_TESTS=1 node --test --test-concurrency=1 tests/e2e/erased_any_time.test.mjs tests/e2e/hostile_bytes.test.mjs $(client)/test/never_wrong_about_an_end.test.mjs $(client)/test/ag_ui_streams.test.mjs $(client)/test/ignored.test.mjs $(python)/test/python.test.mjs tests/browser/playground.test.mjs
	node tests/long/mixed_load.mjs
	node tests/long/kills.mjs
	node tests/server/end_to_end.mjs
	node --test tests/long/two_releases.mjs
	$(MAKE) check-openapi

bench-limits: build ## what each kind of request costs at its limits, as the table of docs/performance.md has it: three minutes (KINDS=scope,bodies: those)
	@node tests/bench/limits.mjs

bench: build build-server/.complete tests/bench/node_modules/.installed-lock ## what a turn costs, beside the least possible, plain JavaScript, the Agents SDK and one's own server: a quarter of an hour; QUICK=1, two minutes
	@node tests/bench/bench.mjs

# Packages of the bench alone, among them the newest workerd; no other command needs them. Not `npm ci`, which refuses
# a lock without the binaries of every platform: not every registry has those of the newest versions.
tests/bench/node_modules/.installed-lock: tests/bench/package-lock.json
	@rm -rf $(@D)
	cd tests/bench && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error
	@cp $< $@

bench-retrieval: build ## how good and how fast retrieval is, against FTS5 with stems and paths (CORPORA=folder: over these, too), and what it costs in workerd, with and without embeddings
	cargo test --locked --profile native-bench -p native retrieval::bench:: -- --ignored --nocapture --test-threads=1
	@node tests/bench/retrieval.mjs

build: setup build/.complete build-playground/index.html ## the Worker, release, in build/ (index.js and index_bg.wasm), and the playground's page in build-playground/

build-dev: setup build-dev/.complete build-playground/index.html ## the Worker as `make dev` serves it, in build-dev/: not optimised, built in seconds

client: setup $(client)/dist/index.js ## the client in TypeScript, in clients/typescript/dist/

check-catalog: ## every fault of a catalog, with its place: FILE=catalog.json, SECRETS="NAME …" for those that are set; ONLINE=1 also asks its model services, embeddings and MCP servers, ONLINE=mcp these alone; ONLINE=webhooks sends each webhook a signed message
	@[ -x target/debug/check-catalog ] || echo 'make check-catalog: compiling the check, some minutes the first time' >&2
	@cargo run --quiet --locked --package check-catalog --bin check-catalog -- $(if $(FILE),'$(FILE)')

replay-bundle: ## rebuild every model call of a session's export, and run the session again: FILE=export.json
	@cargo run --quiet --locked --package replay --bin replay-bundle -- $(if $(FILE),'$(FILE)')

rehearse: setup build-server/.complete ## run recorded sessions again under another catalog, with the real model service and no tool of the real world: EXPORTS='a.json exports/', CATALOG=new.json, CONTEXT=…, BASELINE=1, JUDGE=…, TIMES=…, MAX_DRIFT=0.1, MIN_SCORE=0.8, JUNIT=…, JSON=…, CONFIG=…, ENV=…
	@node build-server/dist/cli.mjs rehearse $(EXPORTS) $(call option,catalog,$(CATALOG)) $(call option,context,$(CONTEXT)) \
		$(call option,baseline,$(BASELINE)) $(call option,judge,$(JUDGE)) $(call option,times,$(TIMES)) $(call option,max-drift,$(MAX_DRIFT)) \
		$(call option,min-score,$(MIN_SCORE)) $(call option,junit,$(JUNIT)) $(call option,json,$(JSON)) $(call option,config,$(CONFIG)) $(call option,env,$(ENV))

check-openapi: build ## what Spectral, Redocly, openapi-python-client and Schemathesis make of GET /openapi.json, two minutes; without Python, only the first two
	@node tests/published/check.mjs "$$(tools/setup/openapi_tools)"

check-dependencies: ## licences and sources of the crates in Cargo.lock, published advisories of crates and npm packages
	@tools/setup/check_dependencies

sbom: setup build-playground/index.html ## what the product is made of and made with, as CycloneDX 1.6, in build/sbom.cdx.json
	@node tools/setup/sbom.mjs

package: setup build-server/.complete ## the package aptix-edge-server: one's own server, local work and deploying without Rust; in build-server/, its archive in build-packages/
	@node server/build.mjs --pack

# What `make release` makes, once.
packages: setup build-server/.complete client ## the packages of server and clients, for machines without compilers, in build-packages/
	@node tools/release/packages.mjs

release: packages ## the packages of server and clients with checksums and SBOM, in build-release/; all of it is built twice, which takes ten minutes, and a difference fails
	@APTIX_COMMIT='$(commit)' node tools/release/release.mjs

# There is no default: of two Workers, the wrong one would get the upload.
ifneq ($(filter deploy,$(MAKECMDGOALS)),)
ifeq ($(CONFIG),)
$(error name what is deployed: make deploy CONFIG=../my-agent/server.json, a configuration of your own (docs/operations.md, Deploy), or CONFIG=wrangler.toml, the checkout as it is)
endif
# wrangler only warns of an environment that is not there, and uploads over the buckets and namespaces of the file.
ifneq ($(and $(ENV),$(filter %.toml,$(CONFIG))),)
$(error ENV is an environment of a server.json, and $(CONFIG) is none: leave ENV away, or name a CONFIG of your own (docs/deployment.md, A copy for trying))
endif
endif
deploy: $(if $(filter %.toml,$(CONFIG)),build,setup build-server/.complete) ## upload to Cloudflare (wrangler asks for the account): CONFIG=../my-agent/server.json, a configuration of your own, ENV=staging for one of its environments; or CONFIG=wrangler.toml; the version's tag is the commit; DRY_RUN=1 uploads nothing
	$(if $(filter %.toml,$(CONFIG)),wrangler deploy --config '$(CONFIG)' $(addprefix --tag ,$(commit)),node build-server/dist/cli.mjs deploy --config '$(CONFIG)' $(if $(ENV),--env '$(ENV)')) $(if $(DRY_RUN),--dry-run)

fmt: ## format the Rust code
	cargo fmt

setup: ## only bring what the other commands need
	@tools/setup/setup

clean: ## remove what the commands made here; the tools in the per-user cache stay
	rm -rf build build-dev build-packages build-playground build-playground-shots build-release build-release-differs build-server target node_modules .wrangler $(client)/dist $(client)/node_modules tests/bench/node_modules

# The sources of the Worker. The stamp carries the time at which the build began, so that an edit during the
# build triggers another. Until then a file of this make's own carries it: where two build at once, as two `make dev` do, the
# first to end must not stand for what was saved before the second began.
sources := Cargo.toml Cargo.lock package-lock.json $(shell find src -type f)
missing = $(if $(wildcard $(1)),,missing-output)
missing_output = $(if $(and $(wildcard $(1)/index.js),$(wildcard $(1)/index_bg.wasm)),,missing-output)

build/.complete: $(sources) tools/setup/without_paths tools/setup/cdylib_alone/cargo $(call missing_output,build) \
		$(if $(tells_commit),$(if $(filter $(commit),$(shell cat build/.commit 2>/dev/null)),,missing-output))
	@echo 'make build: two minutes, the first time three' >&2
	@mkdir -p build && touch build/.begun-$$PPID
	APTIX_COMMIT='$(commit)' RUST_BACKTRACE=0 tools/setup/wasm_toolchain tools/setup/without_paths "$$WORKER_BUILD_BIN" --release
	@echo '$(commit)' > build/.commit
	@# worker-build keeps the names of functions, a quarter of the module.
	@"$$WASM_OPT_BIN" build/index_bg.wasm --strip-debug -o build/index_bg.wasm
	@mv build/.begun-$$PPID $@

# A folder of its own, since tests, bench and deploy use build/. Unoptimised, futures that hold each other need more than
# the usual megabyte of stack: where a conversation is compacted, the object would never answer. The names of functions are half
# of the module, and a saved change waits for wasm-bindgen to read it; the two sections that stay are what it needs.
# In this variable, since cargo would pass over those of a target where RUSTFLAGS is set; it is one flag, with spaces.
build-dev/.complete: export CARGO_ENCODED_RUSTFLAGS := -Clink-args=-zstack-size=16777216 --strip-all \
	--keep-section=__wasm_bindgen_unstable --keep-section=target_features
build-dev/.complete: $(sources) $(call missing_output,build-dev)
	@mkdir -p build-dev && touch build-dev/.begun-$$PPID
	RUST_BACKTRACE=0 tools/setup/wasm_toolchain bash -c 'PATH="$$PWD/tools/setup/cdylib_alone:$$PATH" "$$0" "$$@"' \
		"$$WORKER_BUILD_BIN" --profile worker-dev --no-opt --out-dir build-dev
	@mv build-dev/.begun-$$PPID $@

build-server/.complete: build/.complete build-playground/index.html package-lock.json Cargo.lock wrangler.toml LICENSE docs/configuration.md \
		$(shell find server tools/dev tools/rehearse tests/fakes/model_service -type f) $(call missing,build-server/dist/cli.mjs)
	@node server/build.mjs
	@touch $@

# The page is written last, so it is there only with all that it names.
build-playground/index.html: package-lock.json $(shell find clients/playground clients/typescript/src -type f -not -name '*.md')
	@node clients/playground/build.mjs

$(client)/dist/index.js: $(client)/node_modules/.installed-lock $(client)/build.mjs $(client)/tsconfig.json \
		$(shell find $(client)/src -type f)
	node $(client)/build.mjs

# Packages of the client's development alone: compilers, checks of packages, the SDKs that its tests run.
$(client)/node_modules/.installed-lock: $(client)/package-lock.json
	cd $(client) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@cp $< $@

.PHONY: missing-output
missing-output:
