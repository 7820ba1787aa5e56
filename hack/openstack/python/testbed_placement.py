# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
"""Placement as an application of WSGI. TESTBED_DIR says where its configuration is."""
import os
import sys

sys.argv = ['placement-api']
os.environ['OS_PLACEMENT_CONFIG_DIR'] = os.environ['TESTBED_DIR'] + '/etc/placement'

from placement.wsgi import init_application

application = init_application()
