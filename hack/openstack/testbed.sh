#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# A real, small OpenStack on loopback, of Debian 12's packages (release Zed), without systemd, containers, agents or a
# hypervisor. All it makes is under TESTBED_DIR; every process is in its own session and ended by its id.
#
#   hack/openstack/testbed.sh install     install the packages (once a machine; needs root)
#   hack/openstack/testbed.sh installed   fail when that is still to do
#   hack/openstack/testbed.sh up          make databases at the first run, and start what does not run
#   hack/openstack/testbed.sh down        stop all, and keep the state
#   hack/openstack/testbed.sh status      processes, memory, endpoints
#   hack/openstack/testbed.sh env [NAME]  OS_* variables of admin, demo, other or appcred
#   hack/openstack/testbed.sh logs NAME   the end of a service's log
#   hack/openstack/testbed.sh stop NAME   stop one service; "up" starts it again
#   hack/openstack/testbed.sh freeze NAME keep a service from responding; "thaw NAME" resumes it
#   hack/openstack/testbed.sh sql DB TEXT change what no API can, as the operating status that an amphora reports
#   hack/openstack/testbed.sh wipe        down, and delete the state
#
# Environment:
#   TESTBED_DIR            where the state is; must be set
#   TESTBED_SERVICES       "keystone neutron nova cinder octavia" or less; keystone always runs, nova has placement and glance
#   TESTBED_HOST           127.0.0.1
#   TESTBED_PORT_BASE      that of the first run, then 15000; the services have fixed numbers above it
#   TESTBED_MAX_ROUTES     30, Neutron's default
#   TESTBED_ROUTER_PLUGIN  router, or plain_router without the extension extraroute-atomic
#   TESTBED_PAGE_LIMIT     the maximum number of objects per page of a list; otherwise the default of each service
#   TESTBED_TOKEN_TTL      3600 seconds
#   TESTBED_OCTAVIA_VIP    neutron (ports of VIPs are Neutron's) or noop
#   TESTBED_DEBUG          true for longer logs
#   TESTBED_PATIENCE       180 seconds in which a service has to respond; more on a machine that does other work
#   TESTBED_JOBS           2 migrations of databases at a time, at the first run
set -o nounset -o pipefail
umask 022
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY
unset PYTHONHOME PYTHONSTARTUP PYENV_VERSION VIRTUAL_ENV
for v in $(env | sed -n 's/^\(OS_[A-Z_]*\)=.*/\1/p'); do unset "$v"; done
PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin:$PATH

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
D=${TESTBED_DIR:?set the directory of the state: TESTBED_DIR=/some/directory}
H=${TESTBED_HOST:-127.0.0.1}
B=${TESTBED_PORT_BASE:-$(sed -n 's/.*://p' "$D/run/port-base" 2>/dev/null)}
B=${B:-15000}
SERVICES=${TESTBED_SERVICES:-keystone neutron nova cinder octavia}
REGION=RegionOne
PW=testbed # every password of the testbed
PY=/usr/bin/python3
# The paste files of packages that are not installed themselves.
SHARE=$D/share
export TESTBED_DIR

P_KEYSTONE=$((B+0)) P_GLANCE=$((B+292)) P_NEUTRON=$((B+696)) P_NOVA=$((B+774))
P_CINDER=$((B+776)) P_PLACEMENT=$((B+778)) P_OCTAVIA=$((B+876))
P_MYSQL=$((B+306)) P_RABBIT=$((B+672)) P_RABBIT_DIST=$((B+673)) P_EPMD=$((B+369))

has() { case " $SERVICES " in *" $1 "*) return 0;; esac; return 1; }
log() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }
die() { echo "testbed: $*" >&2; exit 1; }

# ------------------------------------------------------------------ install --
packages() {
  echo python3-keystone python3-neutron python3-gunicorn python3-pymysql mariadb-server rabbitmq-server curl openssl procps
  ! has cinder || echo python3-cinder
  ! has octavia || echo python3-octavia
  ! has nova || echo python3-nova python3-placement python3-glance
}
# Packages of which only files are taken: installing them creates users and prompts.
paste_packages() {
  echo neutron-common
  ! has cinder || echo cinder-common
  ! has nova || echo nova-common glance-common
}
installed() {
  local name
  for name in $(paste_packages); do [ -d "$SHARE/${name%-common}" ] || return 1; done
  # shellcheck disable=SC2046
  dpkg -s $(packages) > /dev/null 2>&1
}
cmd_install() {
  [ "$(id -u)" = 0 ] || die "install needs root"
  # A dedicated cache of archives: in container images, an "apt-get update" of another process empties the usual directory.
  local archives=$D/archives policy=/usr/sbin/policy-rc.d made=
  mkdir -p "$archives/partial" "$SHARE" || die "cannot write $D"
  local apt=(apt-get -o DPkg::Lock::Timeout=1200 -o "Dir::Cache::archives=$archives" -o Acquire::Retries=3)
  "${apt[@]}" update -qq || die "apt-get update failed"
  # Scripts of packages must not start their services.
  if [ ! -e $policy ]; then printf '#!/bin/sh\nexit 101\n' > $policy; chmod 755 $policy; made=1; fi
  log "install packages"
  # shellcheck disable=SC2046
  "${apt[@]}" install -y -q --no-install-recommends $(packages) > "$D/install.log" 2>&1
  local rc=$?
  [ -z "$made" ] || rm -f $policy
  [ $rc = 0 ] || { tail -20 "$D/install.log"; die "install failed"; }
  log "unpack paste files"
  local work; work=$(mktemp -d "$archives/paste.XXXXXX")
  # shellcheck disable=SC2046
  (cd "$work" && "${apt[@]}" download -qq $(paste_packages)) 2>/dev/null || die "download of $(paste_packages | xargs) failed"
  local f name; for f in "$work"/*.deb; do dpkg -x "$f" "$work/root"; done
  for name in neutron cinder nova glance; do
    [ ! -d "$work/root/usr/share/$name-common" ] || { rm -rf "${SHARE:?}/$name"; cp -a "$work/root/usr/share/$name-common" "$SHARE/$name"; }
  done
  ! has cinder || cp -a "$work/root/etc/cinder/rootwrap.conf" "$work/root/etc/cinder/resource_filters.json" "$SHARE/cinder/"
  rm -rf "$archives"
  log "installed"
}

# ------------------------------------------------------------ process tools --
# Every service is its own session (setsid), so that its whole tree can be
# found again, measured and stopped by id.
start() { # NAME CMD...
  local n=$1; shift
  if alive "$n"; then return 0; fi
  setsid "$@" >> "$D/log/$n.log" 2>&1 < /dev/null &
  echo $! > "$D/run/$n.pid"
  disown $! 2>/dev/null
}
session_pids() { # all pids of the session whose leader is $1
  ps -e -o pid=,sid= | awk -v s="$1" '$2==s{print $1}'
}
alive() { local p; p=$(cat "$D/run/$1.pid" 2>/dev/null) && [ -n "$p" ] && [ -n "$(session_pids "$p")" ]; }
stop_one() {
  local n=$1 p i rest; p=$(cat "$D/run/$n.pid" 2>/dev/null) || return 0
  [ -n "$p" ] || return 0
  kill -TERM "$p" 2>/dev/null
  for i in $(seq 1 "${2:-50}"); do [ -z "$(session_pids "$p")" ] && break; sleep 0.1; done
  rest=$(session_pids "$p")
  # shellcheck disable=SC2086
  [ -z "$rest" ] || kill -KILL $rest 2>/dev/null
  rm -f "$D/run/$n.pid"
}
signal() { # SIGNAL NAME
  local p; p=$(cat "$D/run/$2.pid" 2>/dev/null) || die "$2 does not run"
  # shellcheck disable=SC2046
  kill "-$1" $(session_pids "$p")
}
wait_http() { # NAME URL
  local n=$1 end=$((SECONDS + ${TESTBED_PATIENCE:-180}))
  while [ $SECONDS -lt $end ]; do
    if [ "$(curl -s -o /dev/null -m 5 -w '%{http_code}' "$2")" != 000 ]; then return 0; fi
    alive "$n" || { tail -15 "$D/log/$n.log"; die "$n died, see $D/log/$n.log"; }
    sleep 0.2
  done
  die "$n does not respond at $2, see $D/log/$n.log"
}
# run an entry point of a Debian python3-* package without the *-common package
ep() { # MODULE FUNC PROGNAME ARGS...
  local m=$1 f=$2 n=$3; shift 3
  $PY -c "import sys; sys.argv[0]='$n'; from $m import $f as m; sys.exit(m())" "$@"
}
ep_start() { # NAME MODULE FUNC ARGS...
  local n=$1 m=$2 f=$3; shift 3
  start "$n" env PYTHONPATH="$D/pylib" $PY -c "import sys; sys.argv[0]='$n'; from $m import $f as m; sys.exit(m())" "$@"
}
wsgi_start() { # NAME PORT PYFILE
  start "$1" env PYTHONPATH="$D/pylib" $PY -m gunicorn --name "$1" --bind "$H:$2" --workers 1 \
    --worker-class gthread --threads 8 --timeout "${TESTBED_PATIENCE:-180}" --graceful-timeout 2 --keep-alive 30 \
    --worker-tmp-dir /dev/shm --chdir "$D/pylib" "$3:application"
}

# shellcheck source=hack/openstack/config.sh
. "$HERE/config.sh"
# shellcheck source=hack/openstack/data.sh
. "$HERE/data.sh"

# ----------------------------------------------------------------------- up --
env_key() { echo "$H $B ${TESTBED_MAX_ROUTES:-} ${TESTBED_TOKEN_TTL:-} ${TESTBED_OCTAVIA_VIP:-} ${TESTBED_ROUTER_PLUGIN:-} ${TESTBED_PAGE_LIMIT:-} ${TESTBED_DEBUG:-}"; }
cmd_up() {
  installed || die "run install first"
  if [ -e "$D/run/settings" ] && alive keystone && [ "$(env_key)" != "$(cat "$D/run/settings")" ]; then
    echo "testbed: settings changed, running services keep the old ones until \`down\`" >&2
  fi
  local restarted=; alive keystone 2>/dev/null || restarted=1
  mkdir -p "$D/run" || die "cannot write $D"
  [ ! -e "$D/run/port-base" ] || [ "$(cat "$D/run/port-base")" = "$H:$B" ] || die "$D was made for $(cat "$D/run/port-base"): wipe it first"
  echo "$H:$B" > "$D/run/port-base"
  [ -z "$restarted" ] || env_key > "$D/run/settings"
  write_config
  local c="--config-file" fresh= pids=() p n
  [ -e "$D/run/synced.keystone" ] || { fresh=1; log "first run: creating databases"; }
  if has octavia || has cinder || has nova || has neutron; then start_rabbit; fi
  start_mysql; log "mariadb up"
  local all="keystone neutron" ; has cinder && all="$all cinder"; has octavia && all="$all octavia"
  has nova && all="$all placement glance nova"
  has neutron || all=${all/ neutron/}
  # keystone first, with the bootstrap; the others two at a time
  sync_one keystone sync_keystone || die "keystone"
  [ -z "$fresh" ] || log "keystone database ready"
  wsgi_start keystone $P_KEYSTONE testbed_keystone
  local jobs=0
  for n in $all; do
    [ "$n" = keystone ] && continue
    [ -e "$D/run/synced.$n" ] && continue
    sync_one "$n" "sync_$n" & pids+=($!); jobs=$((jobs+1))
    if [ $((jobs % ${TESTBED_JOBS:-2})) = 0 ]; then wait "${pids[0]}" || die "db sync"; pids=("${pids[@]:1}"); fi
  done
  for p in ${pids[@]+"${pids[@]}"}; do wait "$p" || die "db sync"; done
  [ -z "$fresh" ] || log "all databases ready"
  wait_http keystone "$AUTH"; log "keystone up"
  $PY "$HERE/python/bootstrap.py" "$H" "$B" "$D" "$PW" "$REGION" identity "$SERVICES" || die "identity bootstrap"
  log "catalog, users, roles ready"
  wait_rabbit; log "rabbitmq up"
  has neutron && ep_start neutron neutron.cmd.eventlet.server main $c "$D/etc/neutron.conf"
  if has nova; then
    wsgi_start placement $P_PLACEMENT testbed_placement
    ep_start glance glance.cmd.api main $c "$D/etc/glance-api.conf"
  fi
  if has cinder; then
    ep_start cinder-api cinder.cmd.api main $c "$D/etc/cinder.conf"
    ep_start cinder-scheduler cinder.cmd.scheduler main $c "$D/etc/cinder.conf"
    ep_start cinder-volume cinder.cmd.volume main $c "$D/etc/cinder.conf"
  fi
  if has octavia; then
    octavia_certs
    wsgi_start octavia-api $P_OCTAVIA testbed_octavia
    alive octavia-worker || rm -f "$D/run/octavia-worker.ready"
    TESTBED_READY="$D/run/octavia-worker.ready" ep_start octavia-worker testbed_worker main $c "$D/etc/octavia.conf"
  fi
  if has nova; then
    ep_start nova-api nova.cmd.api main $c "$D/etc/nova.conf"
    ep_start nova-conductor nova.cmd.conductor main $c "$D/etc/nova.conf"
    ep_start nova-scheduler nova.cmd.scheduler main $c "$D/etc/nova.conf"
    wait_http placement "http://$H:$P_PLACEMENT/"
    ep_start nova-compute nova.cmd.compute main $c "$D/etc/nova.conf"
  fi
  if has neutron; then wait_http neutron "http://$H:$P_NEUTRON/"; log "neutron up"; fi
  if has cinder; then wait_http cinder-api "http://$H:$P_CINDER/"; log "cinder-api up"; fi
  if has octavia; then
    wait_http octavia-api "http://$H:$P_OCTAVIA/"
    while [ ! -e "$D/run/octavia-worker.ready" ]; do alive octavia-worker || die "octavia-worker died, see its log"; sleep 0.2; done
    log "octavia up"
  fi
  if has nova; then wait_http glance "http://$H:$P_GLANCE/"; wait_http nova-api "http://$H:$P_NOVA/"; log "nova-api, glance, placement up"; fi
  $PY "$HERE/python/bootstrap.py" "$H" "$B" "$D" "$PW" "$REGION" resources "$SERVICES" || die "resource bootstrap"
  log "up: export OS_CLIENT_CONFIG_FILE=$D/clouds.yaml OS_CLOUD=demo   (clouds: admin demo other appcred)"
}

ORDER="nova-compute nova-scheduler nova-conductor nova-api octavia-worker octavia-api cinder-volume cinder-scheduler cinder-api glance placement neutron keystone"
cmd_down() {
  [ -d "$D/run" ] || return 0
  local n p
  for n in $ORDER; do p=$(cat "$D/run/$n.pid" 2>/dev/null) && [ -n "$p" ] && kill -TERM "$p" 2>/dev/null; done
  local end=$((SECONDS + 3)) left=1
  while [ -n "$left" ] && [ $SECONDS -lt $end ]; do
    left=; for n in $ORDER; do alive "$n" && left=1; done; sleep 0.2
  done
  for n in $ORDER; do stop_one "$n" 1; done
  for n in rabbitmq mysql; do p=$(cat "$D/run/$n.pid" 2>/dev/null) && [ -n "$p" ] && kill -TERM "$p" 2>/dev/null; done
  stop_one mysql 200; stop_one rabbitmq 10; stop_one epmd 10
  log "down"
}
cmd_status() {
  local n p q r s tr=0 tp=0 k=0
  printf '%-18s %-7s %5s %9s %9s\n' SERVICE PID PROCS RSS_MiB PSS_MiB
  for n in mysql epmd rabbitmq keystone neutron placement glance cinder-api cinder-scheduler cinder-volume octavia-api octavia-worker nova-api nova-conductor nova-scheduler nova-compute; do
    p=$(cat "$D/run/$n.pid" 2>/dev/null) || continue
    r=0; s=0; k=0
    for q in $(session_pids "$p"); do
      k=$((k+1))
      r=$((r + $(awk '/^VmRSS/{print $2}' "/proc/$q/status" 2>/dev/null || echo 0) + 0))
      s=$((s + $(awk '/^Pss:/{print $2}' "/proc/$q/smaps_rollup" 2>/dev/null || echo 0) + 0))
    done
    [ $k -gt 0 ] && printf '%-18s %-7s %5d %9d %9d\n' "$n" "$p" $k $((r/1024)) $((s/1024)) || printf '%-18s %-7s dead\n' "$n" "$p"
    tr=$((tr+r)); tp=$((tp+s))
  done
  printf '%-18s %-7s %5s %9d %9d\n' TOTAL "" "" $((tr/1024)) $((tp/1024))
  echo "identity $AUTH  network :$P_NEUTRON  volume :$P_CINDER  load-balancer :$P_OCTAVIA  compute :$P_NOVA  image :$P_GLANCE  placement :$P_PLACEMENT"
}

case "${1:-}" in
  install) cmd_install;;
  installed) installed;;
  up) cmd_up;;
  down) cmd_down;;
  status) cmd_status;;
  env) cat "$D/openrc-${2:-admin}";;
  stop) shift; for n in "$@"; do stop_one "$n" 30; done;;
  freeze) signal STOP "$2";;
  thaw) signal CONT "$2";;
  sql) mariadb --no-defaults -S "$D/run/mysql.sock" -uroot -p$PW "$2" -e "$3";;
  logs) tail -n "${3:-50}" "$D/log/$2.log";;
  wipe) cmd_down
        # What "install" made stays.
        if [ -e "$D/etc/keystone.conf" ]; then rm -rf "${D:?}"/{cinder,etc,glance,keystone,log,mysql,neutron,nova,octavia,placement,pylib,rabbitmq,run,appcred.json,clouds.yaml,cloud.conf} "$D"/openrc-*; fi;;
  *) sed -n '5,34s/^# \{0,1\}//p' "$0"; exit 2;;
esac
