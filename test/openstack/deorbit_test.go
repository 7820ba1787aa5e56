// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/standin"
)

// TestDeorbit tears down clusters, beside a cluster of the same project that has all it had in the end. Those of the first group
// have a real cluster, one after the other; the API servers of those beside them do not respond.
func TestDeorbit(t *testing.T) {
	needTestbed(t)
	o := newOrbit(t)
	t.Run("revoked", func(t *testing.T) { testRevokedCredentials(t, o) }) // alone: it stops a part of OpenStack for a moment
	type test struct {
		name string
		run  func(t *testing.T, o *orbit)
	}
	t.Run("all", func(t *testing.T) {
		t.Run("inside", func(t *testing.T) {
			t.Parallel()
			for _, c := range []test{
				{"no snapshots", testWithoutSnapshots}, // before there are any
				{"happy", testHappyPath},
				{"webhooks", testWebhooks},
				{"policy", testPolicyThatRejects},
				{"ports", testPortsOfADeadController},
				{"routes", testRoutesThatComeBack},
				{"detach", testVolumeOfADeadDriver},
				{"live", testLiveController},
				{"resync", testLiveControllerKeepsRoute},
				{"dead", testDeadController},
				{"volumes", testVolumesThatStay},
				{"pending", testPendingAndDead},
				{"blinking", testBlinking},
				{"down", testPermanentlyDown},
			} {
				t.Run(c.name, func(t *testing.T) { c.run(t, o) })
			}
		})
		for _, c := range []test{
			{"certificate", testBadCertificate},
			{"stuck", testStuckLoadBalancer},
			{"conflict", testIdentityConflict},
			{"swapped", testSwappedSecret},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, o)
			})
		}
	})
	o.inventory(t)
}

// neverSeen begins the reason of what carries the tag of a cluster that could not be checked.
const neverSeen = "never seen: the cluster could not be checked"

func during(text time.Duration) *metav1.Duration { return &metav1.Duration{Duration: text} }

// testWithoutSnapshots checks that a cluster without the snapshot API is torn down like any other.
func testWithoutSnapshots(t *testing.T, o *orbit) {
	d := o.launch(t, "plain", nil)
	d.claim("data", "cinder")
	d.leave()
	d.landed("Deorbited")
	o.snapshotAPI(t)
}

// testHappyPath checks that everything that the cluster created is deleted, except for volumes that are not Cinder's or are to be
// retained.
func testHappyPath(t *testing.T, o *orbit) {
	d := o.launch(t, "happy", nil)
	d.claim("data", "cinder")
	kept := d.claim("archive", "kept")
	waits, foreign, bound := d.pending("waits", "late"), d.pending("foreign", "foreign"), d.pending("bound", "")
	bound.Spec.VolumeName = "bound"
	theirs := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "bound"}, Spec: corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: bound.Spec.AccessModes,
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
		PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: foreignDriver, VolumeHandle: "theirs"}},
	}}
	d.make(waits, foreign, theirs, bound)
	other := d.balancer("other", func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/other") })
	d.serve("web")
	d.take("backup", "data")
	d.paths()
	var kinds []string
	for _, thing := range d.things() {
		kinds = append(kinds, thing.kind)
	}
	if want := []string{"FloatingIP", "LoadBalancer", "Route", "Route", "SecurityGroup", "Snapshot", "Volume", "Volume"}; !slices.Equal(kinds, want) {
		t.Fatalf("it has %v, want %v", kinds, want)
	}
	responses := d.rebuild("data", "cinder")
	d.leave()
	d.landed("Leftovers", "Volume "+kept)

	if results := responses(); len(results) == 0 || slices.ContainsFunc(results, func(err error) bool {
		return err == nil || !strings.Contains(err.Error(), "groundskeeper-deorbit")
	}) {
		t.Errorf("who made the claim again was notified %v", results)
	}
	for _, object := range []client.Object{foreign, bound, theirs, other} {
		if err := d.inside.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil || !object.GetDeletionTimestamp().IsZero() {
			t.Errorf("%T %s is another driver's, and was deleted: %v", object, object.GetName(), err)
		}
	}
	for _, claim := range []string{"data", "archive", "waits"} {
		if err := d.inside.Get(t.Context(), client.ObjectKey{Namespace: d.k.Name, Name: claim}, &corev1.PersistentVolumeClaim{}); !apierrors.IsNotFound(err) {
			t.Errorf("claim %s: %v", claim, err)
		}
	}
	retained := d.k.Status.Deorbit.Retained
	if !listed(retained, "Volume", kept, "keeps it") || !listed(retained, "PersistentVolume", kept, "reclaim policy") || !listed(retained, "Service", "other", "") {
		t.Errorf("retained %+v", retained)
	}
	if undecided := d.k.Status.Deorbit.Undecided; !listed(undecided, "PersistentVolume", "theirs", "CSI driver "+foreignDriver) {
		t.Errorf("undecided %+v", undecided)
	}
	volumes := &corev1.PersistentVolumeList{}
	if err := d.inside.List(t.Context(), volumes); err != nil || len(volumes.Items) != 2 {
		t.Errorf("%d volumes in the cluster, want the kept one and the foreign one: %v", len(volumes.Items), err)
	}
}

// testVolumesThatStay checks that a volume that is attached to a server waits until the server is deleted, and that a volume with a
// user's snapshot is retained.
func testVolumesThatStay(t *testing.T, o *orbit) {
	d := o.launch(t, "volumes", func(d *craft) { d.k.Spec.Deorbit.StageTimeout = during(3 * time.Second) })
	attached, snapped := d.claim("attached", "cinder"), d.claim("snapped", "cinder")
	snapshot := d.snapshot(snapped, "")
	at := "compute/servers/" + o.nodeID + "/os-volume_attachments"
	d.must(http.MethodPost, at, wrap("volumeAttachment", "volumeId", attached))
	d.status("block-storage/volumes/"+attached, "status", "in-use")
	d.leave()
	d.until("it waits for the server alone", func() error {
		if at := d.k.Status.Deorbit; at == nil || at.Stage != kubernikusv1.DeorbitRelease || len(at.Remaining) != 1 || !listed(at.Remaining, "Volume", attached, "attached to server "+o.nodeID) {
			return fmt.Errorf("deorbit %+v", at)
		}
		return nil
	})
	d.reports("StageLeft", "")
	d.must(http.MethodDelete, at+"/"+attached, nil)
	d.landed("Leftovers", "Volume "+snapped)
	if undecided := d.k.Status.Deorbit.Undecided; !listed(undecided, "Volume", snapped, "snapshot "+snapshot+" of it stays") {
		t.Errorf("undecided %+v", undecided)
	}
}

// testPendingAndDead checks that Deorbit waits for deletions that Octavia does not carry out, and deletes what dead cloud
// controllers leave.
func testPendingAndDead(t *testing.T, o *orbit) {
	d := o.launch(t, "pending", func(d *craft) { d.k.Spec.Deorbit.StageTimeout = during(3 * time.Second) })
	d.claim("data", "cinder")
	d.serve("web")
	d.serve("api")
	d.paths()
	control(t, nil, "freeze", "octavia-worker")
	thawed := false
	thaw := func() {
		if !thawed {
			thawed = true
			control(t, nil, "thaw", "octavia-worker")
		}
	}
	t.Cleanup(thaw)
	d.standin.SetDead(true)
	d.leave()
	var waits []string
	d.until("both load balancers are PENDING", func() error {
		waits = nil
		if d.k.Status.Deorbit == nil {
			return errors.New("it has not begun")
		}
		for _, r := range d.k.Status.Deorbit.Remaining {
			if r.Kind == "LoadBalancer" && strings.Contains(r.Reason, "PENDING_DELETE") {
				waits = append(waits, r.ID)
			}
		}
		if len(waits) != 2 {
			return fmt.Errorf("deorbit %+v", d.k.Status.Deorbit)
		}
		return nil
	})
	for _, id := range waits {
		d.must(http.MethodGet, loadBalancers+id, nil)
	}
	thaw()
	d.landed("Deorbited")
	d.reports("StageLeft", "Wait: no progress")
}

// testBlinking checks that Deorbit waits for an API server that fails temporarily, and omits nothing.
func testBlinking(t *testing.T, o *orbit) {
	d := o.launch(t, "blinking", func(d *craft) {
		d.k.Spec.Deorbit.APIUnavailableTimeout, d.k.Spec.Deorbit.StageTimeout = during(time.Minute), during(time.Minute)
	})
	volume := d.claim("data", "cinder")
	d.standin.SetNever(standin.Volumes, true) // it is still at work when the API server stops
	d.leave()
	d.remains("PersistentVolume", volume, "")
	up := o.killed(t)
	d.until("it fails", func() error {
		if d.k.Status.Deorbit.UnreachableSince == nil {
			return fmt.Errorf("deorbit %+v", d.k.Status.Deorbit)
		}
		return nil
	})
	d.standin.SetNever(standin.Volumes, false)
	up()
	d.landed("Deorbited")
	if d.k.Status.Deorbit.UnreachableSince != nil {
		t.Errorf("deorbit %+v", d.k.Status.Deorbit)
	}
	if all, err := d.events(); err != nil || slices.ContainsFunc(all, func(e string) bool { return strings.HasPrefix(e, "ClusterUnreachable") }) {
		t.Errorf("%v, events %q", err, all)
	}
}

// testPermanentlyDown checks that, if the API server stays down, OpenStack is cleaned up by names, and volumes that were never
// observed are left over.
func testPermanentlyDown(t *testing.T, o *orbit) {
	d := o.launch(t, "down", nil)
	volume := d.claim("data", "cinder")
	d.serve("web")
	d.paths()
	o.killed(t)
	d.leave()
	d.landed("Leftovers", "Volume "+volume)
	d.reports("ClusterUnreachable", "refused")
	if remaining := d.k.Status.Deorbit.Remaining; !listed(remaining, "Volume", volume, neverSeen) {
		t.Errorf("remaining = %+v, want the volume with reason %q", remaining, neverSeen)
	}
}

// killed kills the API server of the cluster to be torn down. It comes again when that is requested, or with the end of the test.
func (o *orbit) killed(t *testing.T) (up func()) {
	t.Helper()
	server := o.workload.KubeAPIServer
	if err := server.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	up = func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if server.PID() != 0 {
			return
		}
		if err := errors.Join(server.Start(ctx), server.Ready(ctx)); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(up)
	return up
}
