# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
"""A network driver of Octavia: ports of VIPs and their security groups are real objects of Neutron.

The plumbing of amphorae is that of the driver that does nothing.
"""
from octavia.network import base
from octavia.network.drivers.neutron import allowed_address_pairs as aap
from octavia.network.drivers.noop_driver import driver as noop

class VipDriver(noop.NoopNetworkDriver):
    def __init__(self):
        super().__init__()
        self.neutron = aap.AllowedAddressPairsDriver()
        for name in ('allocate_vip', 'deallocate_vip', 'update_vip', 'update_vip_sg', 'get_network_by_name',
                     'get_subnet_by_name', 'get_port_by_name', 'get_network_ip_availability', 'qos_enabled', 'get_qos_policy'):
            setattr(self, name, getattr(self.neutron, name))

    def _real(self, name, ident, context, missing):
        try:
            return getattr(self.neutron, name)(ident, context=context)
        except missing:
            if context:                       # asked for by a user: must exist
                raise
            return getattr(self.driver, name)(ident)   # an id of the no-op amphora

    def get_network(self, network_id, context=None):
        return self._real('get_network', network_id, context, base.NetworkNotFound)

    def get_subnet(self, subnet_id, context=None):
        return self._real('get_subnet', subnet_id, context, base.SubnetNotFound)

    def get_port(self, port_id, context=None):
        return self._real('get_port', port_id, context, base.PortNotFound)
