// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// TestEarlierHosts checks that, on a management cluster of an earlier version that lacks APIs which admission plugins use, the API
// server logs one line per disabled plugin, becomes ready, and accepts writes.
func TestEarlierHosts(t *testing.T) {
	rare(t)
	t.Parallel()
	for _, version := range []string{"1.35", "1.34"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			options := audited(t, plane.Options{
				Dir: t.TempDir(), APIServers: 1, Managers: 1, UnsafeNoFsync: true,
				KubeAPIServerFlags: []string{"--emulated-version=kube=" + version},
			})
			p, err := plane.Start(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := p.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			})
			want := []string{`"Disabled, as it would never become ready" feature="MutatingAdmissionPolicy" ` +
				`reason="the kube-apiserver does not serve mutatingadmissionpolicies (admissionregistration.k8s.io/v1)"`}
			if diff := cmp.Diff(want, disabledBy(t, p.APIServers[0])); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			c := clientOf(t, p.Config())
			project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "dev"}}
			if err := c.Create(t.Context(), project); err != nil {
				t.Fatal(err)
			}
			if project.Spec.CreatedBy == nil || project.Spec.CreatedBy.Name != "admin" {
				t.Errorf("created by %v: the other plugins must be on", project.Spec.CreatedBy)
			}
			eventually(t, func(ctx context.Context) error { return isReady(ctx, c, project) })
			kluster := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: "demo"}}
			if err := c.Create(t.Context(), kluster); err != nil {
				t.Error(err)
			}
			if version == "1.35" { // one host is enough
				rejectsRival(t, p, options)
			}
		})
	}
}

// TestNothingIsDisabledOnCurrentKubernetes checks that no plugin is disabled on the current version.
func TestNothingIsDisabledOnCurrentKubernetes(t *testing.T) {
	t.Parallel()
	for _, server := range shared.APIServers {
		if lines := disabledBy(t, server); len(lines) > 0 {
			t.Errorf("%s: %q", server.Name(), lines)
		}
	}
}

// disabledBy returns the lines of a server's log that report what is disabled, without their heads.
func disabledBy(t *testing.T, server *plane.Process) []string {
	t.Helper()
	log, err := os.ReadFile(server.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(log)) {
		if _, text, found := strings.Cut(line, `] "Disabled`); found {
			lines = append(lines, `"Disabled`+strings.TrimSpace(text))
		}
	}
	slices.Sort(lines)
	return lines
}
