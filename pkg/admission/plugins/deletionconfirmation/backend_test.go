// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deletionconfirmation

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// warnings records what a request is warned of.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

func discoveryBackend(namespace string, status gimbalv1.DiscoveryBackendStatus, annotations map[string]string) *gimbalv1.DiscoveryBackend {
	return &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Name: "us", Namespace: namespace, Annotations: annotations}, Status: status}
}

func routes(matching, alone int32, names ...string) *gimbalv1.RouteStatus {
	r := &gimbalv1.RouteStatus{Matching: matching}
	if alone > 0 {
		r.WithoutAlternative = &gimbalv1.RouteNames{Names: names, Count: alone}
	}
	return r
}

// deleting requests the deletion of a backend, and returns the warnings.
func deleting(t *testing.T, plugin *Plugin, backend *gimbalv1.DiscoveryBackend, dryRun bool) ([]string, error) {
	t.Helper()
	var warned warnings
	ctx := warning.WithWarningRecorder(context.WithoutCancel(t.Context()), &warned)
	gv := gimbalv1.SchemeGroupVersion
	err := plugin.Validate(ctx, admission.NewAttributesRecord(nil, backend, gv.WithKind("DiscoveryBackend"), backend.Namespace, "us",
		gv.WithResource("discoverybackends"), "", admission.Delete, &metav1.DeleteOptions{}, dryRun, alice()), nil)
	return warned, err
}

func TestValidateWarnsOfRoutes(t *testing.T) {
	const removes = "the deletion of DiscoveryBackend us removes its references from "
	now := metav1.Now()
	for name, tc := range map[string]struct {
		routes   *gimbalv1.RouteStatus
		deleting bool
		want     []string
	}{
		"not counted":                {nil, false, nil},
		"no route":                   {routes(0, 0), false, nil},
		"every route has another":    {routes(5, 0), false, []string{removes + "5 routes; all of them have another backend"}},
		"one route loses its last":   {routes(1, 1, "HTTPProxy shop/web"), false, []string{removes + "1 route, and leaves no backend for the requests of 1 route: HTTPProxy shop/web"}},
		"more than are named":        {routes(9, 4, "HTTPProxy shop/web", "Ingress shop/old"), false, []string{removes + "9 routes, and leaves no backend for the requests of 4 routes: HTTPProxy shop/web, Ingress shop/old and 2 more"}},
		"it is being deleted before": {routes(1, 1, "HTTPProxy shop/web"), true, nil},
	} {
		for _, dryRun := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				plugin, _ := serving()
				backend := discoveryBackend("gimbal-discovery", gimbalv1.DiscoveryBackendStatus{Routes: tc.routes}, annotations(confirm, "true"))
				if tc.deleting {
					backend.DeletionTimestamp = &now
				}
				got, err := deleting(t, plugin, backend, dryRun)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("dry run = %v, warnings (-want +got):\n%s", dryRun, diff)
				}
			})
		}
	}
}

func TestValidateNeedsTheConfirmationOfBackends(t *testing.T) {
	unknown := []metav1.Condition{{Type: gimbalv1.ConditionDrained, Status: metav1.ConditionUnknown}}
	referenced := gimbalv1.DiscoveryBackendStatus{Routes: routes(3, 0)}
	for name, tc := range map[string]struct {
		which     Backends
		namespace string
		status    gimbalv1.DiscoveryBackendStatus
		needed    bool
	}{
		"references, by default":                   {"", "gimbal-discovery", referenced, true},
		"references":                               {BackendsInAdminNamespaces, "gimbal-discovery", referenced, true},
		"references, outside of admin namespaces":  {BackendsInAdminNamespaces, "shop", referenced, false},
		"references, all":                          {AllBackends, "shop", referenced, true},
		"references, none":                         {NoBackends, "gimbal-discovery", referenced, false},
		"no references":                            {AllBackends, "shop", gimbalv1.DiscoveryBackendStatus{Routes: routes(0, 0), Services: new(int32(4))}, false},
		"new":                                      {AllBackends, "shop", gimbalv1.DiscoveryBackendStatus{}, false},
		"no copies, not counted":                   {AllBackends, "shop", gimbalv1.DiscoveryBackendStatus{Services: new(int32(0))}, false},
		"copies, not counted":                      {AllBackends, "shop", gimbalv1.DiscoveryBackendStatus{Services: new(int32(4))}, true},
		"copies, routes unknown since":             {AllBackends, "shop", gimbalv1.DiscoveryBackendStatus{Services: new(int32(4)), Routes: routes(0, 0), Conditions: unknown}, true},
		"references before, routes unknown since":  {AllBackends, "shop", gimbalv1.DiscoveryBackendStatus{Routes: routes(2, 0), Conditions: unknown}, true},
		"no copies, routes unknown since creation": {AllBackends, "shop", gimbalv1.DiscoveryBackendStatus{Conditions: unknown}, false},
	} {
		for _, given := range []string{"", "false", "true"} {
			t.Run(name+", "+given, func(t *testing.T) {
				plugin, _ := serving()
				plugin.SetDiscoveryAdminNamespaces([]string{"gimbal-discovery"})
				plugin.SetConfirmedBackends(tc.which)
				warned, err := deleting(t, plugin, discoveryBackend(tc.namespace, tc.status, annotations(confirm, given)), given == "")
				if rejected := tc.needed && given != "true"; rejected != apierrors.IsForbidden(err) || err != nil != rejected {
					t.Fatalf("rejected = %v, want %v", err, rejected)
				}
				if err != nil && !strings.HasSuffix(err.Error(), rejection) {
					t.Errorf("error = %v, want %q", err, rejection)
				}
				if r := tc.status.Routes; r != nil && r.Matching > 0 && len(warned) != 1 {
					t.Errorf("warnings = %q, want one, rejected or not", warned)
				}
			})
		}
	}
}
