// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"strings"

	"k8s.io/utils/clock"

	upstream "groundskeeper.io/groundskeeper/pkg/discoverer/openstack"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// credentialsHelp describes the sources of the credentials.
const credentialsHelp = `Copy the load balancers of an OpenStack cloud: what Octavia has in the projects of a user.

The credentials are in the environment: OS_AUTH_URL, OS_USERNAME, OS_PASSWORD, OS_PROJECT_NAME (or OS_TENANT_NAME) or
OS_PROJECT_ID, OS_USER_DOMAIN_NAME or OS_USER_DOMAIN_ID, OS_PROJECT_DOMAIN_NAME or OS_PROJECT_DOMAIN_ID (both "Default"
when they are not set), OS_REGION_NAME, OS_INTERFACE. OS_APPLICATION_CREDENTIAL_ID and OS_APPLICATION_CREDENTIAL_SECRET
take the place of user, password and project. Instead of all of them OS_CLIENT_CONFIG_FILE names a clouds.yaml, and
OS_CLOUD one of several clouds in it.`

// cloud is an OpenStack cloud as a backend.
type cloud struct {
	*upstream.Upstream
	*discoverer
}

func (d *discoverer) openstack() (backend, error) {
	environment := openstack.Environment{
		Getenv: d.getenv, ReadFile: os.ReadFile, CA: d.caFile, CAFlag: "--openstack-certificate-authority",
	}
	if d.caFile == "" {
		if environment.CA = d.getenv("OS_CACERT"); environment.CA != "" {
			environment.CAFlag = "OS_CACERT"
		}
	}
	credentials, err := environment.Credentials()
	if err != nil {
		return nil, err
	}
	d.server = credentials.Host()
	session := upstream.NewSession(credentials, openstack.Options{
		QPS: d.openstackQPS, Burst: d.openstackBurst, Timeout: d.timeout, UserAgent: version.UserAgent(name), Wrap: d.measured(cloudPathOf),
	}, clock.RealClock{})
	return &cloud{upstream.New(upstream.Options{
		Backend: d.backend, Cloud: session, Recognize: d.recognize, Contact: d.contact.Note, Watchlist: d.watchlist, Admits: d.policy().Admits, Threads: d.threads,
		Ledger: d.ledger, Subject: backendSubject, Meters: d.meters, Clock: clock.RealClock{},
	}), d}, nil
}

func (c *cloud) listen(to *replica.Replica) { c.Listen(to) }

// watch does nothing: OpenStack has nothing to watch.
func (c *cloud) watch(context.Context) {}

func (c *cloud) probeUntilDone(ctx context.Context) { c.Run(ctx, clock.RealClock{}.NewTicker(c.probe)) }

// cloudPathOf returns a path without ids.
func cloudPathOf(path string) string {
	const length = 32 // of an id, with and without dashes
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if len(part) >= length && strings.Trim(part, "0123456789abcdefABCDEF-") == "" {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}
