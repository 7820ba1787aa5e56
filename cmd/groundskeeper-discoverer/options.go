// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/logging"
)

// namespaceFile contains the namespace of the pod of the process.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// options are the flags. Those of the original keep their names.
type options struct {
	// mode is the type of the backend.
	mode                                 gimbalv1.BackendType
	gimbalKubeconfig, discoverKubeconfig string
	backend, backendNamespace            string
	resync, probe, timeout               time.Duration
	threads                              int
	debug                                bool
	logFormat                            logging.Format
	listenAddress                        string
	qps                                  float32
	burst                                int
	allow, deny                          []string
	missing                              string
	externalNames                        bool
	annotations                          []string
	labels                               desired.Labels
	selector                             string
	allowAddresses, denyAddresses        []string
	// addresses are the parsed networks; validate sets them.
	addresses desired.Addresses
	// selected is the parsed selector; validate sets it.
	selected labels.Selector
	identity string
	// What follows is for OpenStack.
	getenv         func(string) string
	caFile         string
	watchlist      []string
	openstackQPS   float32
	openstackBurst int
}

func newOptions(mode gimbalv1.BackendType, getenv func(string) string) *options {
	o := &options{
		mode: mode, getenv: getenv,
		backendNamespace: "gimbal-discovery",
		resync:           30 * time.Minute, probe: 30 * time.Second, timeout: 5 * time.Second,
		threads: 8, listenAddress: "8080", qps: 500, burst: 1000,
		missing:      string(gimbalv1.MissingNamespaceWait),
		openstackQPS: 100, openstackBurst: 200,
		// The names of pods differ, those of processes on one machine do not.
		identity: getenv("HOSTNAME") + "_" + strconv.FormatInt(time.Now().UnixNano(), 36),
	}
	if content, err := os.ReadFile(namespaceFile); err == nil {
		o.backendNamespace = strings.TrimSpace(string(content))
	}
	return o
}

// policy is the policy of namespaces that the flags specify.
func (o *options) policy() replica.Policy {
	return replica.Policy{Allow: o.allow, Deny: o.deny, Missing: gimbalv1.MissingNamespacePolicy(o.missing)}
}

// confined is the only namespace that may be touched here, "" when all may.
func (o *options) confined() string {
	if len(o.allow) == 1 && o.allow[0] == o.backendNamespace {
		return o.backendNamespace
	}
	return ""
}

// address is what to listen on: a bare port is one of all addresses.
func (o *options) address() string {
	if strings.Contains(o.listenAddress, ":") {
		return o.listenAddress
	}
	return ":" + o.listenAddress
}
