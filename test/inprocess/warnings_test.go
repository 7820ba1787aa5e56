// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// warnings keeps the warnings of a client.
type warnings []string

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _ string, text string) {
	*w = append(*w, text)
}

// TestMaintenanceWarns checks that a user who starts maintenance is warned of routes without another backend, also in a dry run.
func TestMaintenanceWarns(t *testing.T) {
	ctx, got := t.Context(), &warnings{}
	config := rest.CopyConfig(servers[0])
	config.WarningHandlerWithContext = got
	c, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	backends, backend := c.GimbalV1().DiscoveryBackends("gimbal-discovery"), backend(name(t, "warn"))
	if _, err := backends.Create(ctx, backend, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := func(patch string, options metav1.PatchOptions, subresources ...string) *gimbalv1.DiscoveryBackend {
		t.Helper()
		patched, err := backends.Patch(ctx, backend.Name, types.MergePatchType, []byte(patch), options, subresources...)
		if err != nil {
			t.Fatal(err)
		}
		return patched
	}
	const begin = `{"cluster":{"clusterStatus":"maintenance"}}`
	patch(`{"status":{"routes":{"matching":2,"drained":0,"withoutAlternative":{"names":["HTTPProxy shop/web"],"count":1}}}}`, metav1.PatchOptions{}, "status")
	patch(`{"metadata":{"labels":{"a":"b"}}}`, metav1.PatchOptions{})
	if len(*got) != 0 {
		t.Fatalf("warned before maintenance began: %q", *got)
	}
	patch(begin, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	dry := *got
	if len(dry) != 1 || !strings.Contains(dry[0], "HTTPProxy shop/web") {
		t.Errorf("the dry run warned %q", dry)
	}
	*got = nil
	if status := patch(begin, metav1.PatchOptions{}).Cluster.ClusterStatus; status != gimbalv1.ClusterMaintenance {
		t.Fatalf("the status is %s", status)
	}
	if diff := cmp.Diff(dry, *got); diff != "" {
		t.Errorf("the change warned otherwise than the dry run (-dry +change):\n%s", diff)
	}
	*got = nil
	patch(`{"status":{"services":1}}`, metav1.PatchOptions{}, "status")
	patch(begin, metav1.PatchOptions{})
	if len(*got) != 0 {
		t.Errorf("warned while maintenance continued: %q", *got)
	}
}
