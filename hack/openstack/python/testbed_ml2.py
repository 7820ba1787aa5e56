# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism driver of ML2 that binds every port of every host at once.

There are no L2 agents here, and without a binding nova-compute refuses to boot a server.
"""
from neutron_lib.api.definitions import portbindings
from neutron_lib import constants
from neutron_lib.plugins.ml2 import api
from neutron_lib.services.trunk import constants as trunk_constants

from neutron.services.trunk.drivers import base


class BindAllTrunkDriver(base.DriverBase):
    """Lets the trunk service start: it refuses to without a driver that is loaded."""

    @property
    def is_loaded(self):
        return True


class BindAllMechanismDriver(api.MechanismDriver):
    def initialize(self):
        # It subscribes to the start of the trunk service, and lives as long as it is referred to.
        self.trunks = BindAllTrunkDriver('bindall', (portbindings.VIF_TYPE_OVS,),
                                         (trunk_constants.SEGMENTATION_TYPE_VLAN,), can_trunk_bound_port=True)

    @property
    def connectivity(self):
        return portbindings.CONNECTIVITY_L2

    def bind_port(self, context):
        for segment in context.segments_to_bind:
            context.set_binding(segment[api.ID], portbindings.VIF_TYPE_OVS,
                                {portbindings.CAP_PORT_FILTER: True},
                                status=constants.PORT_STATUS_ACTIVE)
            return
