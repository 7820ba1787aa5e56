// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"groundskeeper.io/groundskeeper/pkg/accessreview"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/plan"
)

const admissionGroup = "admissionregistration.k8s.io"

// permission is what Deorbit has to be allowed to do in a workload cluster: requests that differ in their method only.
type permission struct {
	group, resource, name string
	methods               methods
}

type methods []accessreview.Method

func (p permission) requests() []accessreview.Request {
	var all []accessreview.Request
	for _, method := range p.methods {
		request := accessreview.Request{Method: method, Resource: schema.GroupVersionResource{Group: p.group, Resource: p.resource}, Name: p.name}
		if method != accessreview.Create {
			all = append(all, request)
			continue
		}
		for _, namespace := range probedNamespaces { // Freeze creates, in these, in a dry run
			request.Namespace = namespace
			all = append(all, request)
		}
	}
	return all
}

// named names a permission with some verbs, as in "list pods" or "patch services".
func (p permission) named(verbs []string) string {
	text := strings.Join(verbs, ", ") + " " + schema.GroupResource{Group: p.group, Resource: p.resource}.String()
	if p.name != "" {
		text += " " + p.name
	}
	return text
}

// facts are what decides which permissions a cluster needs.
type facts struct {
	// policies is true where the cluster has ValidatingAdmissionPolicies, snapshots where it has VolumeSnapshots.
	policies, snapshots bool
	// keepsAddresses is true when Services are instructed to keep their floating IPs.
	keepsAddresses bool
}

// permissionsFor returns the permissions that Deorbit needs. All of them together are the rules of
// artifacts/kluster/workload/deorbit.yaml.
func permissionsFor(f facts) []permission {
	all := []permission{
		{"", "namespaces", metav1.NamespaceSystem, methods{"get"}},
		{"", "persistentvolumeclaims", "", methods{"list", "delete", "create"}},
		{"", "pods", "", methods{"list", "delete"}},
		{"", "persistentvolumes", "", methods{"list"}},
		{"", "nodes", "", methods{"list"}},
		{"", "services", "", methods{"list", "delete"}},
		{"networking.k8s.io", "ingresses", "", methods{"list", "delete"}},
		{"storage.k8s.io", "storageclasses", "", methods{"list"}},
		{"storage.k8s.io", "volumeattachments", "", methods{"list"}},
		{admissionGroup, "validatingwebhookconfigurations", "", methods{"list", "patch"}},
		{admissionGroup, "mutatingwebhookconfigurations", "", methods{"list", "patch"}},
	}
	if f.policies {
		all = append(all,
			permission{admissionGroup, "validatingadmissionpolicies", freezeName, methods{"get", "apply"}},
			permission{admissionGroup, "validatingadmissionpolicybindings", freezeName, methods{"get", "apply", "delete"}})
	} else {
		all = append(all, permission{admissionGroup, "validatingwebhookconfigurations", freezeName, methods{"get", "apply", "delete"}})
	}
	if f.snapshots {
		all = append(all,
			permission{plan.SnapshotGroup, "volumesnapshots", "", methods{"list", "delete"}},
			permission{plan.SnapshotGroup, "volumesnapshotcontents", "", methods{"list", "delete"}},
			permission{plan.SnapshotGroup, "volumesnapshotclasses", "", methods{"list"}})
	}
	if f.keepsAddresses {
		all = append(all, permission{"", "services", "", methods{"patch"}})
	}
	return all
}

// MissingPermissions reviews each permission that Deorbit needs in the cluster, and names those that the user lacks.
// keepsAddresses is true when Services are to keep their floating IPs. An error means that they could not be reviewed.
func (c *Connection) MissingPermissions(ctx context.Context, keepsAddresses bool) ([]string, error) {
	f := facts{keepsAddresses: keepsAddresses}
	served, err := c.served(ctx, admissionAPI)
	if err != nil {
		return nil, err
	}
	f.policies = served["validatingadmissionpolicies"]
	for _, version := range snapshotVersions {
		if served, err = c.served(ctx, "/apis/"+plan.SnapshotGroup+"/"+version); err != nil {
			return nil, err
		}
		f.snapshots = f.snapshots || len(served) > 0
	}
	var missing []string
	reviewer := accessreview.Of(c.kube.AuthorizationV1().SelfSubjectAccessReviews())
	for _, p := range permissionsFor(f) {
		var lacks []string
		for _, request := range p.requests() {
			verbs, err := reviewer.Missing(ctx, request)
			if err != nil {
				return nil, c.failed("review the permissions of the user", err)
			}
			for _, verb := range verbs {
				if !slices.Contains(lacks, verb) {
					lacks = append(lacks, verb)
				}
			}
		}
		if len(lacks) > 0 {
			missing = append(missing, p.named(lacks))
		}
	}
	slices.Sort(missing)
	return missing, nil
}
