// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// pair is a plane with two of each of Groundskeeper's processes, on which nothing else happens: whatever is written is known.
type pair struct {
	*plane.Plane
	client   client.WithWatch
	auditLog string
}

// managerConfig returns the configuration of managers that share a lease of the duration: with the first matching one of some quotas, for
// Projects of three sizes and for those of any.
func managerConfig(lease time.Duration) string {
	return fmt.Sprintf(`
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
leaderElection: {leaseDuration: %s, renewDeadline: %s, retryPeriod: 250ms}
controllers:
  project:
    quotas:
    - projectSelector: {matchLabels: {size: small}}
      config: {spec: {hard: {count/configmaps: "10", count/klusters.kubernikus.sap.cc: "1"}}}
    - projectSelector: {matchLabels: {size: pods}}
      config: {spec: {hard: {pods: "10"}}}
    - projectSelector: {matchLabels: {size: best-effort}}
      config: {spec: {hard: {pods: "10"}, scopes: [BestEffort]}}
    - projectSelector: {matchExpressions: [{key: size, operator: Exists}]}
      config: {spec: {hard: {count/configmaps: "100"}}}
`, lease, lease/2)
}

// TestPair runs two API servers and two managers. Its Lease lasts longer than the test, which shows that the successor did not wait
// for its expiry.
func TestPair(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := &pair{auditLog: filepath.Join(dir, "audit.log")}
	p.Plane = startPlane(t, plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 2, Managers: 2, SharedEtcd: true, ManagerConfig: write(t, managerConfig(time.Hour)),
		KubeAPIServerFlags: []string{"--audit-policy-file=" + write(t, writesPolicy), "--audit-log-path=" + p.auditLog},
	})
	p.client = clientOf(t, p.Config())

	t.Run("writes", p.testWrites)
	t.Run("quota", p.testQuota)
	t.Run("scopes of a quota", p.testQuotaScopes)
	t.Run("no writes after a restart", p.testRestartWritesNothing)
	t.Run("no writes after changes of others", p.testChangesOfOthersWriteNothing)
	t.Run("leader stops", p.testLeaderStops)
	t.Run("leader is killed", p.testLeaderIsKilled)
	t.Run("API servers stop", p.testAPIServersStop)
}

// startPlane starts a plane of the test's own and stops it after the test.
func startPlane(t *testing.T, options plane.Options) *plane.Plane {
	t.Helper()
	options.UnsafeNoFsync = true
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // several start concurrently
	defer cancel()
	p, err := startAudited(ctx, t, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// project creates a Project with labels, and waits until it is Ready.
func (p *pair) project(t *testing.T, prefix string, labels map[string]string, members ...gardenerv1beta1.ProjectMember) *gardenerv1beta1.Project {
	t.Helper()
	project := &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: name(t, prefix), Labels: labels},
		Spec:       gardenerv1beta1.ProjectSpec{Members: members},
	}
	if err := p.client.Create(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	p.ready(t, project)
	return project
}

func (p *pair) ready(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	eventually(t, func(ctx context.Context) error { return isReady(ctx, p.client, project) })
}

func (p *pair) writes(t *testing.T, text string) []string {
	t.Helper()
	return writes(t, p.auditLog, p.client, text)
}

// update reads an object, changes it and writes it.
func (p *pair) update(t *testing.T, object client.Object, how func()) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		how()
		return p.client.Update(ctx, object)
	})
}

// announced waits until a Project has that many events. They are written last.
func (p *pair) announced(t *testing.T, project *gardenerv1beta1.Project, count int) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := p.client.List(ctx, events, client.MatchingFields{"involvedObject.name": project.Name}); err != nil {
			return err
		}
		if len(events.Items) != count {
			return fmt.Errorf("project %s has %d events, not %d: %+v", project.Name, len(events.Items), count, events.Items)
		}
		return nil
	})
}
