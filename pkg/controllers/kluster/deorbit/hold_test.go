// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cloud"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

type change = func(*kubernikusv1.Kluster)

// leadsTo makes registration have identified the cluster of a Kluster.
func leadsTo(id string) change {
	return func(k *kubernikusv1.Kluster) {
		k.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: id, Server: "server-of-" + id + ":6443", Connection: "connection-of-" + id}
	}
}

// unidentified makes registration have failed to identify the cluster of a Kluster.
func unidentified(server, reason string) change {
	return func(k *kubernikusv1.Kluster) {
		k.Status.Identity = &kubernikusv1.KlusterIdentity{Server: server, Connection: server, Reason: reason}
	}
}

func elsewhere(k *kubernikusv1.Kluster) { k.Namespace = "garden-other" }

func cloudNames(cluster, csi string) change {
	return func(k *kubernikusv1.Kluster) {
		k.Spec.CloudProvider = kubernikusv1.CloudProvider{ClusterName: new(cluster), CSIClusterID: new(csi)}
	}
}

func inProject(project, router string) change {
	return func(k *kubernikusv1.Kluster) {
		k.Status.Openstack = &kubernikusv1.OpenstackStatus{AuthHost: "keystone", Region: "r", ProjectID: project, RouterID: router}
	}
}

// born sets when a Kluster was created, in minutes.
func born(minutes int) change {
	return func(k *kubernikusv1.Kluster) {
		k.CreationTimestamp = metav1.NewTime(epoch.Add(time.Duration(minutes) * time.Minute))
	}
}

func alreadyReleased(k *kubernikusv1.Kluster) {
	klustertest.Going(k)
	k.Finalizers = []string{"somebody/else"}
}

// backend is a DiscoveryBackend that copied a cluster.
func backend(name, id string, changes ...func(*gimbalv1.DiscoveryBackend)) *gimbalv1.DiscoveryBackend {
	b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal", Name: name, UID: types.UID(name), Generation: 1}}
	b.Cluster.Type, b.Cluster.ClusterStatus, b.Status.Identity = "kubernetes", gimbalv1.ClusterEnabled, clusterid.OfUID(id)
	for _, change := range changes {
		change(b)
	}
	return b
}

func drainedAt(generation int64) func(*gimbalv1.DiscoveryBackend) {
	return func(b *gimbalv1.DiscoveryBackend) {
		b.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
		b.Status.Conditions = []metav1.Condition{{Type: gimbalv1.ConditionDrained, Status: metav1.ConditionTrue, ObservedGeneration: generation}}
	}
}

func announcing(name string) func(*gimbalv1.DiscoveryBackend) {
	return func(b *gimbalv1.DiscoveryBackend) {
		b.Labels = map[string]string{clusterid.LabelNamespace: klustertest.Namespace, clusterid.LabelName: name, clusterid.LabelUID: name + "-uid"}
	}
}

func inNamespace(b *gimbalv1.DiscoveryBackend) { b.Namespace = klustertest.Namespace }

func using(secret string) func(*gimbalv1.DiscoveryBackend) {
	return func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Secret = secret }
}

func TestHoldOf(t *testing.T) {
	const same, first, unknown = kubernikusv1.ReasonSameCluster, reasonTwinFirst, kubernikusv1.ReasonIdentityUnknown
	broken := unidentified("other:6443", "Unreachable")
	accepts := func(value string) change {
		return func(k *kubernikusv1.Kluster) {
			k.Annotations = map[string]string{kubernikusv1.AcceptUnknownIdentityAnnotation: value}
		}
	}
	noCloud := func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true }
	neverCameUp := func(k *kubernikusv1.Kluster) {
		k.Annotations = map[string]string{kubernikusv1.ControlPlaneAnnotation: kubernikusv1.ControlPlaneNeverInitialized}
	}
	goingBackend := func(b *gimbalv1.DiscoveryBackend) { b.DeletionTimestamp = new(metav1.Now()) }
	for name, c := range map[string]struct {
		k        []change
		own      string // "": unknown
		other    []change
		backends []*gimbalv1.DiscoveryBackend
		want     string // the reason
		message  string
	}{
		"another cluster":                  {own: "a", other: []change{leadsTo("b")}},
		"another cluster, all in common":   {own: "a", k: []change{cloudNames("n", "c"), inProject("p", "r")}, other: []change{leadsTo("b"), cloudNames("n", "c"), inProject("p", "r")}},
		"the same":                         {own: "a", other: []change{leadsTo("a")}, want: same, message: "Kluster garden-shop/other"},
		"the same, in another namespace":   {own: "a", other: []change{leadsTo("a"), elsewhere}, want: same, message: kubernikusv1.DetachAnnotation},
		"the same, accepted":               {own: "a", k: []change{accepts("garden-shop/other")}, other: []change{leadsTo("a")}, want: same},
		"the same, paused":                 {own: "a", other: []change{leadsTo("a"), klustertest.Annotated("groundskeeper.io/paused")}, want: same},
		"older, being deleted":             {own: "a", other: []change{leadsTo("a"), klustertest.Going, born(-1)}, want: first, message: "Kluster garden-shop/other"},
		"younger, being deleted":           {own: "a", other: []change{leadsTo("a"), klustertest.Going, born(1)}},
		"as old, by uid":                   {own: "a", other: []change{leadsTo("a"), klustertest.Going, func(k *kubernikusv1.Kluster) { k.UID = "a" }}, want: first},
		"younger, protected":               {own: "a", other: []change{leadsTo("a"), klustertest.Going, born(1), klustertest.Annotated(kubernikusv1.TerminationProtectionAnnotation)}, want: same},
		"older, released":                  {own: "a", other: []change{leadsTo("a"), born(-1), alreadyReleased}},
		"older, being detached":            {own: "a", other: []change{leadsTo("a"), born(-1), klustertest.Going, klustertest.Annotated(kubernikusv1.DetachAnnotation)}},
		"not checked yet":                  {own: "a", other: []change{elsewhere}, want: unknown, message: "garden-other/other, which has not been checked yet"},
		"pending":                          {own: "a", other: []change{elsewhere, unidentified("other:6443", clusterid.ReasonPending)}, want: unknown},
		"not checked yet, accepted":        {own: "a", k: []change{accepts("a/b, garden-other/other")}, other: []change{elsewhere}},
		"not checked, accepted by kind":    {own: "a", k: []change{accepts("kluster/garden-other/other")}, other: []change{elsewhere}},
		"not checked, accepts a backend":   {own: "a", k: []change{accepts("discoverybackend/garden-other/other")}, other: []change{elsewhere}, want: unknown},
		"not checked, accepts another one": {own: "a", k: []change{accepts("garden-shop/other")}, other: []change{elsewhere}, want: unknown, message: kubernikusv1.AcceptUnknownIdentityAnnotation + "=kluster/garden-shop/other,kluster/garden-other/other on"},
		"not checked, being deleted":       {own: "a", other: []change{klustertest.Going, born(-1)}},
		"broken":                           {own: "a", other: []change{broken}},
		"broken, in common namespace":      {own: "a", other: []change{broken, inProject("other", "other")}, k: []change{inProject("p", "r")}},
		"broken, same server":              {own: "a", other: []change{unidentified("own:6443", "Unreachable"), elsewhere}, want: unknown, message: "the same API server"},
		"paused, same server":              {own: "a", other: []change{unidentified("own:6443", clusterid.ReasonPending), klustertest.Annotated("groundskeeper.io/paused")}, want: unknown},
		"paused, not checked yet":          {own: "a", other: []change{unidentified("other:6443", clusterid.ReasonPending), klustertest.Annotated("groundskeeper.io/paused")}, want: unknown},
		"paused, broken":                   {own: "a", other: []change{broken, klustertest.Annotated("groundskeeper.io/paused")}},
		"broken, same Secret":              {own: "a", other: []change{broken, func(k *kubernikusv1.Kluster) { k.Spec.SecretRef.Name = "k-secret" }}, want: unknown, message: "the same Secret"},
		"a namesake of the Secret":         {own: "a", other: []change{broken, elsewhere, func(k *kubernikusv1.Kluster) { k.Spec.SecretRef.Name = "k-secret" }}},
		"broken, same cluster name":        {own: "a", k: []change{cloudNames("n", "c")}, other: []change{broken, elsewhere, cloudNames("n", "d")}, want: unknown, message: "clusterName"},
		"broken, same CSI id":              {own: "a", k: []change{cloudNames("n", "c")}, other: []change{broken, elsewhere, cloudNames("m", "c")}, want: unknown, message: "csiClusterID"},
		"broken, a shared name":            {own: "a", k: []change{cloudNames("kubernetes", "kubernetes")}, other: []change{broken, cloudNames("kubernetes", "kubernetes")}},
		"broken, a name it may have":       {own: "a", k: []change{cloudNames("other", "c")}, other: []change{broken, elsewhere}, want: unknown, message: "clusterName"},
		"broken, a former default":         {own: "a", k: []change{cloudNames("k", "k")}, other: []change{broken, elsewhere, cloudNames("k", "k")}},
		"broken, same router, no cloud":    {own: "a", k: []change{inProject("p", "r"), noCloud}, other: []change{broken, inProject("", "r")}},
		"own unknown, same router":         {k: []change{inProject("p", "r")}, other: []change{broken, inProject("p", "r")}},
		"broken, same router":              {own: "a", k: []change{inProject("p", "r")}, other: []change{broken, inProject("", "r")}, want: unknown, message: "router"},
		"broken, same project":             {own: "a", k: []change{inProject("p", "r")}, other: []change{broken, inProject("p", "s")}, want: unknown, message: "OpenStack project"},
		"same project, without a cloud":    {own: "a", k: []change{inProject("p", "r")}, other: []change{broken, inProject("p", "s"), noCloud}},
		"same project, leads nowhere":      {own: "a", k: []change{inProject("p", "r")}, other: []change{unidentified("", "SecretMissing"), inProject("p", "s")}},
		"own unknown, other known":         {k: []change{inProject("p", "r")}, other: []change{leadsTo("b"), inProject("p", "r")}},
		"own unknown, other not checked":   {other: nil, want: unknown, message: "has not been checked yet"},
		"own unknown, other broken":        {other: []change{broken}},
		"own unknown, same server":         {other: []change{leadsTo("b"), func(k *kubernikusv1.Kluster) { k.Status.Identity.Server = "own:6443" }}, want: unknown},
		"own unknown, same cluster name":   {k: []change{cloudNames("n", "c")}, other: []change{leadsTo("b"), cloudNames("n", "d")}, want: unknown},
		"never came up, same name":         {k: []change{neverCameUp, cloudNames("n", "c")}, other: []change{leadsTo("b"), cloudNames("n", "c")}},
		"never came up, same server":       {k: []change{neverCameUp}, other: []change{leadsTo("b"), func(k *kubernikusv1.Kluster) { k.Status.Identity.Server = "own:6443" }}, want: unknown},
		"responds, said to never come up":  {own: "a", k: []change{neverCameUp, leadsTo("a"), cloudNames("n", "c")}, other: []change{broken, cloudNames("n", "c")}, want: unknown},

		"a backend":                             {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "a")}, want: same, message: "DiscoveryBackend gimbal/x"},
		"a backend of another cluster":          {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "b")}},
		"a backend that is deleted":             {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "a", goingBackend)}},
		"a drained backend":                     {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "a", drainedAt(1))}},
		"drained at an earlier version":         {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "a", drainedAt(0))}, want: same},
		"its announcement":                      {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("k", "a", announcing("k"))}},
		"a backend with its labels":             {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "a", announcing("k"))}, want: same},
		"the announcement of a twin":            {own: "a", other: []change{leadsTo("a"), klustertest.Going, born(1)}, backends: []*gimbalv1.DiscoveryBackend{backend("other", "a", announcing("other"))}},
		"the announcement of no Kluster":        {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("old", "a", announcing("old"))}, want: same},
		"an unknown one, same Secret":           {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "", inNamespace, using("k-secret"))}, want: unknown, message: "DiscoveryBackend garden-shop/x, which uses the same Secret"},
		"an unknown one, both unknown":          {other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "", inNamespace, using("k-secret"))}, want: unknown, message: kubernikusv1.AcceptUnknownIdentityAnnotation + "=discoverybackend/garden-shop/x"},
		"own unknown, same Secret":              {other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "a", inNamespace, using("k-secret"))}, want: unknown},
		"an unknown one, accepted":              {own: "a", k: []change{accepts("discoverybackend/garden-shop/x")}, other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "", inNamespace, using("k-secret"))}},
		"an unknown one, a Kluster is accepted": {own: "a", k: []change{accepts("garden-shop/x,kluster/garden-shop/x")}, other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "", inNamespace, using("k-secret"))}, want: unknown},
		"an unknown one, drained":               {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "", inNamespace, using("k-secret"), drainedAt(1))}},
		"an unknown one, another Secret":        {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "", inNamespace, using("other"))}},
		"an unknown one, elsewhere":             {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "", using("k-secret"))}},
		"an unknown one, of OpenStack":          {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "", inNamespace, using("k-secret"), func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Type = gimbalv1.BackendOpenStack })}},
		"another one, same Secret":              {own: "a", other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "b", inNamespace, using("k-secret"))}},
		"own unknown, a backend has none":       {other: []change{leadsTo("b")}, backends: []*gimbalv1.DiscoveryBackend{backend("x", "")}},
	} {
		t.Run(name, func(t *testing.T) {
			k := deleted("k", append([]change{born(0)}, c.k...)...)
			other := klustertest.Kluster("other", append([]change{born(0)}, c.other...)...)
			var backends []gimbalv1.DiscoveryBackend
			for _, b := range c.backends {
				backends = append(backends, *b)
			}
			own := clusterid.Known{ID: c.own, Server: "own:6443"}
			own.ClusterName, own.CSIClusterID = cloud.NamesOf(stage.Work{Kluster: k})
			got := holdOf(clusterid.HoldersOf(k, own, []kubernikusv1.Kluster{*k, *other}, backends, nil))
			switch {
			case c.want == "" && got != nil:
				t.Errorf("hold = %s: %s, want none", got.reason, got.message)
			case c.want != "" && (got == nil || got.reason != c.want || !strings.Contains(got.message, c.message)):
				t.Errorf("hold = %+v, want %s with %q", got, c.want, c.message)
			case got != nil && got.thaws == (c.want == first):
				t.Errorf("thaws = %t, want it for objects that stay only", got.thaws)
			}
		})
	}
}

// living adds a Kluster that is not being deleted, and that leads to the cluster of all flows.
func (f *flow) living(name string, changes ...change) *kubernikusv1.Kluster {
	f.t.Helper()
	k := klustertest.Kluster(name, append([]change{leadsTo(string(otherUID))}, changes...)...)
	f.store.Add(k)
	return k
}

// TestTwinHolds checks that nothing is done to a cluster that another Kluster leads to, however long that lasts, and that Deorbit has all
// its time when it continues.
func TestTwinHolds(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	twin := f.living("twin")
	f.turn(k)
	f.is(k, drain, "Unknown/SameCluster")
	f.store.Change(k, func() { k.Annotations = map[string]string{kubernikusv1.SelfDestructAnnotation: "now"} })
	f.after(48*time.Hour, k)
	f.restart()
	f.after(time.Hour, k)
	if f.is(k, drain, "Unknown/SameCluster"); f.stages() != "" || f.thaws != 0 {
		t.Fatalf("stages = %s, thaws = %d", f.stages(), f.thaws)
	}
	if text := f.reported(); strings.Count(text, "SameCluster") != 1 || !strings.Contains(text, "garden-shop/twin") {
		t.Errorf("events: %s", text)
	}
	f.store.ResetLog()
	if f.after(time.Minute, k); f.store.Count() != 0 {
		t.Errorf("%d writes without news", f.store.Count())
	}
	f.annotate(k, "")
	f.store.Remove(twin)
	f.remains(claims, thing("PersistentVolumeClaim", "a"))
	f.after(time.Hour, k)
	if f.is(k, claims, "False/Claims"); !k.Status.Deorbit.StartedAt.After(epoch.Add(49 * time.Hour)) {
		t.Errorf("it began at %s", k.Status.Deorbit.StartedAt)
	}
}

// TestTwinInTheMiddle checks that a twin that appears stops the next check, that the freeze is lifted, and set again before Deorbit
// continues.
func TestTwinInTheMiddle(t *testing.T) {
	for _, which := range []kubernikusv1.DeorbitStage{freeze, claims, wait, verify, routes} {
		t.Run(string(which), func(t *testing.T) {
			k := deleted("k")
			f := newFlow(t, k, secretOf("k-secret"))
			f.remains(which, thing("Thing", "a"))
			f.turn(k)
			f.is(k, which, "False/"+string(which))
			twin := f.living("twin")
			f.respond(nil)
			f.after(time.Minute, k)
			if f.is(k, freeze, "Unknown/SameCluster"); f.stages() != "" || f.thaws != 1 {
				t.Fatalf("stages = %s, thaws = %d", f.stages(), f.thaws)
			}
			if text := f.reported(); !strings.Contains(text, "Normal Thawed") {
				t.Errorf("events: %s", text)
			}
			f.store.Remove(twin)
			if f.after(2*time.Minute, k); f.store.Find(k) || !strings.HasPrefix(f.stages(), "Freeze Pods") {
				t.Errorf("stages = %s, status %+v", f.stages(), k.Status.Deorbit)
			}
		})
	}
}

// TestTwinOfUnreachableCluster checks that the identity that registration learnt counts while the cluster does not respond, and that the
// freeze is lifted when it does again.
func TestTwinOfUnreachableCluster(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	config, err := kluster.Workload(k, secretOf("k-secret").Data)
	if err != nil {
		t.Fatal(err)
	}
	f.store.ChangeStatus(k, func() {
		k.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: string(otherUID)}
		k.Status.Identity.Server, k.Status.Identity.Connection = kluster.ConnectionOf(config)
	})
	f.remains(verify, thing("Volume", "v"))
	f.turn(k)
	f.is(k, verify, "False/Verify")
	f.living("twin")
	f.restart()
	f.respond(nil)
	f.id = func(context.Context) (types.UID, error) { return "", errDown }
	f.thawErr = errDown
	f.after(time.Minute, k)
	if f.is(k, verify, "Unknown/SameCluster"); f.stages() != "" {
		t.Fatalf("stages = %s", f.stages())
	}
	f.id, f.thawErr = nil, nil
	f.after(2*time.Minute, k)
	if f.is(k, freeze, "Unknown/SameCluster"); f.thaws != 1 {
		t.Errorf("thaws = %d", f.thaws)
	}
	// What was learnt by another Secret proves nothing: then the names decide, and there are none in common.
	f.store.ChangeStatus(k, func() { k.Status.Identity.Connection = "another" })
	f.id = func(context.Context) (types.UID, error) { return "", errDown }
	f.restart()
	f.after(2*time.Minute, k)
	f.is(k, freeze, "False/Unreachable")
}

// TestAnotherCluster checks that a Secret that leads to another cluster in the middle of a Deorbit stops it, also after a restart, that the
// freeze of that cluster is not lifted, and that the Deorbit continues when the Secret is right again.
func TestAnotherCluster(t *testing.T) {
	k := deleted("k")
	secret := secretOf("k-secret")
	f := newFlow(t, k, secret)
	f.remains(claims, thing("PersistentVolumeClaim", "a"))
	f.turn(k)
	f.is(k, claims, "False/Claims")
	f.respond(nil)
	f.id = func(context.Context) (types.UID, error) { return "wrong", nil }
	f.store.Change(secret, func() {
		secret.Data["kubeconfig"] = []byte(strings.ReplaceAll(kubeconfig, "127.0.0.1:1", "127.0.0.1:2"))
	})
	for range 2 {
		f.turn(k)
		f.restart()
	}
	f.is(k, claims, "Unknown/ClusterChanged")
	f.annotate(k, kubernikusv1.DetachAnnotation)
	f.reconcile(k)
	f.annotate(k, "")
	f.after(time.Minute, k)
	if f.stages() != "" || f.thaws != 0 {
		t.Fatalf("stages = %q, thaws = %d, want none in the wrong cluster", f.stages(), f.thaws)
	}
	f.id = nil
	f.store.Change(secret, func() { secret.Data["kubeconfig"] = []byte(kubeconfig) })
	if f.after(time.Minute, k); f.store.Find(k) {
		t.Errorf("it is not released: %+v", k.Status.Deorbit)
	}
}

// TestUnknownTwin checks that a Kluster that may lead to the same cluster holds Deorbit until an annotation names it.
func TestUnknownTwin(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	f.store.Add(klustertest.Kluster("other", unidentified("127.0.0.1:1", "Unreachable"), elsewhere))
	f.turn(k)
	if f.is(k, drain, "Unknown/IdentityUnknown"); f.stages() != "" {
		t.Fatalf("stages = %s", f.stages())
	}
	f.store.Change(k, func() {
		k.Annotations = map[string]string{kubernikusv1.AcceptUnknownIdentityAnnotation: "garden-other/other"}
	})
	if f.turn(k); f.store.Find(k) {
		t.Errorf("it is not released: %+v", k.Status.Deorbit)
	}
}

// TestUnknownUntilItResponds checks that a cluster that is held because its identity is unknown is asked for it until it responds.
func TestUnknownUntilItResponds(t *testing.T) {
	k := deleted("k", cloudNames("n", "c"))
	f := newFlow(t, k, secretOf("k-secret"))
	f.living("rival", leadsTo("another-cluster"), cloudNames("n", "c"))
	f.id = func(context.Context) (types.UID, error) { return "", errDown }
	f.turn(k)
	f.is(k, drain, "Unknown/IdentityUnknown")
	f.after(time.Hour, k)
	f.is(k, drain, "Unknown/IdentityUnknown")
	f.id = nil
	f.remains(claims, thing("PersistentVolumeClaim", "a"))
	f.after(time.Hour, k)
	f.is(k, claims, "False/Claims")
}

// TestAllOfAClusterAreDeleted checks that of several Klusters of a cluster the oldest does the work, and the others do so after it.
func TestAllOfAClusterAreDeleted(t *testing.T) {
	old, young := deleted("old", leadsTo(string(otherUID)), born(0)), deleted("young", leadsTo(string(otherUID)), born(1))
	f := newFlow(t, young, old, secretOf("young-secret"), secretOf("old-secret"))
	f.remains(claims, thing("PersistentVolumeClaim", "a"))
	f.turn(young)
	f.is(young, drain, "Unknown/SameClusterFirst")
	f.turn(old)
	f.is(old, claims, "False/Claims")
	f.after(2*time.Minute, young)
	f.is(young, drain, "Unknown/SameClusterFirst")
	for _, c := range f.calls {
		if c.kluster != "old" {
			t.Errorf("%s is done for %s", c.stage, c.kluster)
		}
	}
	if f.thaws != 0 {
		t.Errorf("thaws = %d", f.thaws)
	}
	f.respond(nil)
	if f.after(time.Minute, old); f.store.Find(old) {
		t.Fatalf("the oldest is not released: %+v", old.Status.Deorbit)
	}
	if f.after(2*time.Minute, young); f.store.Find(young) {
		t.Errorf("the other one is not released: %+v", young.Status.Deorbit)
	}
}

// TestBackendHolds checks that a cluster that a DiscoveryBackend gets requests for is not torn down.
func TestBackendHolds(t *testing.T) {
	k, b := deleted("k"), backend("manual", string(otherUID))
	f := newFlow(t, k, secretOf("k-secret"), b)
	f.turn(k)
	if f.is(k, drain, "Unknown/SameCluster"); f.stages() != "" {
		t.Fatalf("stages = %s", f.stages())
	}
	f.store.Change(b, func() { b.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance })
	f.store.ChangeStatus(b, func() { drainedAt(b.Generation)(b) })
	if f.after(2*time.Minute, k); f.store.Find(k) {
		t.Errorf("it is not released: %+v", k.Status.Deorbit)
	}
}

// TestUnknownBackendHolds checks that a backend holds Deorbit whose identity is unknown, and that has the Secret of the Kluster.
func TestUnknownBackendHolds(t *testing.T) {
	k, b := deleted("k"), backend("manual", "", inNamespace, using("k-secret"))
	f := newFlow(t, k, secretOf("k-secret"), b)
	f.turn(k)
	if f.is(k, drain, "Unknown/IdentityUnknown"); f.stages() != "" {
		t.Fatalf("stages = %q, want none", f.stages())
	}
	f.store.Remove(b)
	if f.after(2*time.Minute, k); f.store.Find(k) {
		t.Errorf("it is not released: %+v", k.Status.Deorbit)
	}
}

// TestUnknownBackendOfServer checks that a backend of unknown identity holds Deorbit in any namespace, by the API server that its own Secret
// leads to, and while it is unknown where that leads. One whose Secret leads nowhere does not, and nothing is done while that is not read.
func TestUnknownBackendOfServer(t *testing.T) {
	const held = "Unknown/IdentityUnknown"
	down := func(f *flow) { f.id = func(context.Context) (types.UID, error) { return "", errDown } }
	accept := func(f *flow) {
		k := &kubernikusv1.Kluster{}
		if err := f.store.Get(f.t.Context(), types.NamespacedName{Namespace: klustertest.Namespace, Name: "k"}, k); err != nil {
			f.t.Fatal(err)
		}
		f.store.Change(k, func() {
			k.Annotations = map[string]string{kubernikusv1.AcceptUnknownIdentityAnnotation: "discoverybackend/gimbal/manual"}
		})
	}
	for name, c := range map[string]struct {
		id, config string
		change     func(*gimbalv1.DiscoveryBackend)
		setup      func(*flow)
		want       string // "": it is released
	}{
		"the same server":        {config: kubeconfig, want: held},
		"rejected, the same":     {config: strings.ReplaceAll(kubeconfig, "{token: t}", "{tokenFile: /token}"), want: held},
		"another server":         {config: strings.ReplaceAll(kubeconfig, "127.0.0.1:1", "example.com")},
		"no YAML":                {config: "broken", want: held},
		"too large":              {config: kubeconfig + strings.Repeat("#", 256<<10), want: held},
		"no YAML, accepted":      {config: "broken", setup: accept},
		"no YAML, drained":       {config: "broken", change: drainedAt(1)},
		"no context":             {config: "{kind: Config, apiVersion: v1}"},
		"no text":                {},
		"no Secret":              {config: kubeconfig, change: using("missing")},
		"names no Secret":        {config: kubeconfig, change: using("")},
		"of OpenStack":           {config: kubeconfig, change: func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Type = gimbalv1.BackendOpenStack }},
		"another cluster":        {id: "another", config: kubeconfig},
		"drained":                {config: kubeconfig, change: drainedAt(1)},
		"both clusters unknown":  {config: kubeconfig, setup: down, want: held},
		"only its cluster known": {id: "another", config: kubeconfig, setup: down, want: held},
		"its Secret is not read": {config: "broken", want: "False/Failed", setup: func(f *flow) {
			var reads atomic.Int32
			f.store.Read = func(_ string, object runtime.Object) error {
				if _, ok := object.(*corev1.Secret); ok && reads.Add(1) == 2 { // the first one is that of the Kluster
					return errDown
				}
				return nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			k, b := deleted("k"), backend("manual", c.id, using("copy"))
			if c.change != nil {
				c.change(b)
			}
			copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "copy"}, Data: map[string][]byte{"config": []byte(c.config)}}
			f := newFlow(t, k, secretOf("k-secret"), b, copied)
			if c.setup != nil {
				c.setup(f)
			}
			f.turn(k)
			if c.want == "" {
				if f.after(2*time.Minute, k); f.store.Find(k) {
					t.Errorf("it is not released: %+v", k.Status)
				}
				return
			}
			if f.is(k, drain, c.want); f.stages() != "" {
				t.Errorf("stages = %q, want none", f.stages())
			}
			if text := f.reported(); c.want == held && !strings.Contains(text, "DiscoveryBackend gimbal/manual, which has ") {
				t.Errorf("events = %s, want the name of the backend", text)
			}
			f.store.Remove(b)
			if f.after(2*time.Minute, k); f.stages() == "" && f.id == nil {
				t.Error("it does not continue without the backend")
			}
		})
	}
}

// TestStaleCacheOfTwins checks that a twin counts that the cache does not have yet.
func TestStaleCacheOfTwins(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	f.r.live = klustertest.NewStore(t, deleted("k"), secretOf("k-secret"), klustertest.Kluster("twin", leadsTo(string(otherUID))),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: ownUID}})
	f.turn(k)
	if f.is(k, drain, "Unknown/SameCluster"); f.stages() != "" {
		t.Errorf("stages = %s", f.stages())
	}
}

// TestDetachThaws checks that a Kluster that is detached in the middle of its Deorbit leaves a cluster that is not frozen, if that responds,
// and no other Deorbit relies on the freeze.
func TestDetachThaws(t *testing.T) {
	for name, c := range map[string]struct {
		setup   func(f *flow)
		thaws   int
		message string
	}{
		"it responds":         {func(*flow) {}, 1, "Normal Thawed"},
		"it does not respond": {func(f *flow) { f.thawErr = errDown }, 0, "Warning Thawed the cluster may still be frozen"},
		"it is unknown": {func(f *flow) {
			f.id = func(context.Context) (types.UID, error) { return "", errDown }
		}, 0, "Warning Thawed the cluster may still be frozen"},
		"another Deorbit needs it": {func(f *flow) {
			f.store.Add(klustertest.Kluster("twin", leadsTo(string(otherUID)), func(k *kubernikusv1.Kluster) {
				k.Status.Deorbit = &kubernikusv1.DeorbitStatus{Stage: claims}
			}))
			twin := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: klustertest.Namespace, Name: "twin"}}
			if err := f.store.Delete(f.t.Context(), twin); err != nil {
				f.t.Fatal(err)
			}
		}, 0, "Normal Released"},
		"it is the management cluster by now": {func(f *flow) {
			system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: ownUID}}
			f.store.Remove(system)
			f.store.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: otherUID}})
			f.restart()
		}, 0, "Normal Released"},
	} {
		t.Run(name, func(t *testing.T) {
			k := deleted("k")
			f := newFlow(t, k, secretOf("k-secret"))
			f.remains(claims, thing("PersistentVolumeClaim", "a"))
			f.turn(k)
			c.setup(f)
			f.annotate(k, kubernikusv1.DetachAnnotation)
			f.reported()
			if f.turn(k); f.store.Find(k) || f.thaws != c.thaws {
				t.Errorf("released = %t, thaws = %d, want %d", !f.store.Find(k), f.thaws, c.thaws)
			}
			if text := f.reported(); !strings.Contains(text, c.message) {
				t.Errorf("events: %s, want %q", text, c.message)
			}
		})
	}
}

// TestNotDetachedAfterAll checks that a Deorbit freezes the cluster again when the annotation is removed while the freeze is being lifted.
func TestNotDetachedAfterAll(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	f.remains(claims, thing("PersistentVolumeClaim", "a"))
	f.turn(k)
	f.annotate(k, kubernikusv1.DetachAnnotation)
	f.reconcile(k) // begins to lift it
	f.annotate(k, "")
	f.respond(nil)
	if f.after(time.Minute, k); f.store.Find(k) || !strings.HasPrefix(f.stages(), "Freeze Pods") {
		t.Errorf("stages = %s", f.stages())
	}
}
