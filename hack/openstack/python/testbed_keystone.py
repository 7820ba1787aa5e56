# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
"""Keystone as an application of WSGI. TESTBED_DIR says where its configuration is."""
import os
import sys

sys.argv = ['keystone']  # oslo.config must not see gunicorn's flags
os.environ['OS_KEYSTONE_CONFIG_FILES'] = os.environ['TESTBED_DIR'] + '/etc/keystone.conf'

from keystone.server.wsgi import initialize_public_application

application = initialize_public_application()
