// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"groundskeeper.io/groundskeeper/pkg/accessreview"
	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// permissionInterval is the pause between two checks of permissions that are missing.
const permissionInterval = 10 * time.Second

// grant is a set of permissions that an installation gives to the controller manager only for some controllers. Without
// them the caches of these would never be filled, and the replica never be ready.
type grant struct {
	// manifests is what grants them.
	manifests string
	rules     []rule
}

// rule are requests for a resource in all namespaces.
type rule struct {
	group, resource string
	methods         methods
}

type methods []accessreview.Method

func klusterGrant(*v1alpha1.ControllersConfiguration) *grant {
	return &grant{manifests: "artifacts/kluster", rules: []rule{
		{"", "secrets", methods{"get", "list", "watch", "patch"}}, {"kubernikus.sap.cc", "klusters", methods{"patch"}},
	}}
}

// clusterAPIGrant returns what the controller for clusters of Cluster API needs besides.
func clusterAPIGrant(*v1alpha1.ControllersConfiguration) *grant {
	return &grant{manifests: "artifacts/capi", rules: []rule{
		{"kubernikus.sap.cc", "klusters", methods{"create", "delete"}}, {"cluster.x-k8s.io", "clusters", methods{"list", "watch"}},
		{"cluster.x-k8s.io", "machines", methods{"list", "watch", "patch"}},
		{"infrastructure.cluster.x-k8s.io", "openstackclusters", methods{"list", "watch", "patch"}},
	}}
}

// discoveryGrant returns what running discoverers needs, nil where none run.
func discoveryGrant(config *v1alpha1.ControllersConfiguration) *grant {
	if withoutImage(config) {
		return nil
	}
	return &grant{manifests: "artifacts/discovery", rules: []rule{
		{"apps", "deployments", methods{"list", "watch", "create", "patch"}},
		{"", "serviceaccounts", methods{"get", "list", "watch", "create", "patch"}}, {"", "secrets", methods{"get", "list", "watch"}},
	}}
}

// rangesGrant returns what the conversion for OVN needs that a role of an earlier version does not have, nil for other backends.
func rangesGrant(config *v1alpha1.ControllersConfiguration) *grant {
	if config.Translation.Configured() != v1alpha1.BackendOVN {
		return nil
	}
	return &grant{manifests: "artifacts/rbac", rules: []rule{{"networking.k8s.io", "servicecidrs", methods{"list", "watch"}}}}
}

// missing returns what the controller manager is not allowed to do, such as "list secrets". Where that cannot be found out,
// nothing is missing: the controllers then report what fails.
func (g *grant) missing(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface) []string {
	if g == nil {
		return nil
	}
	var missing []string
	for _, r := range g.rules {
		for _, method := range r.methods {
			lacks, err := accessreview.Of(reviews).Missing(ctx, accessreview.Request{
				Method: method, Resource: schema.GroupVersionResource{Group: r.group, Resource: r.resource},
			})
			if err != nil {
				continue
			}
			for _, verb := range lacks {
				missing = append(missing, verb+" "+r.resource)
			}
		}
	}
	return missing
}

func (g *grant) message(missing []string) string {
	return fmt.Sprintf("not allowed to %s: kubectl apply -k %s", strings.Join(missing, ", "), g.manifests)
}

// permitted are controllers that may have to wait for permissions.
type permitted struct {
	reviews  authorizationclient.SelfSubjectAccessReviewInterface
	config   *v1alpha1.ControllersConfiguration
	ready    *readiness
	interval time.Duration
}

// split divides controllers into those that can start, and those that lack permissions, of which it informs users.
func (p permitted) split(ctx context.Context, controllers []controller) (start, wait []controller) {
	logger := logr.FromContextOrDiscard(ctx)
	results := map[string][]string{} // the controllers for one kind need the same
	for _, c := range controllers {
		g := c.grantFor(p.config)
		if g == nil {
			start = append(start, c)
			continue
		}
		missing, known := results[g.manifests]
		if !known {
			missing = g.missing(ctx, p.reviews)
			results[g.manifests] = missing
		}
		if len(missing) == 0 {
			start = append(start, c)
			continue
		}
		message := g.message(missing)
		if p.ready.hold(c.name, message) {
			logger.Error(nil, "A controller waits for permissions", "controller", c.name, "missing", missing,
				"remedy", "kubectl apply -k "+g.manifests)
		}
		wait = append(wait, c)
	}
	return start, wait
}

// grantFor returns what the controller needs beyond what every installation grants, nil for nothing.
func (c controller) grantFor(config *v1alpha1.ControllersConfiguration) *grant {
	if c.needs == nil {
		return nil
	}
	return c.needs(config)
}

// awaiting starts controllers once their permissions are granted, on every replica.
type awaiting struct {
	permitted
	mgr         ctrl.Manager
	controllers []controller
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: standbys fill their caches, too.
func (awaiting) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (a awaiting) Start(ctx context.Context) error {
	ticker := time.NewTicker(a.interval)
	defer ticker.Stop()
	for len(a.controllers) > 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		var start []controller
		start, a.controllers = a.split(ctx, a.controllers)
		for _, c := range start {
			logr.FromContextOrDiscard(ctx).Info("Permissions were granted, starting a controller", "controller", c.name)
			a.ready.unhold(c.name)
		}
		if err := addControllers(a.mgr, start, a.config, a.ready); err != nil {
			return err
		}
	}
	return nil
}
