// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/plan"
)

// admissionGroup is the API group of policies and webhooks.
const admissionGroup = "admissionregistration.k8s.io"

// permission is what Deorbit has to be allowed to do in a workload cluster.
type permission struct {
	group, resource, name string
	verbs                 []string
}

// String names a permission with one of its verbs, as in "list pods" or "patch services".
func (p permission) String() string {
	text := strings.Join(p.verbs, ", ") + " " + schema.GroupResource{Group: p.group, Resource: p.resource}.String()
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
		{"", "namespaces", metav1.NamespaceSystem, []string{"get"}},
		{"", "persistentvolumeclaims", "", []string{"list", "delete", "create"}},
		{"", "pods", "", []string{"list", "delete"}},
		{"", "persistentvolumes", "", []string{"list"}},
		{"", "nodes", "", []string{"list"}},
		{"", "services", "", []string{"list", "delete"}},
		{"networking.k8s.io", "ingresses", "", []string{"list", "delete"}},
		{"storage.k8s.io", "storageclasses", "", []string{"list"}},
		{"storage.k8s.io", "volumeattachments", "", []string{"list"}},
		{admissionGroup, "validatingwebhookconfigurations", "", []string{"list", "patch"}},
		{admissionGroup, "mutatingwebhookconfigurations", "", []string{"list", "patch"}},
	}
	if f.policies {
		all = append(all,
			permission{admissionGroup, "validatingadmissionpolicies", freezeName, []string{"get", "create", "patch"}},
			permission{admissionGroup, "validatingadmissionpolicybindings", freezeName, []string{"get", "create", "patch", "delete"}})
	} else {
		all = append(all, permission{admissionGroup, "validatingwebhookconfigurations", freezeName, []string{"get", "create", "delete"}})
	}
	if f.snapshots {
		all = append(all,
			permission{plan.SnapshotGroup, "volumesnapshots", "", []string{"list", "delete"}},
			permission{plan.SnapshotGroup, "volumesnapshotcontents", "", []string{"list", "delete"}},
			permission{plan.SnapshotGroup, "volumesnapshotclasses", "", []string{"list"}})
	}
	if f.keepsAddresses {
		all = append(all, permission{"", "services", "", []string{"patch"}})
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
	for _, p := range permissionsFor(f) {
		lacks := permission{group: p.group, resource: p.resource, name: p.name}
		for _, verb := range p.verbs {
			allowed, err := c.allowed(ctx, p, verb)
			if err != nil {
				return nil, c.failed("review the permissions of the user", err)
			}
			if !allowed {
				lacks.verbs = append(lacks.verbs, verb)
			}
		}
		if len(lacks.verbs) > 0 {
			missing = append(missing, lacks.String())
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// allowed checks with the API server whether the user of the connection is allowed to do something.
func (c *Connection) allowed(ctx context.Context, p permission, verb string) (bool, error) {
	name := p.name
	if verb == "create" {
		name = "" // a create is authorized without the name
	}
	review, err := c.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: p.group, Resource: p.resource, Name: name,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", verb, p.resource, err)
	}
	return review.Status.Allowed, nil
}
