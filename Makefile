# Stages in the order in which the data flows.
EXTENSION  = fillfactor_advisor
EXTVERSION = $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" fillfactor_advisor.control)

MODULE_big = fillfactor_advisor
OBJS = \
	src/base/module.o \
	src/base/server.o \
	src/sample/page_heap.o \
	src/sample/page_btree.o \
	src/sample/visibility.o \
	src/sample/strata.o \
	src/sample/read.o \
	src/sample/histogram.o \
	src/sample/result.o \
	src/sample/heap.o \
	src/sample/index.o \
	src/collect/relation.o \
	src/collect/window.o \
	src/collect/lock.o \
	src/collect/collect.o \
	src/collect/statements.o \
	src/collect/memory.o \
	src/model/evidence.o \
	src/model/twin.o \
	src/model/plan.o \
	src/model/fit.o \
	src/model/forecast.o \
	src/model/decide.o \
	src/model/sql.o \
	src/apply/index_definition.o

# The pieces of the install script in dependency order: tables and views first,
# then one piece per stage.
SQL_PIECES = \
	sql/base/head.sql \
	sql/base/setting.sql \
	sql/base/alter.sql \
	sql/base/grant.sql \
	sql/sample/schema.sql \
	sql/sample/sample.sql \
	sql/collect/schema.sql \
	sql/collect/indexed.sql \
	sql/collect/collect.sql \
	sql/collect/statements.sql \
	sql/collect/horizon.sql \
	sql/collect/settings.sql \
	sql/collect/exclude.sql \
	sql/collect/schedule.sql \
	sql/collect/progress.sql \
	sql/evidence/schema.sql \
	sql/evidence/memory.sql \
	sql/evidence/evidence.sql \
	sql/model/schema.sql \
	sql/model/model.sql \
	sql/advise/schema.sql \
	sql/advise/calibration.sql \
	sql/advise/siblings.sql \
	sql/advise/diagnosis.sql \
	sql/advise/rewrite.sql \
	sql/advise/reason.sql \
	sql/advise/advice.sql \
	sql/advise/curve.sql \
	sql/explain/blockers.sql \
	sql/explain/indexes.sql \
	sql/apply/script.sql \
	sql/apply/undo.sql \
	sql/verify/schema.sql \
	sql/verify/verify.sql \
	sql/verify/prediction.sql \
	sql/verify/settings.sql \
	sql/report/history.sql \
	sql/report/report.sql \
	sql/report/metrics.sql \
	sql/report/export.sql \
	rehearsal/sql/mixture.sql \
	rehearsal/sql/table.sql \
	rehearsal/sql/result.sql \
	rehearsal/sql/rehearsal.sql \
	hub/sql/schema.sql \
	hub/sql/answer.sql \
	hub/sql/refresh.sql \
	hub/sql/report.sql \
	hub/sql/schedule.sql \
	sql/prune.sql \
	sql/rights.sql

# A release adds its frozen script to sql/; the upgrade scripts from there are
# written by hand (make upgrade-diff shows what they lack).
DATA_built = $(EXTENSION)--$(EXTVERSION).sql
DATA       = $(wildcard sql/$(EXTENSION)--*.sql)

# pg_regress: exact facts, one file per stage.
REGRESS      = \
	install \
	sample \
	sample_index \
	statements \
	memory \
	model \
	advice
REGRESS_OPTS = --inputdir=test

# isolationtester: locks.
ISOLATION      = \
	sample_locks
ISOLATION_OPTS = --inputdir=test --outputdir=.

EXTRA_CLEAN = $(DATA_built) output_iso

PG_CPPFLAGS = -I$(srcdir)/src
# PGXS sets it itself from 16 on; see compat.h
# the model gives the same bits on every machine
PG_CFLAGS   = -fvisibility=hidden -ffp-contract=off

PG_CONFIG ?= pg_config

# These targets set up what they need, so they work without PG_CONFIG:
# make test [VERSIONS="15 16 17 18 19"], make demo [KEEP=1] [PICTURES=doc] [FLEET=1], make check-twin,
# make dist (for PGXN, of what is committed), make reference (doc/reference.md,
# doc/how-it-decides.md), make upgrade-diff, make sanitize, make valgrind, make assertions,
# make faults-large, make soak [MINUTES=10], make fuzz, make fuzz-long
SET_UP = test demo check-twin dist reference upgrade-diff sanitize valgrind assertions faults-large soak fuzz fuzz-long
.PHONY: $(SET_UP)
ifneq ($(filter $(SET_UP),$(MAKECMDGOALS)),)
test:
	@PG_CONFIG='$(PG_CONFIG)' test/run $(VERSIONS)

demo:
	@PG_CONFIG='$(PG_CONFIG)' KEEP='$(KEEP)' PICTURES='$(PICTURES)' $(if $(FLEET),hub/test/demo,test/demo)

# the model's stand-alone tests, without a server
check-twin:
	@perl test/model/model.pl

# reproducible: the same bytes everywhere
dist:
	TZ=UTC git archive --format zip --prefix=$(EXTENSION)-$(EXTVERSION)/ -o $(EXTENSION)-$(EXTVERSION).zip HEAD

reference:
	@PG_CONFIG='$(PG_CONFIG)' test/reference

upgrade-diff:
	@PG_CONFIG='$(PG_CONFIG)' test/upgrade/diff

sanitize:
	@test/sanitize

# tests of the parsers and the sampler under valgrind, about ten minutes
valgrind:
	@PG_CONFIG='$(PG_CONFIG)' test/valgrind

# all tests on a server with assertions, built first
assertions:
	@test/assertions

# tests that are too large for every run
faults-large:
	@PG_CONFIG='$(PG_CONFIG)' test/faults_large

soak:
	@PG_CONFIG='$(PG_CONFIG)' MINUTES='$(MINUTES)' test/bench/soak

# The page parsers alone, under sanitizers: short after each change, long at night.
fuzz:
	@PG_CONFIG='$(PG_CONFIG)' test/fuzz/run 20

fuzz-long:
	@PG_CONFIG='$(PG_CONFIG)' test/fuzz/run 300

else
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(or $(PGXS),$(error no $(PG_CONFIG) here: install the server headers or set PG_CONFIG))

# PGXS does not track includes.
$(OBJS): $(wildcard src/*/*.h)

$(DATA_built): $(SQL_PIECES) fillfactor_advisor.control Makefile
	cat $(SQL_PIECES) > $@
endif
