// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"
)

// badObject is what a user may get wrong in a manifest, and the field that the error names.
type badObject struct {
	// manifest is what follows the kind and the name, in YAML's short form.
	manifest string
	want     string
	// name is the name of the object where it is what is wrong.
	name string
}

// TestBadObjects checks that an invalid object is rejected with one line that names the field, and that kubectl fails.
func TestBadObjects(t *testing.T) {
	t.Parallel()
	namespace := freshNamespace(t, "bad")
	for kind, objects := range map[string][]badObject{
		"core.gardener.cloud/v1beta1, kind: Project":   badProjects(),
		"kubernikus.sap.cc/v1, kind: Kluster":          badKlusters(),
		"midonet.org/v1, kind: Translation":            badTranslations(),
		"gimbal.heptio.com/v1, kind: DiscoveryBackend": badBackends(),
	} {
		for i, object := range objects {
			_, short, _ := strings.Cut(kind, "kind: ")
			t.Run(fmt.Sprintf("%s %d %s", short, i, object.want), func(t *testing.T) {
				t.Parallel()
				if object.name == "" {
					object.name = "bad"
				}
				metadata := "metadata: {name: " + object.name + "}"
				if strings.Contains(object.manifest, "metadata:") {
					metadata = ""
				}
				manifest := "{apiVersion: " + kind + ", " + strings.Trim(metadata+", "+object.manifest, ", ") + "}"
				out, err := kubectl(t, manifest, "create", "--dry-run=server", "--namespace="+namespace, "-f", "-")
				if err == nil {
					t.Fatalf("accepted %s: %s", manifest, out)
				}
				_, complaint, _ := strings.Cut(err.Error(), "exit status 1: ")
				if complaint = strings.TrimSpace(complaint); strings.Contains(complaint, "\n") || !strings.Contains(complaint, object.want) {
					t.Errorf("%s\nis rejected with:\n%s\nwant one line with %q", manifest, complaint, object.want)
				}
			})
		}
	}
}

func badProjects() []badObject {
	members := func(list string) string { return "spec: {members: [" + list + "]}" }
	return []badObject{
		{name: "two--hyphens", want: "metadata.name: Invalid value: \"two--hyphens\": name may not contain two consecutive hyphens"},
		{name: "with.dot", want: "metadata.name: Invalid value"},
		{name: strings.Repeat("x", 51), want: "metadata.name: Too long: may not be more than 50"},
		{manifest: "spec: {namespace: other}", want: `spec.namespace: Invalid value: "other": must start with garden-`},
		{manifest: "spec: {namespace: garden-a.b}", want: "spec.namespace: Invalid value"},
		{manifest: members("{kind: User, name: a}, {kind: User, name: a}"), want: "spec.members[1]: Duplicate value"},
		{manifest: members("{kind: User, name: 'system:serviceaccount:ns:a'}, {kind: ServiceAccount, namespace: ns, name: a}"), want: "spec.members[1]: Duplicate value"},
		{manifest: members("{kind: User, name: a, role: boss}"), want: "spec.members[0].role: Unsupported value"},
		{manifest: members("{kind: User, name: a, roles: [viewer, boss]}"), want: "spec.members[0].roles[0]: Unsupported value"},
		{manifest: members("{kind: Robot, name: a}"), want: "spec.members[0].kind: Unsupported value"},
		{manifest: members("{kind: ServiceAccount, name: a}"), want: "spec.members[0].namespace: Required value"},
		{manifest: members("{kind: User, name: a, role: 'extension:" + strings.Repeat("x", 21) + "'}"), want: "spec.members[0].role: Too long"},
		{manifest: members("{kind: User, name: a, role: owner}, {kind: User, name: b, role: owner}"), want: "spec.members[1].roles: Forbidden: there can only be one owner"},
		{manifest: "spec: {description: ''}", want: "spec.description: Required value"},
		{manifest: "spec: {purpose: 'a;b'}", want: "spec.purpose: Invalid value"},
		{manifest: "spec: {tolerations: {defaults: [{key: a}]}}", want: "spec.tolerations.defaults[0]: Forbidden"},
		{manifest: "spec: {dualApprovalForDeletion: [{resource: pods, selector: {}}]}", want: "spec.dualApprovalForDeletion[0].resource: Unsupported value"},
		{manifest: "spec: {ownr: {kind: User, name: a}}", want: `unknown field "spec.ownr"`},
		{manifest: "spec: {members: {}}", want: "spec.members"},
	}
}

func badKlusters() []badObject {
	pool := func(fields string) string {
		return "spec: {nodePools: [{name: small, flavor: m1, availabilityZone: nova, " + fields + "}]}"
	}
	return []badObject{
		{name: strings.Repeat("a", 64), want: "spec.name: Required value"},
		{name: "a.name.with.dots", want: "spec.name: Invalid value"},
		{manifest: "spec: {name: Upper}", want: "spec.name: Invalid value"},
		{manifest: "spec: {version: one}", want: `spec.version: Invalid value: "one": must be a semantic version such as 1.36.3`},
		{manifest: "spec: {clusterCIDR: everything}", want: "spec.clusterCIDR: Invalid value"},
		{manifest: "spec: {clusterCIDR: ''}", want: "spec.clusterCIDR: Required value"},
		{manifest: "spec: {serviceCIDR: 100.100.5.0/24}", want: "spec.serviceCIDR: Invalid value"},
		{manifest: "spec: {dnsAddress: 1.2.3}", want: "spec.dnsAddress: Invalid value"},
		{manifest: "spec: {dnsDomain: under_score}", want: "spec.dnsDomain: Invalid value"},
		{manifest: "spec: {advertiseAddress: here}", want: "spec.advertiseAddress: Invalid value"},
		{manifest: "spec: {advertisePort: 70000}", want: "spec.advertisePort: Invalid value"},
		{manifest: "spec: {backup: sometimes}", want: "spec.backup: Unsupported value"},
		{manifest: "spec: {audit: paper}", want: "spec.audit: Unsupported value"},
		{manifest: "spec: {oidc: {issuerURL: 'https://a'}}", want: "spec.oidc.clientID: Required value"},
		{manifest: "spec: {authenticationConfiguration: '{'}", want: "spec.authenticationConfiguration: Invalid value"},
		{manifest: "spec: {openstack: {routerID: mine}}", want: "spec.openstack.routerID: Invalid value"},
		{manifest: pool("size: 200"), want: "spec.nodePools[0].size: Invalid value"},
		{manifest: pool("labels: [plain]"), want: "spec.nodePools[0].labels[0]: Invalid value"},
		{manifest: pool("taints: ['a=b:Sometimes']"), want: "spec.nodePools[0].taints[0]: Invalid value"},
		{manifest: pool("customRootDiskSize: 5"), want: "spec.nodePools[0].customRootDiskSize: Invalid value"},
		{manifest: "spec: {nodePools: [{name: small, flavor: m1}]}", want: "spec.nodePools[0].availabilityZone: Required value"},
		{manifest: "spec: {nodePools: [{name: a, flavor: m1, availabilityZone: b}, {name: a, flavor: m1, availabilityZone: b}]}", want: "spec.nodePools[1]: Duplicate value"},
		{manifest: "spec: {secretRef: {name: No_Name}}", want: "spec.secretRef.name: Invalid value"},
		{manifest: "spec: {cloudProvider: {clusterName: \"\"}}", want: "spec.cloudProvider.clusterName: Invalid value"},
		{manifest: "spec: {deorbit: {timeout: 0s}}", want: "spec.deorbit.timeout: Invalid value"},
		{manifest: "spec: {deorbit: {loadBalancers: Maybe}}", want: "spec.deorbit.loadBalancers: Unsupported value"},
		{manifest: "spec: {routeGC: {interval: 1ms}}", want: "spec.routeGC.interval: Invalid value"},
		{manifest: "spec: {discovery: {namespace: No_Name}}", want: "spec.discovery.namespace: Invalid value"},
		{manifest: "spec: {localVolumeCleanup: {maxMissingNodeFraction: 2}}", want: "spec.localVolumeCleanup.maxMissingNodeFraction: Invalid value"},
		{manifest: "spec: {verison: 1.36.3}", want: `unknown field "spec.verison"`},
	}
}

func badTranslations() []badObject {
	const owner = "{apiVersion: v1, kind: Pod, name: a, uid: "
	return []badObject{
		{manifest: "resources: [{kind: port, body: '{}'}]", want: "resources[0].kind: Invalid value"},
		{manifest: "resources: [{body: '{}'}]", want: "resources[0].kind: Required value"},
		{manifest: "resources: [{kind: Port, parent: above, body: '{}'}]", want: "resources[0].parent: Invalid value"},
		{manifest: "resources: [{kind: Port, body: 'id: 1'}]", want: "resources[0].body: Invalid value"},
		{manifest: "resources: [{kind: Port}]", want: "resources[0].body: Required value"},
		{manifest: `resources: [{kind: Port, body: '{"id":"1"}'}, {kind: Port, body: '{"id":"1","a":1}'}]`, want: "resources[1]: Duplicate value"},
		{manifest: "metadata: {name: bad, ownerReferences: [" + owner + "u1}, " + owner + "u2}]}", want: "metadata.ownerReferences: Invalid value"},
		{manifest: "metadata: {name: bad, labels: {midonet.org/global: ''}, ownerReferences: [" + owner + "u1}]}", want: "metadata.ownerReferences: Forbidden"},
		{manifest: "spec: {}", want: `unknown field "spec"`},
	}
}

func badBackends() []badObject {
	cluster := func(fields string) string { return "cluster: {type: kubernetes, secret: s, " + fields + "}" }
	return []badObject{
		{name: "us.east", manifest: cluster(""), want: "metadata.name: Invalid value"},
		{name: strings.Repeat("x", 41), manifest: cluster(""), want: "metadata.name: Invalid value"},
		{manifest: "cluster: {type: mainframe, secret: s}", want: "cluster.type: Unsupported value"},
		{manifest: "cluster: {secret: s}", want: "cluster.type: Required value"},
		{manifest: "cluster: {type: openstack}", want: "cluster.secret: Required value"},
		{manifest: cluster("credentials: c"), want: "cluster.credentials: Invalid value"},
		{manifest: cluster("refreshInterval: 0"), want: "cluster.refreshInterval: Invalid value"},
		{manifest: cluster("refreshInterval: 30s"), want: "cluster.refreshInterval"},
		{manifest: cluster("clusterStatus: away"), want: "cluster.clusterStatus: Unsupported value"},
		{manifest: cluster("drainPolicy: Never"), want: "cluster.drainPolicy: Unsupported value"},
		{manifest: cluster("drainGracePeriod: -1s"), want: "cluster.drainGracePeriod: Invalid value"},
		{manifest: cluster("namespaces: {missing: Pray}"), want: "cluster.namespaces.missing: Unsupported value"},
		{manifest: cluster("namespaces: {deny: [No_Name]}"), want: "cluster.namespaces.deny[0]: Invalid value"},
		{manifest: cluster("secrets: s"), want: `unknown field "cluster.secrets"`},
	}
}
