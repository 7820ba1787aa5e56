// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// identified is an API server whose namespace kube-system has a uid; "": it does not report it.
func identified(uid string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/version":
			version136(w, r)
		case r.URL.Path == "/api/v1/namespaces/kube-system" && uid != "":
			_, _ = fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, uid)
		default:
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","metadata":{"name":"kube-system","uid":"of-a-status"},"status":"Failure","code":403}`)
		}
	})
}

// is checks what is known of the cluster of a Kluster.
func (f *flow) isIdentified(k *kubernikusv1.Kluster, id, reason string) {
	f.t.Helper()
	got := k.Status.Identity
	if got == nil || got.ClusterID != id || got.Reason != reason {
		f.t.Fatalf("identity = %+v, want %q with reason %q", got, id, reason)
	}
}

// TestIdentity checks that the identity of a cluster is that of the current Secret: it stays while the cluster does not respond, and
// is unknown when the Secret leads elsewhere, until that is proven.
func TestIdentity(t *testing.T) {
	k := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true })
	f := newFlow(t, k)
	f.settled(k)
	f.isIdentified(k, "", "SecretMissing")
	down := false
	first := identified("first")
	f.kubeconfig = servedBy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		first.ServeHTTP(w, r)
	}))
	secret := f.secret("k-secret")
	f.store.Add(secret)
	f.settled(k)
	f.isIdentified(k, "first", "")
	if server := k.Status.Identity.Server; server == "" {
		t.Error("the server is unknown")
	}
	before := f.store.Count()
	f.clock.SetTime(f.clock.Now().Add(6 * time.Minute))
	if f.settled(k); f.store.Count() != before {
		t.Errorf("%d writes without news", f.store.Count()-before)
	}
	down = true
	f.clock.SetTime(f.clock.Now().Add(6 * time.Minute))
	f.settled(k)
	f.isIdentified(k, "first", "")
	f.store.Change(secret, func() { secret.Labels = map[string]string{"touched": "true"} })
	f.settled(k)
	f.isIdentified(k, "first", "")
	// Another API server, which does not report its identity.
	f.store.Change(secret, func() { secret.Data["kubeconfig"] = servedBy(t, identified("")) })
	f.reconcile("k")
	f.store.Find(k)
	f.isIdentified(k, "", "Pending")
	f.settled(k)
	f.isIdentified(k, "", reasonUnidentified)
	f.store.Change(secret, func() { secret.Data["kubeconfig"] = servedBy(t, identified("second")) })
	f.settled(k)
	f.isIdentified(k, "second", "")
	// Without a Secret it leads nowhere else.
	f.store.Change(secret, func() { secret.Finalizers = nil })
	f.store.Remove(secret)
	f.settled(k)
	f.isIdentified(k, "second", "")
}

// TestIdentityOfPaused checks that a paused Kluster does not keep the identity of another Secret, and that its new one is found out.
func TestIdentityOfPaused(t *testing.T) {
	k := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true })
	f := newFlow(t, k)
	f.kubeconfig = servedBy(t, identified("first"))
	secret := f.secret("k-secret")
	f.store.Add(secret)
	f.settled(k)
	f.store.Change(k, func() { klustertest.Annotated("groundskeeper.io/paused")(k) })
	f.settled(k)
	f.isIdentified(k, "first", "")
	f.store.Change(secret, func() { secret.Data["kubeconfig"] = servedBy(t, identified("second")) })
	f.settled(k)
	f.isIdentified(k, "second", "")
	f.store.Change(secret, func() { delete(secret.Data, "kubeconfig") })
	f.settled(k)
	f.isIdentified(k, "second", "")
}

// TestServerOfARejectedKubeconfig checks that the API server is known though the kubeconfig is rejected: what may lead to the same cluster is
// found by it.
func TestServerOfARejectedKubeconfig(t *testing.T) {
	k := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true })
	f := newFlow(t, k)
	f.kubeconfig = []byte(`{kind: Config, apiVersion: v1, current-context: c, clusters: [{name: c, cluster: {server: "https://API.example"}}],
  users: [{name: u, user: {tokenFile: /token}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`)
	f.store.Add(f.secret("k-secret"))
	f.settled(k)
	if got := k.Status.Identity; got == nil || got.Server != "api.example:443" || got.Connection != "" || got.ClusterID != "" {
		t.Errorf("identity = %+v, want the server only", got)
	}
}

// TestTwinsAreNamed checks that each of two Klusters of one cluster names the other one, and that neither does when one is released.
func TestTwinsAreNamed(t *testing.T) {
	noCloud := func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true }
	a, b := klustertest.Kluster("a", noCloud), klustertest.Kluster("b", noCloud)
	f := newFlow(t, a, b)
	f.kubeconfig = servedBy(t, identified("one"))
	f.store.Add(f.secret("a-secret"), f.secret("b-secret"))
	f.settled(a)
	if got := klustertest.Condition(a, kubernikusv1.ConditionClusterUnique); got != "" {
		t.Errorf("condition of the only one = %s, want none", got)
	}
	if got := f.r.sharersOf(t.Context(), a); len(got) != 0 {
		t.Errorf("requests = %v, want none for the only one", got)
	}
	f.settled(b)
	if got := f.r.sharersOf(t.Context(), b); len(got) != 2 {
		t.Errorf("requests = %v, want one for each", got)
	}
	f.settled(a)
	for k, other := range map[*kubernikusv1.Kluster]string{a: "garden-shop/b", b: "garden-shop/a"} {
		if got := klustertest.Condition(k, kubernikusv1.ConditionClusterUnique); got != "False/SameCluster" || !strings.Contains(message(k, kubernikusv1.ConditionClusterUnique), other) {
			t.Errorf("condition of %s = %s, want False/SameCluster with %s", k.Name, got, other)
		}
	}
	before := f.store.Count()
	if f.settled(a); f.store.Count() != before {
		t.Errorf("%d writes without news", f.store.Count()-before)
	}
	f.store.Change(b, func() { b.Finalizers = []string{"somebody/else"} })
	f.store.Remove(b)
	f.settled(a)
	if got := klustertest.Condition(a, kubernikusv1.ConditionClusterUnique); got != "" {
		t.Errorf("condition = %s, want none behind the release of the other one", got)
	}
}

// TestManyKlusters checks that the registration of one of 3,000 Klusters reads only those of its cluster: neither all of them, nor all
// of a namespace.
func TestManyKlusters(t *testing.T) {
	const others = 3000
	noCloud := func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true }
	var objects []client.Object
	for i := range others {
		objects = append(objects, klustertest.Kluster(fmt.Sprint("other-", i), noCloud, func(k *kubernikusv1.Kluster) {
			k.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: fmt.Sprint("cluster-", i)}
		}))
	}
	a, b := klustertest.Kluster("a", noCloud), klustertest.Kluster("b", noCloud)
	f := newFlow(t, append(objects, a, b)...)
	f.kubeconfig = servedBy(t, identified("one"))
	f.store.Add(f.secret("a-secret"), f.secret("b-secret"))
	lists, read := 0, 0
	counted := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		err := c.List(ctx, list, options...)
		lists++
		read += meta.LenList(list)
		return err
	}}
	f.r.client, f.r.live = interceptor.NewClient(f.store.Client(), counted), interceptor.NewClient(f.store.Live(), counted)
	for _, k := range []*kubernikusv1.Kluster{a, b, a} {
		f.settled(k)
	}
	if got := klustertest.Condition(a, kubernikusv1.ConditionClusterUnique); got != "False/SameCluster" {
		t.Fatalf("condition = %s, want False/SameCluster", got)
	}
	if got := f.r.sharersOf(t.Context(), a); len(got) != 2 {
		t.Errorf("requests = %v, want one for each of the cluster", got)
	}
	if lists == 0 || read > 2*lists {
		t.Errorf("%d lists returned %d Klusters, want those of one cluster only", lists, read)
	}
}
