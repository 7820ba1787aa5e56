// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// allow gives a user permissions to the whole cluster, and returns the binding.
func (v *volumes) allow(user, name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRoleBinding {
	v.t.Helper()
	name = v.ns + "-" + name
	v.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}}
	v.create(binding)
	return binding
}

func to(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

// testNodesForbidden checks that a controller without permission to list nodes does not assume that nodes are lost.
func testNodesForbidden(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	user := "blind-" + v.ns
	rest := []rbacv1.PolicyRule{to("persistentvolumes", "list", "watch", "delete"), to("persistentvolumeclaims", "list", "watch", "delete"), to("events", "create")}
	v.allow(user, "rest", rest...)
	a, b := v.node("a"), v.node("b")
	volume, claim := v.bound("a", "a")
	available := v.volume("available", "a")
	v.phase(available, corev1.VolumeAvailable)
	never, neverClaim := v.bound("never", "never-there")

	// From the beginning: it prints what is missing and exits.
	blind := v.startAs(user)
	if code := blind.exitCode(); code != 1 || !strings.Contains(blind.stderrText(), "the permission to list nodes is missing") {
		t.Errorf("it ends with %d: %s", code, blind.stderrText())
	}
	v.stays("no permission to list nodes", volume, claim, available, never, neverClaim)

	// In the middle of the delay: nothing is deleted until the nodes can be read again.
	sees := v.allow(user, "nodes", to("nodes", "list", "watch"))
	v.c.Delete(t.Context(), neverClaim) //nolint:errcheck // it only has to go
	v.absent(neverClaim)
	v.c.Delete(t.Context(), never) //nolint:errcheck // it only has to go
	v.absent(never)
	c := v.cleanAs(user, "--pvc-deletion-delay=10s")
	v.lose(a)
	v.event(claim, localvolume.EventScheduled)
	if err := v.c.Delete(t.Context(), sees); err != nil {
		t.Fatal(err)
	}
	c.message("list the nodes before a deletion")
	v.stays("the nodes cannot be read", volume, claim, b)
	sees.ResourceVersion, sees.UID = "", ""
	v.create(sees)
	v.absent(claim, volume)
}

// missingIn returns the nodes that a record reports are missing.
func missingIn(record *corev1.ConfigMap) (nodes []string) {
	for key := range record.Data {
		if !strings.HasPrefix(key, "_") {
			nodes = append(nodes, key)
		}
	}
	return nodes
}

// testAllNodes checks that, if most nodes are deleted at the same time, nothing is deleted until a user acknowledges it.
func testAllNodes(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	var nodes []*corev1.Node
	var objects []client.Object
	for i := range 4 {
		host := fmt.Sprintf("n%d", i)
		nodes = append(nodes, v.node(host))
		volume, claim := v.bound(host, host)
		objects = append(objects, volume, claim)
	}
	c := v.clean("--stale-pv-discovery-interval=1")
	v.lose(nodes...)
	c.metric(`groundskeeper_local_volume_brake_engaged{cluster=""} 1`)
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: localvolume.RecordName}}
	v.event(record, localvolume.EventBrakeEngaged)
	eventually(t, func(ctx context.Context) error {
		recorded, err := localvolume.FindRecord(ctx, v.c, v.ns)
		if err == nil && (recorded == nil || recorded.Brake == "" || len(recorded.Nodes) != len(nodes) || recorded.Nodes[0].Claims != 1) {
			err = fmt.Errorf("the plan is %+v, want the brake, and a claim of each node", recorded)
		}
		return err
	})
	eventually(t, func(ctx context.Context) error { // the delay has passed
		if err := v.c.Get(ctx, client.ObjectKeyFromObject(record), record); err != nil {
			return err
		}
		if len(missingIn(record)) != len(nodes) {
			return fmt.Errorf("the record is %v", record.Data)
		}
		return nil
	})
	acknowledge := func(n int) {
		t.Helper()
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, localvolume.AcknowledgeAnnotation, n)
		if err := v.c.Patch(t.Context(), record, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	acknowledge(3)
	v.stays("three are acknowledged, four have been deleted", objects...)
	// A node that is back makes it three of four: acknowledged.
	v.node("n0")
	v.absent(objects[2:]...)
	v.stays("its node is back", objects[:2]...)
	v.event(record, localvolume.EventBrakeReleased)
	c.metric(`groundskeeper_local_volume_brake_engaged{cluster=""} 0`)
}

// testOriginalPermissions checks that the permissions of the original's rbac.yaml suffice, without Leases, ConfigMaps and
// namespaces, and with only the creation of events.
func testOriginalPermissions(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	user := "original-" + v.ns
	v.allow(user, "original",
		to("persistentvolumes", "get", "list", "watch", "delete"), to("persistentvolumeclaims", "get", "list", "watch", "delete"),
		to("nodes", "get", "list", "watch"), to("events", "create"))
	a := v.node("a")
	v.node("b")
	volume, claim := v.bound("a", "a")
	c := v.cleanAs(user)
	v.lose(a)
	v.event(claim, localvolume.EventScheduled)
	v.absent(claim, volume)
	v.event(volume, localvolume.EventDeleting)
	for _, lack := range []string{"No leader is elected", "are in memory only", "of namespaces is ignored"} {
		if n := strings.Count(c.stderrText(), lack); n != 1 {
			t.Errorf("the log has %d lines with %q:\n%s", n, lack, c.stderrText())
		}
	}
	rejected, _ := p.denials(t)
	for _, what := range rejected {
		if strings.HasPrefix(what, user+" ") {
			t.Errorf("it requests what it may not: %s", what)
		}
	}
}

// testPendingPods checks that a pod that waits for a deleted claim is deleted if that is enabled, with the permissions of a
// separate manifest.
func testPendingPods(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	user := "pods-" + v.ns
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: dropIn},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}}
	v.create(binding)
	rejecting := v.startAs(user, "--delete-pending-pods")
	if code := rejecting.exitCode(); code != 1 || !strings.Contains(rejecting.stderrText(), "the permission to delete pods is missing") {
		t.Errorf("without the permissions it ends with %d: %s", code, rejecting.stderrText())
	}
	applyArtifacts(t, p.Plane, "local-volume/pending-pods")
	a := v.node("a")
	v.node("b")
	_, claim := v.bound("a", "a")
	pod := func(name, claim string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: name}}
		pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
		eventually(t, func(ctx context.Context) error { // its service account has to be there
			return v.c.Create(ctx, pod)
		})
		return pod
	}
	waits, other := pod("waits", claim.Name), pod("other", "another")
	v.clean("--delete-pending-pods")
	v.lose(a)
	v.absent(claim, waits)
	v.stays("it waits for something else", other)
	if err := ignoreExpired(v.c.Delete(t.Context(), other, client.GracePeriodSeconds(0))); err != nil {
		t.Fatal(err)
	}
}

// cleanedBy waits until it is recorded that a process cleans up a class.
func (v *volumes) cleanedBy(class, holder string) {
	v.t.Helper()
	eventually(v.t, func(ctx context.Context) error {
		object := &corev1.ConfigMap{}
		if err := v.c.Get(ctx, localvolume.CleanersKey(), object); err != nil {
			return err
		}
		if !strings.Contains(object.Data[class], holder) {
			return fmt.Errorf("class %s is cleaned up by %q, want %s", class, object.Data[class], holder)
		}
		return nil
	})
}

// testTwoCleaners checks that of two drop-ins with one class only the first deletes, however short the delay of the other one is, until
// the first one is known not to run any more.
func testTwoCleaners(t *testing.T, p *volumePlane) {
	v, other := p.newVolumes(t, ""), p.newVolumes(t, "")
	other.class = v.class
	a := v.node("a")
	v.node("b")
	volume, claim := v.bound("a", "a")
	first := v.clean("--pvc-deletion-delay=1h")
	v.cleanedBy(v.class, "in namespace "+v.ns)
	other.clean()
	v.lose(a)
	if skipped := v.event(claim, localvolume.EventSkipped); !strings.Contains(skipped.Message, "in namespace "+v.ns) {
		t.Errorf("message = %q, want the name of the first one in it", skipped.Message)
	}
	v.stays("the other one does not clean up", volume, claim)
	first.kill()
	cleaners := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: localvolume.CleanersKey().Namespace, Name: localvolume.CleanersName}}
	if err := v.c.Patch(t.Context(), cleaners, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{%q:null}}`, v.class))); err != nil {
		t.Fatal(err)
	}
	v.absent(claim, volume)
	v.cleanedBy(v.class, "in namespace "+other.ns)
}

// testManagerAndDropIn checks that a drop-in deletes nothing that the controller manager cleans up.
func testManagerAndDropIn(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	v.class = managedClass
	a := v.node("a")
	v.node("b")
	volume, claim := v.bound("a", "a")
	v.cleanedBy(managedClass, "the controller manager")
	c := v.clean("--pvc-deletion-delay=0")
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: localvolume.RecordName}}
	v.event(record, localvolume.EventElsewhere)
	v.lose(a)
	v.absent(claim, volume)
	c.metric(`local_volume_node_cleanup_persistentvolumeclaim_delete_total 0`)
}
