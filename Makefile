# Bare `make` lists the targets.
.DEFAULT_GOAL := help
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo dev)
GO := go

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/paragents
	@$(GO) build -ldflags "-s -w -X main.version=$(VERSION)" -o bin/paragents ./cmd/paragents

.PHONY: run
run: build playground ## talk to the demo model in a scratch repository, with a short tour
	@cd playground && ../bin/paragents --config paragents.demo.yaml chat --plain --tour

# The scratch repository that make run works in: made once, ignored by git, thrown away by make clean.
.PHONY: playground
playground:
	@sh deploy/playground.sh playground

.PHONY: need
need: ## install what the tests need and is missing
	@.ci/need

.PHONY: test
test: need ## run all tests, with the race detector
	$(GO) test -race -timeout 10m ./...

.PHONY: lint
lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo 'not gofmt-ed'; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags chaos ./cmd/paragents/killtest
	$(GO) tool staticcheck ./...

.PHONY: check
check: lint test ## what CI runs

.PHONY: bench
bench: build need ## measure: ratios in one run
	@$(GO) run ./deploy/bench

.PHONY: fuzz
fuzz: need ## compare the judge with bash on many more scripts (hours), then fuzz what parses
	PARAGENTS_FUZZ_SCRIPTS=20000 $(GO) test ./core/policy/shell -run TestDifferentialAgainstBash -timeout 0
	$(GO) test ./core/policy -run '^$$' -fuzz FuzzJudge -fuzztime 5m
	$(GO) test ./bot/markup -run '^$$' -fuzz FuzzRender -fuzztime 5m

.PHONY: kills
kills: need ## kill real processes at 300 random points on each store
	PARAGENTS_KILLS=300 $(GO) test -count=1 -timeout 60m -v ./cmd/paragents/killtest

.PHONY: demo-unkillable
demo-unkillable: build need ## one minute: an approval outlives kill -9 and a restart of Redis, and runs once
	@$(GO) run ./deploy/demo

.PHONY: chaos
chaos: need ## memory after 100,000 prompts; break processes, Redis and the network under 2,000, on each kind of Redis
	@PARAGENTS_RETENTION=$${PARAGENTS_RETENTION:-100000} $(GO) test -count=1 -v -timeout 60m -run B078 ./core/scheduler
	@mkdir -p bin && $(GO) test -c -tags chaos -o bin/chaos.test ./cmd/paragents/killtest
	@cd cmd/paragents/killtest && PARAGENTS_CHAOS=$${PARAGENTS_CHAOS:-2000} ../../../bin/chaos.test -test.run Chaos -test.v -test.timeout 120m

.PHONY: demo-collisions
demo-collisions: ## five sessions edit one file a hundred times: no line is lost
	@$(GO) test -count=1 -v -run TestFiveSessionsLoseNoLine ./core/agent | grep -v '^=== '

.PHONY: outside
outside: need ## check our client against a model server that somebody else wrote
	$(GO) test -count=1 -tags outside -run Aimock ./core/llm/openai

.PHONY: clean
clean: ## remove what was built, and the playground
	@rm -rf bin playground
