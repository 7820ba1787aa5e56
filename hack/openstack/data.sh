# shellcheck shell=bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Database and message queue of the testbed, and the schemas of the services. Sourced by testbed.sh.

# -------------------------------------------------------------- database, mq --
start_mysql() {
  local fresh= root=
  [ "$(id -u)" != 0 ] || root="--user=root"
  if [ ! -d "$D/mysql/mysql" ]; then
    fresh=1
    mariadb-install-db --no-defaults $root --datadir="$D/mysql" --auth-root-authentication-method=normal \
      --skip-test-db --skip-name-resolve > "$D/log/mysql-install.log" 2>&1 || { tail "$D/log/mysql-install.log"; die "mariadb-install-db"; }
  fi
  start mysql mariadbd --no-defaults $root --datadir="$D/mysql" --socket="$D/run/mysql.sock" --pid-file="$D/run/mariadbd.pid" \
    --bind-address="$H" --port=$P_MYSQL --skip-log-bin --skip-name-resolve --max-connections=600 \
    --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync --innodb-doublewrite=0 \
    --innodb-buffer-pool-size=128M --innodb-log-file-size=64M --performance-schema=OFF \
    --character-set-server=utf8mb3 --collation-server=utf8mb3_general_ci
  local i; for i in $(seq 1 150); do
    mariadb-admin --no-defaults -S "$D/run/mysql.sock" -uroot -p$PW ping >/dev/null 2>&1 && break
    [ -n "$fresh" ] && mariadb-admin --no-defaults -S "$D/run/mysql.sock" -uroot ping >/dev/null 2>&1 && break
    alive mysql || { tail -5 "$D/log/mysql.log"; die "mariadbd died"; }
    sleep 0.1
  done
  if [ -n "$fresh" ]; then
    mariadb --no-defaults -S "$D/run/mysql.sock" -uroot <<EOF || die "mariadb setup"
$(for x in keystone neutron cinder octavia glance placement nova_api nova_cell0 nova_cell1; do echo "CREATE DATABASE IF NOT EXISTS $x CHARACTER SET utf8mb3;"; done)
CREATE OR REPLACE USER 'testbed'@'$H' IDENTIFIED BY '$PW';
GRANT ALL ON *.* TO 'testbed'@'$H' WITH GRANT OPTION;
ALTER USER 'root'@'localhost' IDENTIFIED BY '$PW';
EOF
  fi
}
start_rabbit() {
  # Nothing in the broker outlives its clients here: start from an empty one.
  alive rabbitmq || rm -rf "$D/rabbitmq/mnesia"
  start epmd env HOME="$D/rabbitmq" epmd -address "$H" -port $P_EPMD
  start rabbitmq env HOME="$D/rabbitmq" ERL_EPMD_ADDRESS="$H" ERL_EPMD_PORT=$P_EPMD \
    RABBITMQ_NODENAME=testbed@localhost RABBITMQ_DIST_PORT=$P_RABBIT_DIST \
    RABBITMQ_BASE="$D/rabbitmq" RABBITMQ_MNESIA_BASE="$D/rabbitmq/mnesia" RABBITMQ_LOG_BASE="$D/log" \
    RABBITMQ_CONFIG_FILE="$D/etc/rabbitmq.conf" RABBITMQ_ENABLED_PLUGINS_FILE="$D/etc/enabled_plugins" \
    RABBITMQ_PID_FILE="$D/rabbitmq/pid" RABBITMQ_GENERATED_CONFIG_DIR="$D/rabbitmq/config" \
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none" \
    /usr/lib/rabbitmq/bin/rabbitmq-server
}
wait_rabbit() {
  local i; for i in $(seq 1 300); do
    (exec 3<>/dev/tcp/$H/$P_RABBIT) 2>/dev/null && return 0
    alive rabbitmq || { tail -15 "$D/log/rabbitmq.log"; die "rabbitmq died"; }
    sleep 0.2
  done; die "rabbitmq does not listen"
}

# ---------------------------------------------------------------- first run --
sync_one() { # NAME CMD... ; logs, marks done
  local n=$1; shift
  [ -e "$D/run/synced.$n" ] && return 0
  "$@" >> "$D/log/dbsync-$n.log" 2>&1 || { echo "db sync of $n failed:"; tail -15 "$D/log/dbsync-$n.log"; return 1; }
  touch "$D/run/synced.$n"
}
sync_keystone() {
  local m="keystone.cmd.manage main keystone-manage --config-file $D/etc/keystone.conf" me; me=$(id -un)
  [ -s "$D/keystone/fernet/0" ] || ep $m fernet_setup --keystone-user "$me" --keystone-group "$(id -gn)" || return
  [ -s "$D/keystone/credential/0" ] || ep $m credential_setup --keystone-user "$me" --keystone-group "$(id -gn)" || return
  ep $m db_sync && ep $m bootstrap --bootstrap-password $PW --bootstrap-username admin --bootstrap-project-name admin \
    --bootstrap-role-name admin --bootstrap-service-name keystone --bootstrap-region-id $REGION \
    --bootstrap-public-url "$AUTH" --bootstrap-internal-url "$AUTH" --bootstrap-admin-url "$AUTH"
}
sync_neutron() { ep neutron.db.migration.cli main neutron-db-manage --config-file "$D/etc/neutron.conf" upgrade heads; }
sync_cinder() { ep cinder.cmd.manage main cinder-manage --config-file "$D/etc/cinder.conf" db sync; }
sync_octavia() { ep octavia.db.migration.cli main octavia-db-manage --config-file "$D/etc/octavia.conf" upgrade head; }
sync_glance() { ep glance.cmd.manage main glance-manage --config-file "$D/etc/glance-api.conf" db_sync; }
sync_placement() { ep placement.cmd.manage main placement-manage --config-file "$D/etc/placement/placement.conf" db sync; }
sync_nova() {
  local m="nova.cmd.manage main nova-manage --config-file $D/etc/nova.conf"
  ep $m api_db sync && ep $m cell_v2 map_cell0 --database_connection "$(db nova_cell0)" && ep $m db sync &&
    { ep $m cell_v2 create_cell --name cell1 --database_connection "$(db nova_cell1)" --transport-url "$RABBIT" || [ $? = 2 ]; }
}
octavia_certs() {
  [ -s "$D/octavia/certs/client.pem" ] && return 0
  ( cd "$D/octavia/certs" &&
    openssl req -x509 -newkey rsa:2048 -keyout ca.key -out ca.pem -days 3650 -passout pass:not-secure-passphrase -subj /CN=testbed-octavia-ca &&
    openssl req -newkey rsa:2048 -nodes -keyout client.key -out client.csr -subj /CN=testbed-octavia-client &&
    openssl x509 -req -in client.csr -CA ca.pem -CAkey ca.key -passin pass:not-secure-passphrase -CAcreateserial -out client.crt -days 3650 &&
    cat client.crt client.key > client.pem ) > "$D/log/octavia-certs.log" 2>&1 || die "octavia certs"
}
