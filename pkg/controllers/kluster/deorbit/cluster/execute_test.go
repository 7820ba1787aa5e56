// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/plan"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

const deleteWeb = "DELETE /api/v1/namespaces/shop/services/web"

// withBalancer returns a server with one Service of type LoadBalancer, and the work by which it is deleted.
func withBalancer(t *testing.T) (*server, *Connection, stage.Work) {
	t.Helper()
	s := newServer(t)
	s.respond("GET /api/v1/services", 200, list("", object("web", map[string]any{"type": "LoadBalancer"})))
	s.respond("GET /api/v1/namespaces/kube-system", 200, object("kube-system", nil))
	return s, connect(t, s), deleteAll(func(w *stage.Work) { w.Recorded.Services = []kubernikusv1.SeenService{{UID: "web"}} })
}

func TestWrites(t *testing.T) {
	for name, c := range map[string]struct {
		code      int
		reason    string
		message   string
		deleted   bool
		remaining string // "" is none
		fails     bool
	}{
		"accepted": {200, "", "", true, "its deletion was requested", false},
		"gone":     {404, "NotFound", "not found", false, "", false},
		"changed":  {409, "Conflict", "Precondition failed", false, "it changed meanwhile", false},
		"refused":  {403, "Forbidden", `admission webhook "a.b.c" denied the request: ` + secret, false, `rejected: admission webhook "a.b.c" denied the request: [redacted]`, false},
		"rejected by a policy": {422, "Invalid", "ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: not this one", false,
			"rejected: ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: not this one", false},
		"forbidden": {403, "Forbidden", `User "u" cannot delete resource "services"`, false, "the API server failed", true},
		"broken":    {500, "InternalError", "etcd " + secret, false, "the API server failed", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, connection, w := withBalancer(t)
			var body string
			s.on(deleteWeb, func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				body = string(text)
				if c.code == 200 {
					reply(w, 200, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
					return
				}
				reply(w, c.code, status(c.code, c.reason, c.message))
			})
			report, err := connection.Run(t.Context(), kubernikusv1.DeorbitServices, w)
			if (err != nil) != c.fails || err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%v", err)
			}
			if (len(report.Deleted) == 1) != c.deleted || len(report.Seen.Services) != 1 {
				t.Errorf("%+v", report)
			}
			switch {
			case c.remaining == "" && len(report.Remaining) > 0, c.remaining != "" && (len(report.Remaining) != 1 || report.Remaining[0].Reason != c.remaining):
				t.Errorf("%+v", report.Remaining)
			}
			standing := kubernikusv1.StandingPresent
			if strings.HasPrefix(c.remaining, "rejected: ") {
				standing = kubernikusv1.StandingRefused
			}
			if got := report.Seen.Services[0].Standing; got != standing {
				t.Errorf("standing = %q, want %q", got, standing)
			}
			if !strings.Contains(body, `"preconditions":{"uid":"web","resourceVersion":"7"}`) {
				t.Error(body)
			}
		})
	}
}

// TestControllers checks that the cluster names of the OpenStack controllers are read from kube-system only, because elsewhere
// other users can create pods.
func TestControllers(t *testing.T) {
	s := newServer(t)
	pod := func(image string, args ...any) map[string]any {
		return object("controller", map[string]any{"containers": []any{map[string]any{"name": "c", "image": image, "args": args}}})
	}
	s.respond("GET /api/v1/namespaces/kube-system/pods", 200, list("", pod("x/openstack-cloud-controller-manager:v1", "--cluster-name=prod"), pod("x/cinder-csi-plugin:v1", "--cluster=prod-id")))
	world := &inventory.World{}
	if err := connect(t, s).controllers(t.Context(), world); err != nil {
		t.Fatal(err)
	}
	if cluster, csi := inventory.Only(world.ClusterNames), inventory.Only(world.CSIClusterIDs); cluster != "prod" || csi != "prod-id" {
		t.Errorf("names = %q, %q, want those of the arguments", cluster, csi)
	}
	if received := s.received("GET"); len(received) != 1 {
		t.Errorf("queried %v, want kube-system alone", received)
	}
}

// TestRecordedFirst checks that an object that is not recorded yet is reported, and that nothing is written.
func TestRecordedFirst(t *testing.T) {
	s, c, w := withBalancer(t)
	w.Recorded = stage.Seen{}
	report, err := c.Run(t.Context(), kubernikusv1.DeorbitServices, w)
	if err != nil || len(report.Remaining) != 1 || len(report.Seen.Services) != 1 || len(s.received("DELETE")) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestManyWrites checks that objects are written concurrently up to a limit, and that none is started after the first failure.
func TestManyWrites(t *testing.T) {
	var at, most, received atomic.Int64
	s, c, w := withBalancer(t)
	var all []any
	w.Recorded = stage.Seen{}
	for i := range 40 {
		name := fmt.Sprintf("web-%d", i)
		all = append(all, object(name, map[string]any{"type": "LoadBalancer"}))
		w.Recorded.Services = append(w.Recorded.Services, kubernikusv1.SeenService{UID: name})
		s.on("DELETE /api/v1/namespaces/shop/services/"+name, func(w http.ResponseWriter, _ *http.Request) {
			now := at.Add(1)
			defer at.Add(-1)
			for last := most.Load(); now > last && !most.CompareAndSwap(last, now); last = most.Load() {
			}
			if received.Add(1) > 10 {
				reply(w, 500, status(500, "InternalError", "etcd"))
				return
			}
			reply(w, 200, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
		})
	}
	s.respond("GET /api/v1/services", 200, list("", all...))
	report, err := c.Run(t.Context(), kubernikusv1.DeorbitServices, w)
	if err == nil || len(report.Deleted) != 10 || len(report.Remaining) != 40 || received.Load() > 10+Parallel || most.Load() > Parallel {
		t.Errorf("%d deleted, %d remain, %d requested, %d concurrently: %v", len(report.Deleted), len(report.Remaining), received.Load(), most.Load(), err)
	}
	// When the time of a check is over, the rest waits for the next one, and nothing has failed.
	p := plan.Plan{Steps: []plan.Step{{Kind: "Service"}}}
	if report, err := c.execute(t.Context(), p, time.Now().Add(-time.Second)); err != nil || len(report.Remaining) != 1 || report.Remaining[0].Reason != "its turn comes in the next check" {
		t.Errorf("%+v, %v", report, err)
	}
}

// hook returns a webhook of a configuration, in JSON.
func hook(name, service string) map[string]any {
	return map[string]any{"name": name, "clientConfig": map[string]any{"service": map[string]any{"namespace": "n", "name": service, "path": "/x"}},
		"rules": []any{map[string]any{"operations": []string{"DELETE"}, "apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{"*"}}}}
}

func config(name string, hooks ...any) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": name, "resourceVersion": "7"}, "webhooks": hooks}
}

// TestUnreachableWebhook checks that a webhook is deleted if it could not be called in two consecutive checks, and no other one.
func TestUnreachableWebhook(t *testing.T) {
	const (
		lists  = "/apis/admissionregistration.k8s.io/v1/"
		down   = `Internal error occurred: failed calling webhook "a.b.c": failed to call webhook: Post "https://s.n.svc:443/x?timeout=10s": EOF`
		denies = `admission webhook "a.b.c" denied the request: no`
	)
	for name, c := range map[string]struct {
		probes  []string // the response to a deletion, check by check; "" is accepted
		version int      // the response to the patch
		removed bool
	}{
		"once":                {[]string{down}, 200, false},
		"twice":               {[]string{down, down}, 200, true},
		"responds in between": {[]string{down, denies, down}, 200, false},
		"works in between":    {[]string{down, "", down}, 200, false},
		"answers":             {[]string{denies, denies, denies}, 200, false},
		"changes in between":  {[]string{down, down}, 422, false},
		"conflict":            {[]string{down, down}, 409, false},
		"three times in turn": {[]string{denies, down, down}, 200, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, connection, w := withBalancer(t)
			s.respond("GET "+lists+"validatingwebhookconfigurations", 200, list("", config("groundskeeper-deorbit", hook("a.b.c", "s")), config("others", hook("x.y.z", "s"), hook("a.b.c", "s"), hook("a.b.c", "t"))))
			s.respond("GET "+lists+"mutatingwebhookconfigurations", 200, list("", config("others", hook("x.y.z", "s"))))
			var patch string
			s.on("PATCH "+lists+"validatingwebhookconfigurations/others", func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				patch = string(text)
				if c.version != 200 {
					reply(w, c.version, status(c.version, map[int]string{409: "Conflict", 422: "Invalid"}[c.version], "changed"))
					return
				}
				reply(w, 200, config("others"))
			})
			var deleted []kubernikusv1.DeorbitObject
			for _, inspect := range c.probes {
				s.on(deleteWeb, func(w http.ResponseWriter, _ *http.Request) {
					switch inspect {
					case "":
						reply(w, 200, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
					default:
						reply(w, 500, status(500, "InternalError", inspect))
					}
				})
				report, err := connection.Run(t.Context(), kubernikusv1.DeorbitServices, w)
				if err != nil || len(report.Remaining) != 1 || inspect == denies && report.Remaining[0].Reason != "rejected: "+denies {
					t.Fatalf("%+v, %v", report, err)
				}
				deleted = slices.DeleteFunc(append(deleted, report.Deleted...), func(o kubernikusv1.DeorbitObject) bool { return o.Kind == "Service" })
			}
			if (len(deleted) == 1) != c.removed || c.removed && (deleted[0].Kind != kindValidating || deleted[0].Name != "others" || !strings.Contains(deleted[0].Reason, "a.b.c")) {
				t.Errorf("%+v", deleted)
			}
			want := `[{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"test","path":"/webhooks/1/name","value":"a.b.c"},{"op":"remove","path":"/webhooks/1"}]`
			if patch != "" && patch != want || c.removed && patch == "" {
				t.Error(patch)
			}
			if found := s.received("PATCH"); len(found) > 1 {
				t.Error(found)
			}
		})
	}
}

// TestSnapshotsUnlisted checks that a failure to list snapshots is not considered a failure of the API server if other requests
// succeed, and that no snapshot is deleted then.
func TestSnapshotsUnlisted(t *testing.T) {
	const group = "/apis/snapshot.storage.k8s.io/v1"
	s, c, w := withBalancer(t)
	snapshot := map[string]any{"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
		"metadata": map[string]any{"namespace": "shop", "name": "a", "uid": "a"}, "spec": map[string]any{"volumeSnapshotClassName": "k"}}
	whole := func(kind string, items ...any) map[string]any {
		l := list("", items...)
		l["apiVersion"], l["kind"] = "snapshot.storage.k8s.io/v1", kind
		return l
	}
	class := map[string]any{"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass", "metadata": map[string]any{"name": "k"}, "driver": "cinder.csi.openstack.org"}
	s.respond("GET "+group, 200, resources("volumesnapshots", "volumesnapshotclasses", "volumesnapshotcontents"))
	s.respond("GET "+group+"/volumesnapshots", 200, whole("VolumeSnapshotList", snapshot))
	s.respond("GET "+group+"/volumesnapshotclasses", 200, whole("VolumeSnapshotClassList", class))
	s.respond("GET "+group+"/volumesnapshotcontents", 500, status(500, "InternalError", "conversion webhook failed"))
	report, err := c.Run(t.Context(), kubernikusv1.DeorbitSnapshots, w)
	if err != nil || len(report.Remaining) != 1 || !strings.Contains(report.Remaining[0].Reason, "conversion webhook failed") || len(s.received("DELETE")) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	// It is no business of the other stages.
	if report, err := c.Run(t.Context(), kubernikusv1.DeorbitServices, w); err != nil || len(report.Seen.Services) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	s.respond("GET "+group+"/volumesnapshotcontents", 200, whole("VolumeSnapshotContentList"))
	if _, err := c.Run(t.Context(), kubernikusv1.DeorbitSnapshots, w); err != nil || len(s.received("DELETE "+group+"/namespaces/shop/volumesnapshots/a")) != 1 {
		t.Errorf("%v", err)
	}
	// A part of the API may be missing.
	s.respond("GET "+group, 200, resources("volumesnapshotcontents"))
	if report, err := c.Run(t.Context(), kubernikusv1.DeorbitSnapshots, w); err != nil || len(report.Remaining) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestWaitBesideSnapshots checks that a volume of a retained snapshot is not waited for. Snapshots are not listed without a volume
// to wait for, and all volumes are waited for if they cannot be listed.
func TestWaitBesideSnapshots(t *testing.T) {
	const group, contents = "/apis/snapshot.storage.k8s.io/v1", "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"
	s := newServer(t)
	c := connect(t, s)
	s.respond("GET /api/v1/namespaces/kube-system", 200, object("kube-system", nil))
	wait := func() stage.Report {
		t.Helper()
		report, err := c.Run(t.Context(), kubernikusv1.DeorbitWait, deleteAll())
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	if wait(); len(s.received("GET "+group)) > 0 {
		t.Error("it requests snapshots")
	}
	s.respond("GET /api/v1/persistentvolumes", 200, list("", object("pv", map[string]any{"persistentVolumeReclaimPolicy": "Delete",
		"csi": map[string]any{"driver": "cinder.csi.openstack.org", "volumeHandle": "v"}, "claimRef": map[string]any{"namespace": "shop", "name": "data", "uid": "data"}})))
	if report := wait(); len(report.Remaining) != 1 || len(report.Retained) > 0 {
		t.Errorf("without snapshots: %+v", report)
	}
	content := object("kept", map[string]any{"driver": "cinder.csi.openstack.org", "deletionPolicy": "Retain", "source": map[string]any{"volumeHandle": "v"}})
	content["apiVersion"], content["kind"], content["status"] = "snapshot.storage.k8s.io/v1", "VolumeSnapshotContent", map[string]any{"snapshotHandle": "s"}
	kept := list("", content)
	kept["apiVersion"], kept["kind"] = "snapshot.storage.k8s.io/v1", "VolumeSnapshotContentList"
	s.respond("GET "+group, 200, resources("volumesnapshotcontents"))
	s.respond("GET "+contents, 200, kept)
	if report := wait(); len(report.Remaining) > 0 || len(report.Retained) != 1 || len(report.Seen.Snapshots) != 1 {
		t.Errorf("with one that stays: %+v", report)
	}
	s.respond("GET "+contents, 500, status(500, "InternalError", "conversion webhook failed"))
	if report := wait(); len(report.Remaining) != 1 || report.Remaining[0].Kind != plan.KindVolume {
		t.Errorf("unlisted: %+v", report)
	}
}

// TestSnapshotsThatWereSeen checks that, without OpenStack, a snapshot that was seen counts as deleted if the API of snapshots lacks it, and
// not if the cluster has no such API any more.
func TestSnapshotsThatWereSeen(t *testing.T) {
	const group, contents = "/apis/snapshot.storage.k8s.io/v1", "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"
	for name, served := range map[string]bool{"served": true, "not served": false} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			c, w := connect(t, s), deleteAll()
			w.Kluster = &kubernikusv1.Kluster{Spec: kubernikusv1.KlusterSpec{NoCloud: true}}
			w.Recorded.Snapshots = []kubernikusv1.SeenSnapshot{{ID: "s", Name: "a", DeletionPolicy: "Delete"}}
			s.respond("GET /api/v1/namespaces/kube-system", 200, object("kube-system", nil))
			if served {
				none := list("")
				none["apiVersion"], none["kind"] = "snapshot.storage.k8s.io/v1", "VolumeSnapshotContentList"
				s.respond("GET "+group, 200, resources("volumesnapshotcontents"))
				s.respond("GET "+contents, 200, none)
			}
			report, err := c.Run(t.Context(), kubernikusv1.DeorbitWait, w)
			if err != nil || len(report.Seen.Snapshots) != 1 || report.Seen.Snapshots[0].Gone != served || (len(report.Remaining) == 0) != served {
				t.Errorf("seen = %+v, remaining = %+v, %v; want it gone: %t", report.Seen.Snapshots, report.Remaining, err, served)
			}
		})
	}
}
