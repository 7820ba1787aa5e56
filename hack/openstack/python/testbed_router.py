# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
"""Neutron's router service without the extension extraroute-atomic, as older clouds have it."""
from neutron.services.l3_router import l3_router_plugin


class PlainRouterPlugin(l3_router_plugin.L3RouterPlugin):
    _supported_extension_aliases = [
        alias for alias in l3_router_plugin.L3RouterPlugin._supported_extension_aliases if alias != 'extraroute-atomic']
