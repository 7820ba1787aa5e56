# shellcheck shell=bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# The configuration of all services of the testbed. Sourced by testbed.sh.

db() { echo "mysql+pymysql://testbed:$PW@$H:$P_MYSQL/$1?charset=utf8"; }
AUTH=http://$H:$P_KEYSTONE/v3
RABBIT=rabbit://guest:guest@$H:$P_RABBIT/
ks_client() { cat <<EOF
auth_type = password
auth_url = $AUTH
username = svc
password = $PW
project_name = service
user_domain_name = Default
project_domain_name = Default
region_name = $REGION
EOF
}
ks_authtoken() { echo "[keystone_authtoken]"; echo "www_authenticate_uri = $AUTH"
  echo "service_token_roles = service"; echo "service_token_roles_required = true"; ks_client; echo; }
common_default() { cat <<EOF
transport_url = $RABBIT
state_path = $D/$1
debug = ${TESTBED_DEBUG:-false}
use_stderr = true
EOF
}
common_tail() { cat <<EOF
[oslo_concurrency]
lock_path = $D/$1/lock
[oslo_messaging_notifications]
driver = noop
[oslo_messaging_rabbit]
heartbeat_timeout_threshold = 0
rabbit_retry_interval = 1
EOF
}
dbsect() { printf '[%s]\nconnection = %s\nmax_pool_size = 5\nmax_overflow = 40\nconnection_recycle_time = 280\n\n' "$1" "$(db "$2")"; }

write_config() {
  mkdir -p "$D"/{log,run,etc,pylib,keystone/fernet,keystone/credential,neutron/lock,nova/lock,nova/instances,cinder/lock,glance/images,glance/lock,octavia/lock,octavia/certs,placement,rabbitmq,mysql}
  chmod 700 "$D/rabbitmq" "$D/keystone/fernet" "$D/keystone/credential"

  { cat <<EOF
[DEFAULT]
use_stderr = true
debug = ${TESTBED_DEBUG:-false}
max_token_size = 255
EOF
    dbsect database keystone
    cat <<EOF
[token]
provider = fernet
expiration = ${TESTBED_TOKEN_TTL:-3600}
[fernet_tokens]
key_repository = $D/keystone/fernet
[fernet_receipts]
key_repository = $D/keystone/fernet
[credential]
key_repository = $D/keystone/credential
[identity]
password_hash_rounds = 4
[cache]
enabled = true
backend = dogpile.cache.memory
[oslo_messaging_notifications]
driver = noop
EOF
  } > "$D/etc/keystone.conf"

  cp "$HERE"/python/testbed_*.py "$D/pylib/"
  mkdir -p "$D/pylib/testbed-0.1.dist-info"
  printf 'Metadata-Version: 2.1\nName: testbed\nVersion: 0.1\n' > "$D/pylib/testbed-0.1.dist-info/METADATA"
  cat > "$D/pylib/testbed-0.1.dist-info/entry_points.txt" <<EOF
[neutron.ml2.mechanism_drivers]
bindall = testbed_ml2:BindAllMechanismDriver
[neutron.service_plugins]
plain_router = testbed_router:PlainRouterPlugin
[octavia.network.drivers]
vip_neutron = testbed_octavia_net:VipDriver
EOF

  # ---- neutron
  { echo "[DEFAULT]"; common_default neutron; cat <<EOF
bind_host = $H
bind_port = $P_NEUTRON
api_paste_config = $SHARE/neutron/api-paste.ini
core_plugin = ml2
service_plugins = ${TESTBED_ROUTER_PLUGIN:-router},trunk
max_routes = ${TESTBED_MAX_ROUTES:-30}
pagination_max_limit = ${TESTBED_PAGE_LIMIT:--1}
auth_strategy = keystone
api_workers = 0
rpc_workers = 0
rpc_state_report_workers = 0
allow_overlapping_ips = true
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
dhcp_agent_notification = false
[ml2]
type_drivers = flat,vlan,vxlan,local
tenant_network_types = vxlan
mechanism_drivers = bindall
extension_drivers = port_security
[ml2_type_flat]
flat_networks = *
[ml2_type_vxlan]
vni_ranges = 1:1000
[quotas]
quota_network = -1
quota_subnet = -1
quota_port = -1
quota_router = -1
quota_security_group = -1
quota_security_group_rule = -1
quota_floatingip = -1
EOF
    dbsect database neutron; ks_authtoken; common_tail neutron; } > "$D/etc/neutron.conf"

  # ---- cinder
  { echo "[DEFAULT]"; common_default cinder; cat <<EOF
my_ip = $H
host = testbed
auth_strategy = keystone
osapi_volume_listen = $H
osapi_volume_listen_port = $P_CINDER
osapi_volume_workers = 1
api_paste_config = $SHARE/cinder/api-paste.ini
resource_query_filters_file = $SHARE/cinder/resource_filters.json
rootwrap_config = $SHARE/cinder/rootwrap.conf
glance_api_servers = http://$H:$P_GLANCE
osapi_max_limit = ${TESTBED_PAGE_LIMIT:-1000}
enabled_backends = fake
report_interval = 3
default_volume_type = __DEFAULT__
quota_volumes = -1
quota_snapshots = -1
quota_gigabytes = -1
[fake]
volume_driver = cinder.tests.fake_driver.FakeLoggingVolumeDriver
volume_backend_name = fake
EOF
    dbsect database cinder; ks_authtoken
    echo "[service_user]"; echo "send_service_user_token = true"; ks_client; echo
    echo "[nova]"; ks_client; echo
    common_tail cinder; } > "$D/etc/cinder.conf"

  # ---- octavia
  local netdrv=network_noop_driver
  has neutron && [ "${TESTBED_OCTAVIA_VIP:-neutron}" = neutron ] && netdrv=vip_neutron
  { echo "[DEFAULT]"; common_default octavia | grep -v state_path; cat <<EOF
[api_settings]
bind_host = $H
bind_port = $P_OCTAVIA
auth_strategy = keystone
pagination_max_limit = ${TESTBED_PAGE_LIMIT:-1000}
enabled_provider_drivers = amphora:real control plane with noop amphorae, noop_driver:API only (stays PENDING_CREATE)
default_provider_driver = amphora
EOF
    dbsect database octavia; ks_authtoken
    cat <<EOF
[health_manager]
heartbeat_key = insecure
[certificates]
ca_certificate = $D/octavia/certs/ca.pem
ca_private_key = $D/octavia/certs/ca.key
ca_private_key_passphrase = not-secure-passphrase
server_certs_key_passphrase = insecure-key-do-not-use-this-key
[haproxy_amphora]
client_cert = $D/octavia/certs/client.pem
server_ca = $D/octavia/certs/ca.pem
[controller_worker]
amphora_driver = amphora_noop_driver
compute_driver = compute_noop_driver
network_driver = $netdrv
image_driver = image_noop_driver
volume_driver = volume_noop_driver
amp_flavor_id = 1
amp_boot_network_list = 11111111-1111-1111-1111-111111111111
amp_active_wait_sec = 1
client_ca = $D/octavia/certs/ca.pem
loadbalancer_topology = SINGLE
workers = 1
[oslo_messaging]
topic = octavia_prov
[quotas]
default_load_balancer_quota = -1
default_listener_quota = -1
default_pool_quota = -1
default_member_quota = -1
default_health_monitor_quota = -1
[neutron]
region_name = $REGION
[service_auth]
$(ks_client)
EOF
    common_tail octavia; } > "$D/etc/octavia.conf"

  # ---- glance
  { echo "[DEFAULT]"; common_default glance | grep -v state_path; cat <<EOF
bind_host = $H
bind_port = $P_GLANCE
workers = 0
[paste_deploy]
flavor = keystone
config_file = $SHARE/glance/glance-api-paste.ini
[glance_store]
stores = file
default_store = file
filesystem_store_datadir = $D/glance/images
EOF
    dbsect database glance; ks_authtoken; common_tail glance; } > "$D/etc/glance-api.conf"

  # ---- placement
  mkdir -p "$D/etc/placement"
  { printf '[DEFAULT]\nuse_stderr = true\n[api]\nauth_strategy = keystone\n'
    dbsect placement_database placement; ks_authtoken; } > "$D/etc/placement/placement.conf"

  # ---- nova
  { echo "[DEFAULT]"; common_default nova; cat <<EOF
my_ip = $H
host = testbed
compute_driver = fake.FakeDriver
periodic_fuzzy_delay = 0
report_interval = 5
instances_path = $D/nova/instances
enabled_apis = osapi_compute
osapi_compute_listen = $H
osapi_compute_listen_port = $P_NOVA
osapi_compute_workers = 1
vif_plugging_is_fatal = false
vif_plugging_timeout = 0
force_config_drive = false
[api]
auth_strategy = keystone
max_limit = ${TESTBED_PAGE_LIMIT:-1000}
[wsgi]
api_paste_config = $SHARE/nova/api-paste.ini
[conductor]
workers = 1
[scheduler]
workers = 1
discover_hosts_in_cells_interval = 5
[vnc]
enabled = false
[filter_scheduler]
track_instance_changes = false
[quota]
instances = -1
cores = -1
ram = -1
[glance]
api_servers = http://$H:$P_GLANCE
[cinder]
os_region_name = $REGION
$(ks_client)
[placement]
$(ks_client)
[neutron]
$(ks_client)
[service_user]
send_service_user_token = true
$(ks_client)
EOF
    dbsect api_database nova_api; dbsect database nova_cell1; ks_authtoken; common_tail nova; } > "$D/etc/nova.conf"

  cat > "$D/etc/rabbitmq.conf" <<EOF
listeners.tcp.1 = $H:$P_RABBIT
disk_free_limit.absolute = 50MB
log.console = true
log.console.level = warning
log.file = false
EOF
  echo '[].' > "$D/etc/enabled_plugins"
}

