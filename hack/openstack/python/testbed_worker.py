# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
"""Octavia's worker without the deprecated v1 queue, which is one process less."""
import os
import sys
import cotyledon
from cotyledon import oslo_config_glue
from oslo_config import cfg
from octavia.common import service
from octavia.controller.queue.v2 import consumer

class Consumer(consumer.ConsumerService):
    def run(self):
        super().run()
        open(os.environ['TESTBED_READY'], 'w').close()     # `up` waits for this

def main():
    service.prepare_service(sys.argv)
    sm = cotyledon.ServiceManager()
    sm.add(Consumer, workers=1, args=(cfg.CONF,))
    oslo_config_glue.setup(sm, cfg.CONF, reload_method="mutate")
    sm.run()
