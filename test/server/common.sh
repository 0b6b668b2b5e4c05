# shellcheck shell=bash disable=SC2034  # variables for who sources it
# Shared by the scripts in test/: paths, messages, the server's user, needed
# packages.  To be sourced; needs bash with set -euo pipefail.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

# Downloaded servers for all checkouts; may be removed at any time.
CACHE=${FFA_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/fillfactor_advisor}

# Versions that the extension supports, and those that may still fail.
ALL_VERSIONS="15 16 17 18 19"
MAY_FAIL="19"

# Packages needed to build and test any version.
BUILD_PACKAGES="gcc make libc6-dev perl libipc-run-perl util-linux"

say()  { printf '%s\n' "$*" >&2; }
die()  { printf 'error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# PostgreSQL refuses to run as root: use its own user then.
as_postgres()
{
	if [ "$(id -u)" = 0 ]; then
		runuser -u postgres -- "$@"
	else
		"$@"
	fi
}

# Give a folder to the user that runs the server.
hand_over()
{
	if [ "$(id -u)" = 0 ]; then
		chown -R postgres: "$@"
	fi
}

# A new folder for one run, reachable by the user that runs the server.
new_work_dir()
{
	local dir
	dir=$(mktemp -d "${TMPDIR:-/tmp}/ffa-$1.XXXXXX")
	chmod 755 "$dir"
	hand_over "$dir"
	printf '%s\n' "$dir"
}

major_of()
{
	"$1" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/'
}

# Install missing Debian packages.  A name may be followed by =VERSION to
# install that version.
need_packages()
{
	local package missing=()
	for package; do
		dpkg-query -W -f '${Status}' "${package%%=*}" 2>/dev/null |
			grep -q 'install ok installed' || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	have apt-get || die "these Debian packages are needed, and there is no apt-get: ${missing[*]}"
	[ "$(id -u)" = 0 ] ||
		die "missing packages; run as root: apt-get install ${missing[*]}"
	say "installing: ${missing[*]}"
	(
		# One installation at a time, for all checkouts.
		have flock && flock 9
		export DEBIAN_FRONTEND=noninteractive
		if ! apt-get install -qq -y --no-install-recommends "${missing[@]}"; then
			apt-get update -qq &&
			apt-get install -qq -y --no-install-recommends "${missing[@]}"
		fi
	) 9>"${TMPDIR:-/tmp}/ffa-apt.lock" >/dev/null 2>"${TMPDIR:-/tmp}/ffa-apt.log" </dev/null || {
		tail -n 20 "${TMPDIR:-/tmp}/ffa-apt.log" >&2
		die "could not install: ${missing[*]}"
	}
}

# Whether this machine's apt offers a package.
offered()
{
	have apt-cache || return 1
	[ -n "$(apt-cache madison "$1" 2>/dev/null)" ]
}

# The default version of PostgreSQL: the one of PG_CONFIG, or else this
# distribution's default.
default_version()
{
	local config=${PG_CONFIG:-pg_config}
	if have "$config"; then
		major_of "$config"
	else
		[ -z "${PG_CONFIG:-}" ] || [ "$PG_CONFIG" = pg_config ] || die "no such program: $PG_CONFIG"
		refresh_package_lists
		apt-cache depends postgresql 2>/dev/null |
			sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | grep . ||
			die "no pg_config, and apt offers no postgresql; set PG_CONFIG"
	fi
}

# Without package lists, look-ups find nothing.
refresh_package_lists()
{
	have apt-get || return 0
	offered postgresql-common && return 0
	[ "$(id -u)" = 0 ] || return 0
	apt-get update -qq >/dev/null 2>&1 </dev/null || true
}
