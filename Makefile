# Stages in the order in which the data flows.
EXTENSION  = fillfactor_advisor
EXTVERSION = $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" fillfactor_advisor.control)

MODULE_big = fillfactor_advisor
OBJS = \
	src/module.o \
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
	src/model.o \
	src/server.o \
	src/index_definition.o

# The pieces of the install script in dependency order: tables and views first,
# then one piece per stage.
SQL_PIECES = \
	sql/00_head.sql \
	sql/schema/history.sql \
	sql/schema/statements.sql \
	sql/schema/evidence.sql \
	sql/schema/blockers.sql \
	sql/schema/advice.sql \
	sql/schema/verify.sql \
	sql/schema/fleet.sql \
	sql/schema/rehearsal.sql \
	sql/05_setting.sql \
	sql/08_alter.sql \
	sql/10_sample.sql \
	sql/15_indexed.sql \
	sql/20_collect.sql \
	sql/22_statements.sql \
	sql/24_horizon.sql \
	sql/26_settings_history.sql \
	sql/28_prune.sql \
	sql/30_memory.sql \
	sql/35_evidence.sql \
	sql/45_model.sql \
	sql/50_prediction.sql \
	sql/51_shards.sql \
	sql/52_diagnosis.sql \
	sql/53_rewrite.sql \
	sql/54_reason.sql \
	sql/55_advice.sql \
	sql/58_curve.sql \
	sql/59_exclude.sql \
	sql/60_blockers.sql \
	sql/65_indexes.sql \
	sql/70_script.sql \
	sql/72_undo.sql \
	sql/73_mixture.sql \
	sql/74_rehearsal_table.sql \
	sql/74_rehearsal_result.sql \
	sql/74_rehearsal.sql \
	sql/75_verify.sql \
	sql/76_prediction.sql \
	sql/80_settings.sql \
	sql/85_history.sql \
	sql/90_report.sql \
	sql/92_metrics.sql \
	sql/93_export.sql \
	sql/94_fleet_answer.sql \
	sql/94_fleet_refresh.sql \
	sql/94_fleet_report.sql \
	sql/95_schedule.sql \
	sql/96_progress.sql \
	sql/97_grant.sql \
	sql/99_rights.sql

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
PG_CFLAGS   = -fvisibility=hidden

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
	@PG_CONFIG='$(PG_CONFIG)' KEEP='$(KEEP)' PICTURES='$(PICTURES)' test/demo$(if $(FLEET),_fleet)

# the model's stand-alone tests, without a server
check-twin:
	@perl test/t/006_model.pl

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
$(OBJS): $(wildcard src/*.h src/*/*.h)

$(DATA_built): $(SQL_PIECES) fillfactor_advisor.control Makefile
	cat $(SQL_PIECES) > $@
endif
