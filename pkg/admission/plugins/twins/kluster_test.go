// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package twins

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

type change = func(*kubernikusv1.Kluster)

// kluster returns a Kluster in the namespace shop that has a deorbiter, and a Secret with its name.
func kluster(name string, changes ...change) *kubernikusv1.Kluster {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("kluster-" + name), Finalizers: []string{kubernikusv1.DeorbiterFinalizer}}}
	for _, change := range changes {
		change(k)
	}
	return k
}

func leadsTo(id string) change {
	return func(k *kubernikusv1.Kluster) { k.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: id} }
}

func secret(name string) change {
	return func(k *kubernikusv1.Kluster) { k.Spec.SecretRef.Name = name }
}

func elsewhere(k *kubernikusv1.Kluster) { k.Namespace = "bank" }

func going(k *kubernikusv1.Kluster) { k.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)} }

func released(k *kubernikusv1.Kluster) { going(k); k.Finalizers = []string{"foreign"} }

func detached(k *kubernikusv1.Kluster) {
	k.Annotations = map[string]string{kubernikusv1.DetachAnnotation: "true"}
}

func kubeconfig(name, key string) change {
	return func(k *kubernikusv1.Kluster) {
		k.Spec.SecretRef.Kubeconfig = &kubernikusv1.KubeconfigReference{Name: name, Key: key}
	}
}

// at makes registration have found an API server that did not respond.
func at(server string) change {
	return func(k *kubernikusv1.Kluster) {
		k.Status.Identity = &kubernikusv1.KlusterIdentity{Server: server, Connection: server, Reason: "Unreachable"}
	}
}

// leading adds that it did.
func leading(id string) change {
	return func(k *kubernikusv1.Kluster) { k.Status.Identity.ClusterID, k.Status.Identity.Reason = id, "" }
}

func accepts(name string) change {
	return func(k *kubernikusv1.Kluster) {
		k.Annotations = map[string]string{kubernikusv1.AcceptUnknownIdentityAnnotation: name}
	}
}

func clusterName(name string) change {
	return func(k *kubernikusv1.Kluster) { k.Spec.CloudProvider.ClusterName = new(name) }
}

func csiClusterID(id string) change {
	return func(k *kubernikusv1.Kluster) { k.Spec.CloudProvider.CSIClusterID = new(id) }
}

func router(id string) change {
	return func(k *kubernikusv1.Kluster) { k.Spec.Openstack.RouterID = id }
}

func project(id string) change {
	return func(k *kubernikusv1.Kluster) { k.Status.Openstack = &kubernikusv1.OpenstackStatus{ProjectID: id} }
}

func noCloud(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true }

func ownCluster(k *kubernikusv1.Kluster) {
	k.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionClusterUnique, Status: metav1.ConditionFalse, Reason: kubernikusv1.ReasonOwnCluster}}
}

func paused(k *kubernikusv1.Kluster) {
	k.Annotations = map[string]string{"groundskeeper.io/paused": "true"}
}

// of compares the only warning with the parts that a test wants in it, none for no warning.
func of(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != min(len(want), 1) {
		t.Fatalf("warnings = %q, want %q", got, want)
	}
	for _, part := range want {
		check(t, got, []string{part})
	}
}

func TestKlusters(t *testing.T) {
	labelled := func(k *kubernikusv1.Kluster) { k.Labels = map[string]string{"a": "b"} }
	version := func(k *kubernikusv1.Kluster) { k.Spec.Version = "1.35.0" }
	for name, c := range map[string]struct {
		others   []*kubernikusv1.Kluster
		now, old *kubernikusv1.Kluster // without now: a deletion of old
		// want are parts of the only warning; none: no warning.
		want []string
	}{
		"created, alone":                     {now: kluster("web")},
		"created, another Secret":            {others: []*kubernikusv1.Kluster{kluster("db")}, now: kluster("web")},
		"created, the same Secret":           {others: []*kubernikusv1.Kluster{kluster("db", secret("s"))}, now: kluster("web", secret("s")), want: []string{"Secret s is also that of Kluster shop/db:"}},
		"created, a Secret with that name":   {others: []*kubernikusv1.Kluster{kluster("db", secret("s"), elsewhere)}, now: kluster("web", secret("s"))},
		"created, another key of the Secret": {others: []*kubernikusv1.Kluster{kluster("db", kubeconfig("s", "a"))}, now: kluster("web", kubeconfig("s", "b"))},
		"created, the same kubeconfig":       {others: []*kubernikusv1.Kluster{kluster("db", kubeconfig("s", "a"))}, now: kluster("web", kubeconfig("s", "a")), want: []string{"shop/db"}},
		"created, the other was released":    {others: []*kubernikusv1.Kluster{kluster("db", secret("s"), released)}, now: kluster("web", secret("s"))},
		"updated, the same cluster": {others: []*kubernikusv1.Kluster{kluster("db", leadsTo("1"), elsewhere)}, now: kluster("web", leadsTo("1"), version), old: kluster("web", leadsTo("1")),
			want: []string{"Kluster bank/db leads to the same cluster"}},
		"updated, the same cluster and Secret": {others: []*kubernikusv1.Kluster{kluster("db", leadsTo("1"), secret("web-secret"))}, now: kluster("web", leadsTo("1"), version), old: kluster("web", leadsTo("1")),
			want: []string{"Kluster shop/db leads to the same cluster"}},
		"updated, another cluster":            {others: []*kubernikusv1.Kluster{kluster("db", leadsTo("2"))}, now: kluster("web", leadsTo("1"), version), old: kluster("web", leadsTo("1"))},
		"updated, only labels":                {others: []*kubernikusv1.Kluster{kluster("db", leadsTo("1"))}, now: kluster("web", leadsTo("1"), labelled), old: kluster("web", leadsTo("1"))},
		"deleted, of Groundskeeper's cluster": {old: kluster("web", leadsTo("1"), ownCluster), want: []string{"the cluster that Groundskeeper runs in", "groundskeeper.io/detach=true"}},
		"deleted, alone":                      {old: kluster("web", leadsTo("1"))},
		"deleted, the same cluster": {others: []*kubernikusv1.Kluster{kluster("db", leadsTo("1"), elsewhere)}, old: kluster("web", leadsTo("1")),
			want: []string{"Deorbit of Kluster web will wait", "Kluster bank/db: it leads to the same cluster and is not being deleted", "groundskeeper.io/detach=true"}},
		"deleted, the other one, too": {others: []*kubernikusv1.Kluster{kluster("db", leadsTo("1"), going)}, old: kluster("web", leadsTo("1"))},
		"deleted, another cluster":    {others: []*kubernikusv1.Kluster{kluster("db", leadsTo("2"))}, old: kluster("web", leadsTo("1"))},
		"deleted, not checked yet": {others: []*kubernikusv1.Kluster{kluster("db", elsewhere)}, old: kluster("web", leadsTo("1")),
			want: []string{"Kluster bank/db, which has not been checked yet", "accept-unknown-identity=kluster/bank/db on", "groundskeeper.io/detach=true"}},
		"deleted, not checked yet itself": {others: []*kubernikusv1.Kluster{kluster("db", at("a:443"), leading("1"))}, old: kluster("web", at("a:443")), want: []string{"shop/db, which has the same API server"}},
		"deleted, the same server":        {others: []*kubernikusv1.Kluster{kluster("db", at("a:443"))}, old: kluster("web", at("a:443"), leading("1")), want: []string{"shop/db, which has the same API server"}},
		"deleted, another server":         {others: []*kubernikusv1.Kluster{kluster("db", at("b:443"))}, old: kluster("web", at("a:443"), leading("1"))},
		"deleted, the same name": {others: []*kubernikusv1.Kluster{kluster("db", at("b:443"), clusterName("n"), elsewhere)}, old: kluster("web", at("a:443"), leading("1"), clusterName("n")),
			want: []string{"bank/db, which has the same clusterName"}},
		"deleted, the same CSI id": {others: []*kubernikusv1.Kluster{kluster("c", at("b:443"), elsewhere)}, old: kluster("web", at("a:443"), leading("1"), csiClusterID("c")),
			want: []string{"bank/c, which has the same csiClusterID"}},
		"deleted, the same router": {others: []*kubernikusv1.Kluster{kluster("db", at("b:443"), router("r"), elsewhere)}, old: kluster("web", at("a:443"), leading("1"), router("r")),
			want: []string{"bank/db, which has the same router"}},
		"deleted, the same project": {others: []*kubernikusv1.Kluster{kluster("db", at("b:443"), project("p"), elsewhere)}, old: kluster("web", at("a:443"), leading("1"), project("p")),
			want: []string{"bank/db, which has the same OpenStack project"}},
		"deleted, the same project, no cloud": {others: []*kubernikusv1.Kluster{kluster("db", at("b:443"), project("p"), noCloud)}, old: kluster("web", at("a:443"), leading("1"), project("p"))},
		"deleted, leads nowhere":              {others: []*kubernikusv1.Kluster{kluster("db", elsewhere)}, old: kluster("web", leadsTo(""), noCloud)},
		"deleted, unknown, too":               {others: []*kubernikusv1.Kluster{kluster("db", going)}, old: kluster("web", leadsTo("1"))},
		"deleted, unknown and accepted":       {others: []*kubernikusv1.Kluster{kluster("db")}, old: kluster("web", leadsTo("1"), accepts("shop/db"))},
		"deleted, the other one is paused":    {others: []*kubernikusv1.Kluster{kluster("db", leadsTo("1"), going, paused)}, old: kluster("web", leadsTo("1")), want: []string{"shop/db: it leads"}},
		"deleted, detached":                   {others: []*kubernikusv1.Kluster{kluster("db", leadsTo("1"))}, old: kluster("web", leadsTo("1"), detached)},
		"deleted, nothing to do":              {others: []*kubernikusv1.Kluster{kluster("db", leadsTo("1"))}, old: kluster("web", leadsTo("1"), released)},
		"deleted, the other was detached":     {others: []*kubernikusv1.Kluster{kluster("db", leadsTo("1"), detached)}, old: kluster("web", leadsTo("1")), want: []string{"shop/db"}},
		"deleted, many unknown": {others: []*kubernikusv1.Kluster{kluster("d"), kluster("c"), kluster("b"), kluster("a")}, old: kluster("web", leadsTo("1")),
			want: []string{"; and 1 more: correct", "accept-unknown-identity=kluster/shop/a,kluster/shop/b,kluster/shop/c on this one"}},
		"deleted, many": {others: []*kubernikusv1.Kluster{kluster("f", leadsTo("1")), kluster("e", leadsTo("1")), kluster("d", leadsTo("1")), kluster("c", leadsTo("1")), kluster("b", leadsTo("1")),
			kluster("a", leadsTo("1"))}, old: kluster("web", leadsTo("1")), want: []string{"Kluster shop/b; Kluster shop/c; and 3 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{}
			for _, other := range c.others {
				objects = append(objects, other)
			}
			of(t, warned(t, with(c.old, objects...), OfKlusters(), c.now, c.old, ""), c.want)
		})
	}
}

// TestBackendsOfKlusters checks which DiscoveryBackends a deletion warns of.
func TestBackendsOfKlusters(t *testing.T) {
	type change = func(*gimbalv1.DiscoveryBackend)
	manual := func(changes ...change) *gimbalv1.DiscoveryBackend {
		b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal", Name: "manual", UID: "manual"}}
		b.Cluster.ClusterStatus, b.Status.Identity = gimbalv1.ClusterEnabled, clusterid.OfUID("1")
		for _, change := range changes {
			change(b)
		}
		return b
	}
	made := func(uid string) change {
		return func(b *gimbalv1.DiscoveryBackend) { announcing("web", uid)(b); b.Name = "web" }
	}
	leads, uses := "DiscoveryBackend gimbal/manual: it leads to the same cluster", "discoverybackend/shop/manual on this one"
	maintained := func(b *gimbalv1.DiscoveryBackend) { b.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance }
	unknown := func(b *gimbalv1.DiscoveryBackend) {
		b.Namespace, b.Status.Identity, b.Cluster.Type, b.Cluster.Secret = "shop", nil, gimbalv1.BackendKubernetes, "web-secret"
	}
	for name, c := range map[string]struct {
		backend *gimbalv1.DiscoveryBackend
		kluster *kubernikusv1.Kluster
		want    string // in the warning; "": none
	}{
		"of the same cluster":            {manual(), kluster("web", leadsTo("1")), leads},
		"of another cluster":             {manual(func(b *gimbalv1.DiscoveryBackend) { b.Status.Identity = clusterid.OfUID("2") }), kluster("web", leadsTo("1")), ""},
		"unknown":                        {manual(), kluster("web"), ""},
		"in maintenance":                 {manual(maintained), kluster("web", leadsTo("1")), leads},
		"drained":                        {manual(maintained, drained), kluster("web", leadsTo("1")), ""},
		"being deleted":                  {manual(func(b *gimbalv1.DiscoveryBackend) { b.DeletionTimestamp = new(metav1.Now()) }), kluster("web", leadsTo("1")), ""},
		"created for it":                 {manual(made("kluster-web")), kluster("web", leadsTo("1")), ""},
		"created for another Kluster":    {manual(made("old-uid")), kluster("web", leadsTo("1")), "DiscoveryBackend gimbal/web: it leads to the same cluster"},
		"the Kluster is to be detached":  {manual(), kluster("web", leadsTo("1"), detached), ""},
		"unknown, the same Secret":       {manual(unknown), kluster("web", leadsTo("1")), uses},
		"both unknown, the same Secret":  {manual(unknown), kluster("web"), uses},
		"unknown, another Secret":        {manual(unknown), kluster("web", leadsTo("1"), secret("other")), ""},
		"unknown, a Kluster is accepted": {manual(unknown), kluster("web", leadsTo("1"), accepts("shop/manual")), uses},
		"unknown, accepted":              {manual(unknown), kluster("web", leadsTo("1"), accepts("discoverybackend/shop/manual")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = []string{c.want, "groundskeeper.io/detach=true"}
			}
			of(t, warned(t, with(c.kluster, c.backend), OfKlusters(), nil, c.kluster, ""), want)
		})
	}
}

// announcing labels a backend as that of a Kluster in the namespace shop.
func announcing(name, uid string) func(*gimbalv1.DiscoveryBackend) {
	return func(b *gimbalv1.DiscoveryBackend) {
		b.Labels = map[string]string{clusterid.LabelNamespace: "shop", clusterid.LabelName: name, clusterid.LabelUID: uid}
	}
}

func drained(b *gimbalv1.DiscoveryBackend) {
	b.Status.Conditions = []metav1.Condition{{Type: gimbalv1.ConditionDrained, Status: metav1.ConditionTrue}}
}

// TestChangeBesideBackend checks that a change of a Kluster warns of the DiscoveryBackends of its cluster that were not created for it.
func TestChangeBesideBackend(t *testing.T) {
	old := kluster("web", leadsTo("1"))
	now := old.DeepCopy()
	now.Spec.Version = "1.35.0"
	made := backend("web", identity("1"), announcing("web", "kluster-web"))
	got := warned(t, with(old, made, backend("us", identity("1")), backend("eu", identity("2"))), OfKlusters(), now, old, "")
	check(t, got, []string{"DiscoveryBackend shop/us leads to the same cluster, which is torn down only when"})
}
