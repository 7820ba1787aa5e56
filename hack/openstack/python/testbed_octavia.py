# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
"""Octavia's API as an application of WSGI. TESTBED_DIR says where its configuration is."""
import os
import sys

sys.argv = ['octavia-api']

from octavia.api import app

application = app.setup_app(argv=['octavia-api', '--config-file', os.environ['TESTBED_DIR'] + '/etc/octavia.conf'])
