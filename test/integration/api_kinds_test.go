// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

// kind is one of the four kinds as a user of kubectl meets it. In its texts NAME is the name of the object.
type kind struct {
	// group and version, and the plural with the group, which is the one name that nothing else has.
	groupVersion, resource string
	kind, short            string
	namespaced             bool
	finalizer              string
	// confirmed reports whether a deletion needs to be confirmed.
	confirmed bool
	// settled is what Groundskeeper's controllers make true of an object of the generation GENERATION, before they let it go when
	// it is deleted. None: there is no controller here that does.
	settled []string
	// manifest is what a user writes.
	manifest string
	// change is a merge patch of what is wanted, changed the path of what it changes and value its new value.
	change, changed, value string
	// status is a merge patch of the status, after which the condition is met.
	status, condition string
	// selector is a field selector that chooses the object after both patches.
	selector string
	// header and row are what `get -o wide` prints after both patches; the age, in the last column, is not checked.
	header, row []string
}

// kinds returns the four kinds.
func kinds() []kind {
	return []kind{
		{
			groupVersion: "core.gardener.cloud/v1beta1", resource: "projects.core.gardener.cloud", kind: "Project", short: "project", finalizer: "gardener", confirmed: true,
			settled: []string{"{.status.observedGeneration}=GENERATION", "{.status.phase}=Ready"},
			manifest: `
apiVersion: core.gardener.cloud/v1beta1
kind: Project
metadata: {name: NAME}
spec:
  description: first
  namespace: garden-NAME
  owner: {kind: User, name: olivia}
  members:
  - {kind: User, name: olivia, role: owner}
  - {kind: Group, name: auditors, roles: [viewer]}
`,
			change: `{"spec":{"description":"second"}}`, changed: "{.spec.description}", value: "second",
			status: `{"status":{"lastActivityTimestamp":"2026-01-02T03:04:05Z"}}`, condition: "NamespaceReady",
			selector: "spec.namespace=garden-NAME",
			header:   []string{"NAME", "READY", "NAMESPACE", "STATUS", "OWNER", "CREATOR", "STALE", "SINCE", "DELETION", "DUE", "AGE"},
			row:      []string{"NAME", "True", "garden-NAME", "Ready", "olivia", "admin"},
		},
		{
			groupVersion: "kubernikus.sap.cc/v1", resource: "klusters.kubernikus.sap.cc", kind: "Kluster", short: "kl", namespaced: true, finalizer: "kubernikus.sap.cc/deorbiter", confirmed: true,
			manifest: `
apiVersion: kubernikus.sap.cc/v1
kind: Kluster
metadata: {name: NAME}
spec:
  name: demo
  version: 1.36.2
  openstack: {routerID: 0f6d6a5e-2d4a-4f60-9a43-0e3f4f7b4f11}
  nodePools:
  - {name: small, flavor: m1.small, size: 3, availabilityZone: nova}
`,
			change: `{"spec":{"version":"1.36.3"}}`, changed: "{.spec.version}", value: "1.36.3",
			status: `{"status":{"phase":"Terminating","deorbit":{"stage":"Claims","remaining":[{"kind":"Volume","id":"1"},{"kind":"Volume","id":"2"}]},
				"conditions":[{"type":"Deorbited","status":"True","reason":"Test","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`,
			condition: "Deorbited", selector: "status.phase=Terminating",
			header: []string{"NAME", "READY", "VERSION", "PHASE", "REACHABLE", "ROUTES", "CLEAN", "STAGE", "LEFTOVERS", "RETAINED", "PODS", "ROUTER", "AGE"},
			row:    []string{"NAME", "Unknown", "1.36.3", "Terminating", "Claims", "2", "0", "100.100.0.0/16", "0f6d6a5e-2d4a-4f60-9a43-0e3f4f7b4f11"},
		},
		{
			groupVersion: "midonet.org/v1", resource: "translations.midonet.org", kind: "Translation", short: "tr", namespaced: true, finalizer: "midonet.org/deleter",
			manifest: `
apiVersion: midonet.org/v1
kind: Translation
metadata:
  name: NAME
  labels: {midonet.org/global: ""}
resources:
- {kind: Chain, parent: "", body: '{"id":"1"}'}
`,
			change:  `{"resources":[{"kind":"Chain","parent":"","body":"{\"id\":\"1\"}"},{"kind":"Rule","parent":"","body":"{\"id\":\"2\"}"}]}`,
			changed: "{.resources[1].kind}", value: "Rule",
			status:    `{"status":{"conditions":[{"type":"Synced","status":"True","reason":"Test","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`,
			condition: "Synced", selector: "metadata.name=NAME",
			header: []string{"NAME", "READY", "OWNER", "RESOURCES", "SYNCED", "STALLED", "AGE"},
			row:    []string{"NAME", "Unknown", "global", "2", "True"},
		},
		{
			groupVersion: "gimbal.heptio.com/v1", resource: "discoverybackends.gimbal.heptio.com", kind: "DiscoveryBackend", short: "dbe", namespaced: true, finalizer: "gimbal.heptio.com/discovery-backend",
			settled: []string{"{.status.observedGeneration}=GENERATION", `{.status.conditions[?(@.type=="Drained")].observedGeneration}=GENERATION`},
			manifest: `
apiVersion: gimbal.heptio.com/v1
kind: DiscoveryBackend
metadata: {name: NAME}
cluster: {type: Kubernetes, credentials: NAME-kubeconfig, clusterStatus: enabled}
`,
			change: `{"cluster":{"clusterStatus":"maintenance"}}`, changed: "{.cluster.clusterStatus}", value: "Maintenance",
			status: `{"status":{"services":7,"lastSyncTime":"2026-01-02T03:04:05Z","errors":[{"type":"ConnectionError","message":"no response"}],
				"conditions":[{"type":"Discovered","status":"True","reason":"Test","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`,
			condition: "Discovered", selector: "cluster.clusterStatus=Maintenance",
			header: []string{"NAME", "READY", "TYPE", "STATUS", "AVAILABLE", "DISCOVERED", "SERVICES", "DRAINED", "ERRORS", "LAST", "SYNC", "AGE"},
			row:    []string{"NAME", "True", "kubernetes", "Maintenance", "False", "True", "7", "True", "1"},
		},
	}
}
