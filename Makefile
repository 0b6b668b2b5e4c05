# Stages in the order in which the data flows.
EXTENSION  = fillfactor_advisor hub/fillfactor_advisor_hub
EXTVERSION = $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" fillfactor_advisor.control)

MODULE_big = fillfactor_advisor
OBJS = \
	src/base/settings.o \
	src/base/server.o \
	src/sample/page_heap.o \
	src/sample/page_btree.o \
	src/sample/visibility.o \
	src/sample/strata.o \
	src/sample/read.o \
	src/sample/histogram.o \
	src/sample/result.o \
	src/sample/changed.o \
	src/sample/heap.o \
	src/sample/index.o \
	src/collect/relation.o \
	src/collect/counters.o \
	src/collect/lock.o \
	src/collect/collect.o \
	src/collect/parse.o \
	src/collect/statements.o \
	src/evidence/window.o \
	src/evidence/memory.o \
	src/model/evidence.o \
	src/model/twin.o \
	src/model/plan.o \
	src/model/fit.o \
	src/model/forecast.o \
	src/model/choice.o \
	src/model/sql.o \
	src/advise/decision.o \
	src/advise/sql.o

# The pieces of the install script in dependency order, stage by stage; the tables and types of a stage come first.
SQL_PIECES = \
	sql/base/head.sql \
	sql/base/comments.sql \
	sql/base/common.sql \
	sql/base/alter.sql \
	sql/base/grant.sql \
	sql/base/schema.sql \
	sql/base/observed.sql \
	sql/sample/schema.sql \
	sql/sample/sample.sql \
	sql/collect/schema.sql \
	sql/collect/tables.sql \
	sql/collect/indexed.sql \
	sql/collect/counters.sql \
	sql/collect/types.sql \
	sql/collect/differences.sql \
	sql/collect/collect.sql \
	sql/collect/statements.sql \
	sql/collect/horizon.sql \
	sql/collect/exclude.sql \
	sql/collect/schedule.sql \
	sql/evidence/schema.sql \
	sql/evidence/memory.sql \
	sql/evidence/blocking.sql \
	sql/evidence/evidence.sql \
	sql/model/schema.sql \
	sql/model/model.sql \
	sql/advise/schema.sql \
	sql/advise/siblings.sql \
	sql/advise/decision.sql \
	sql/advise/rewrite.sql \
	sql/advise/worth.sql \
	sql/advise/reason.sql \
	sql/advise/events.sql \
	sql/advise/dismiss.sql \
	sql/advise/advice.sql \
	sql/advise/curve.sql \
	sql/explain/schema.sql \
	sql/explain/blockers.sql \
	sql/explain/indexes.sql \
	sql/apply/undo.sql \
	sql/apply/script.sql \
	sql/verify/schema.sql \
	sql/verify/windows.sql \
	sql/verify/measures.sql \
	sql/verify/verdict.sql \
	sql/verify/rehearsal.sql \
	sql/verify/settings.sql \
	sql/report/history.sql \
	sql/report/changes.sql \
	sql/report/html.sql \
	sql/report/report.sql \
	sql/report/metrics.sql \
	sql/report/export.sql \
	sql/prune.sql \
	sql/rights.sql

# Those of the hub, an extension of its own that requires the other.
HUB_PIECES = \
	hub/sql/head.sql \
	hub/sql/schema.sql \
	hub/sql/check.sql \
	hub/sql/member.sql \
	hub/sql/answer.sql \
	hub/sql/refresh.sql \
	hub/sql/report.sql \
	hub/sql/schedule.sql \
	hub/sql/mirror/schema.sql \
	hub/sql/mirror/shape.sql \
	hub/sql/mirror/follow.sql \
	hub/sql/mirror/answer.sql \
	hub/sql/mirror/observe.sql \
	hub/sql/mirror/mirror.sql \
	hub/sql/rights.sql

# An upgrade from each release: the changes of tables and types since then, and the functions that go or get other
# arguments or results, by hand (sql/updates/FROM--TO.sql has those of one release, hub/sql/updates/ the hub's), then
# the pieces again. schema.sql and types.sql are not made again.
RELEASES   = $(foreach update,$(notdir $(wildcard sql/updates/*--*.sql)),$(firstword $(subst --, ,$(update))))
UPGRADES   = $(foreach release,$(RELEASES),$(notdir $(EXTENSION:%=%--$(release)--$(EXTVERSION).sql)))
MADE_ONCE  = %/head.sql %/schema.sql %/types.sql
DATA_built = $(notdir $(EXTENSION:%=%--$(EXTVERSION).sql)) $(UPGRADES)

# The client program, and the folder of its SQL files.
SCRIPTS_built  = ff_rehearse
REHEARSAL_DATA = $(wildcard $(srcdir)/rehearsal/*.sql)

# What a mirror reads of its source, also for psql.
OBSERVE_DATA   = $(srcdir)/hub/observe.sql

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

PG_CPPFLAGS = -I$(srcdir)/src -DFF_VERSION='"$(EXTVERSION)"'
# PGXS sets it itself from 16 on; see compat.h
# the model gives the same bits on every machine
PG_CFLAGS   = -fvisibility=hidden -ffp-contract=off
# the same numbers if a query is compiled
BITCODE_CFLAGS += -ffp-contract=off

PG_CONFIG ?= pg_config

# These targets set up what they need, so they work without PG_CONFIG:
# make test [VERSIONS="15 16 17 18 19"], make demo [KEEP=1] [PICTURES=doc] [FLEET=1] [MIRROR=1], make check-twin,
# make dist (for PGXN, of what is committed), make reference (doc/reference.md,
# doc/how-it-decides.md), make packages, make sanitize, make valgrind, make assertions,
# make faults-large, make soak [MINUTES=10], make fuzz, make fuzz-long
SET_UP = test demo check-twin dist reference packages sanitize valgrind assertions faults-large soak fuzz fuzz-long
.PHONY: $(SET_UP)
ifneq ($(filter $(SET_UP),$(MAKECMDGOALS)),)
test:
	@PG_CONFIG='$(PG_CONFIG)' test/run $(VERSIONS)

demo:
	@PG_CONFIG='$(PG_CONFIG)' KEEP='$(KEEP)' PICTURES='$(PICTURES)' \
		$(if $(FLEET),hub/test/demo,$(if $(MIRROR),hub/test/demo_mirror,test/demo))

# the model's stand-alone tests, without a server
check-twin:
	@perl test/model/model.pl

# reproducible: the same bytes everywhere
dist:
	TZ=UTC git archive --format zip --prefix=fillfactor_advisor-$(EXTVERSION)/ -o fillfactor_advisor-$(EXTVERSION).zip HEAD

reference:
	@PG_CONFIG='$(PG_CONFIG)' test/reference

# the Debian package, built, installed and tried in bare chroots of two suites, about six minutes
packages:
	@test/packages $(SUITES)

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

# Before 18 a server finds extensions only in its own folders.
ifeq ($(origin prefix),command line)
ifneq ($(filter 15 16 17,$(MAJORVERSION)),)
$(error make install prefix=... needs PostgreSQL 18 (extension_control_path): use DESTDIR=... to stage files)
endif
endif

# The files of an image that is mounted beside a server: lib, share/extension, licenses. Beside them what a server of its
# own has, too: bin (ff_rehearse) and share/fillfactor_advisor (its SQL files, observe.sql, monitoring).
.PHONY: image-tree
image-tree: all
	@test -n '$(DIR)' || { echo 'usage: make image-tree DIR=FOLDER' >&2; exit 2; }
	@test ! -e '$(DIR)' || { echo '$(DIR) already exists' >&2; exit 2; }
	$(MAKE) -s install DESTDIR='$(abspath $(DIR))/staged'
	mkdir -p '$(DIR)/share' '$(DIR)/licenses'
	mv '$(DIR)/staged$(pkglibdir)' '$(DIR)/lib'
	rm -rf '$(DIR)/lib/bitcode'
	mv '$(DIR)/staged$(datadir)/extension' '$(DIR)/staged$(datadir)/fillfactor_advisor' '$(DIR)/share'
	mv '$(DIR)/staged$(bindir)' '$(DIR)/bin'
	cp LICENSE '$(DIR)/licenses/fillfactor_advisor'
	rm -r '$(DIR)/staged'

# PGXS does not track includes.
$(OBJS): $(wildcard src/*/*.h)
src/base/server.o src/base/server.bc: fillfactor_advisor.control

# Queries and a dashboard for monitoring systems, see doc/operations.md.
MONITORING     = grafana.json pgwatch.yaml postgres_exporter.yaml
MONITORING_DIR = $(DESTDIR)$(datadir)/fillfactor_advisor/monitoring
.PHONY: install-monitoring uninstall-monitoring
install: install-monitoring
install-monitoring:
	$(MKDIR_P) '$(MONITORING_DIR)'
	$(INSTALL_DATA) $(addprefix $(srcdir)/monitoring/,$(MONITORING)) '$(MONITORING_DIR)/'
uninstall: uninstall-monitoring
uninstall-monitoring:
	rm -f $(addprefix '$(MONITORING_DIR)'/,$(MONITORING))

$(DATA_built): $(SQL_PIECES) $(HUB_PIECES) hub/observe.sql $(addsuffix .control, $(EXTENSION)) Makefile $(wildcard sql/updates/*.sql)
pieces  = $(if $(findstring _hub,$(1)),$(HUB_PIECES),$(SQL_PIECES))
updates = $(if $(findstring _hub,$(1)),hub/,)sql/updates
# a line @FILE@ of a piece stands for the statement in hub/FILE
embed   = awk '/^@[a-z.]*@$$/ { file = "hub/" substr($$0, 2, length($$0) - 2); while ((getline line < file) > 0) { \
	if (line ~ /^WITH /) on = 1; if (line == "COMMIT;") on = 0; if (on) print line } next } 1'
$(notdir $(EXTENSION:%=%--$(EXTVERSION).sql)):
	cat $(call pieces,$@) | $(embed) > $@

$(UPGRADES):
	{ cat sql/updates/head.sql; \
	  ls $(call updates,$@)/*--*.sql 2>/dev/null | sort -V | sed -n '/\/$(word 2,$(subst --, ,$@))--/,$$p' | xargs -r cat; \
	  cat $(filter-out $(MADE_ONCE),$(call pieces,$@)) | $(embed) | \
	  sed -E 's/^CREATE (FUNCTION|PROCEDURE|AGGREGATE|VIEW) /CREATE OR REPLACE \1 /'; } > $@

# again for each prefix
.PHONY: ff_rehearse
ff_rehearse: rehearsal/ff_rehearse
	sed "s|^share=.*|share='$(datadir)/fillfactor_advisor'|" $< > $@

install: install-rehearsal
uninstall: uninstall-rehearsal
.PHONY: install-rehearsal uninstall-rehearsal
install-rehearsal:
	$(MKDIR_P) '$(DESTDIR)$(datadir)/fillfactor_advisor'
	$(INSTALL_DATA) $(REHEARSAL_DATA) $(OBSERVE_DATA) '$(DESTDIR)$(datadir)/fillfactor_advisor/'
uninstall-rehearsal:
	rm -f $(addprefix '$(DESTDIR)$(datadir)/fillfactor_advisor'/, $(notdir $(REHEARSAL_DATA) $(OBSERVE_DATA)))
endif
