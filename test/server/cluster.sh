# shellcheck shell=bash disable=SC2034  # variables for who sources it
# A private server tree with the extension, and a throwaway cluster.  Source it
# after common.sh.  Everything is in $WORK:
#   tree/    copy of the server of $BASE; PG_CONFIG and BIN are in there
#   source/  copy of the checkout, built and tested there
#   data/, socket/, server.log   the cluster
# The machine's own PostgreSQL is neither modified nor connected to.

# -Wno-...: warnings of the server's own headers under -Wextra.
WARNINGS="-Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers"

# A server is relocatable if its folders keep their relative paths.
copy_tree()
{
	local what dir
	mkdir "$WORK/tree"
	for what in bindir libdir pkglibdir sharedir includedir-server pgxs; do
		dir=$("$BASE" --$what)
		case $what in
		libdir) case $dir in /usr/lib|/usr/lib/*-linux-*) continue ;; esac ;;
		pgxs) dir=${dir%/src/makefiles/pgxs.mk} ;;
		esac
		[ -d "$dir" ] || continue
		[ -d "$WORK/tree$dir" ] || ( cd / && cp -a --parents ".$dir" "$WORK/tree" )
	done
	# Large, and needed only for JIT inlining.
	rm -rf "$WORK/tree$("$BASE" --pkglibdir)/bitcode/postgres"*
	hand_over "$WORK/tree"
	PG_CONFIG=$WORK/tree$("$BASE" --bindir)/pg_config
	BIN=$("$PG_CONFIG" --bindir)
	VERSION=$("$PG_CONFIG" --version | sed 's/^PostgreSQL //; s/ .*//')
	# The programs of a wheel need this to find their libraries.
	LD_LIBRARY_PATH=$("$PG_CONFIG" --libdir)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
	unset PGHOST PGPORT PGUSER PGDATABASE PGDATA PGOPTIONS PGSERVICE
	unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES
}

# Copies the checkout in its current state, without build products.
copy_source()
{
	mkdir "$WORK/source"
	tar -C "$TOP" -cf - --exclude=./.git --exclude=./tmp --exclude='*.o' --exclude='*.so' --exclude='*.bc' \
		--exclude=./results --exclude=./output_iso --exclude=./tmp_check . | tar -C "$WORK/source" -xf -
	hand_over "$WORK/source"
}

in_source()
{
	( cd "$WORK/source" && as_postgres "$@" )
}

build()
{
	local flags=$WARNINGS link=
	if [ -n "${SANITIZE:-}" ]; then
		link="-fsanitize=address,undefined"
		flags="$link -fno-omit-frame-pointer -g -O1"
	fi
	in_source make -s PG_CONFIG="$PG_CONFIG" with_llvm=no COPT="$flags" SHLIB_LINK="$link" all &&
	in_source make -s PG_CONFIG="$PG_CONFIG" with_llvm=no COPT="$flags" SHLIB_LINK="$link" install || return 1
	[ -z "${SANITIZE:-}" ] || sanitize_server
}

# From now on every server process of the tree, but not psql, make or the shell,
# runs under the address and undefined behaviour sanitizers.  Reports go to
# $WORK/reports, because a server's standard error may be lost.
sanitize_server()
{
	mkdir "$WORK/reports"
	chmod 777 "$WORK/reports"
	cat >"$WORK/postgres.env" <<-END
		export LD_PRELOAD='$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)'
		export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1:log_path=$WORK/reports/asan
		export UBSAN_OPTIONS=print_stacktrace=1:log_path=$WORK/reports/ubsan
	END
	mv "$BIN/postgres" "$BIN/postgres.plain"
	printf '#!/bin/bash\n. %s\nexec -a "$0" %s "$@"\n' "$WORK/postgres.env" "$BIN/postgres.plain" >"$BIN/postgres"
	chmod 755 "$BIN/postgres"
}

# From now on clusters with the same options are copied.
share_initdb()
{
	export FFA_TEMPLATES=$WORK/templates
	in_source mkdir "$FFA_TEMPLATES"
	mv "$BIN/initdb" "$BIN/initdb.real"
	install -m 755 "$TOP/test/server/initdb-once" "$BIN/initdb"
}

# start_cluster [LINE...]: the lines are added to postgresql.conf.
start_cluster()
{
	local preload=pg_stat_statements line
	mkdir "$WORK/socket"
	hand_over "$WORK/socket"
	as_postgres "$BIN/initdb" -D "$WORK/data" -U postgres -A trust -E UTF8 --locale=C --no-sync \
		>"$WORK/initdb.log" 2>&1 || { cat "$WORK/initdb.log" >&2; return 1; }
	if has_cron; then
		preload+=,pg_cron
		set -- "$@" "cron.use_background_workers = on"
	fi
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$WORK/socket'"
		echo "shared_preload_libraries = '$preload'"
		echo "fsync = off"
		# the planner overestimates small new tables, and compiling takes longer than most queries of tests
		echo "jit = off"
		echo "max_worker_processes = 20"
		echo "log_line_prefix = '%m [%p] %d '"
		for line; do echo "$line"; done
	} | as_postgres tee -a "$WORK/data/postgresql.conf" >/dev/null
	export PGHOST=$WORK/socket PGPORT=54100 PGUSER=postgres
	as_postgres "$BIN/pg_ctl" -s -w -t 300 -D "$WORK/data" -o "-p $PGPORT" -l "$WORK/server.log" start ||
		{ tail -n 20 "$WORK/server.log" >&2; return 1; }
}

has_cron()
{
	[ -e "$("$PG_CONFIG" --pkglibdir)/pg_cron.so" ]
}

stop_cluster()
{
	[ ! -e "$WORK/data/postmaster.pid" ] ||
		as_postgres "$BIN/pg_ctl" -s -w -t 60 -m immediate -D "$WORK/data" stop >/dev/null 2>&1 || true
}
