// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// lives are Klusters and DiscoveryBackends that lead to clusters, as they really do, whatever registration knows of it.
type lives struct {
	*flow
	mu sync.Mutex
	// leads is the cluster that an object leads to.
	leads map[string]string
	// serves is the address by which it does so.
	serves map[string]string
	// left is how many checks a cluster still needs until its claims have been deleted, and frozen which clusters are.
	left   map[string]int
	frozen map[string]bool
	// silent are the clusters whose API servers do not respond.
	silent map[string]bool
	// wrong is what was changed although it must not be.
	wrong []string
}

// place is a workload cluster, or the cloud of one.
type place struct {
	*lives
	id string
}

func (l *lives) withdraw(context.Context, *kubernikusv1.Kluster) (stage.Report, error) {
	return stage.Report{}, nil
}

// connect leads to the cluster that the name of the server begins with.
func (l *lives) connect(config *rest.Config) (workload, error) {
	id, _, _ := strings.Cut(strings.TrimPrefix(config.Host, "https://"), "-")
	return place{l, id}, nil
}

func (l *lives) open(_ context.Context, k *kubernikusv1.Kluster, _ *corev1.Secret) (project, error) {
	return place{l, l.leads[k.Name]}, nil
}

// changed checks that no object needs the cluster that is changed for a Kluster. Only if neither an identity nor an address proves it, as
// when the cluster has never responded to one of them, it may go unnoticed: otherwise one broken Kluster would hold all deletions.
func (p place) changed(what kubernikusv1.DeorbitStage, by *kubernikusv1.Kluster, responds bool) {
	unknown := by.ClusterID() == "" && !responds
	all := &kubernikusv1.KlusterList{}
	if err := p.store.Live().List(context.Background(), all); err != nil {
		p.wrong = append(p.wrong, err.Error())
	}
	for i := range all.Items {
		k := &all.Items[i]
		neverReached := unknown || k.Status.Identity != nil && k.Status.Identity.Reason == "Unreachable"
		if k.DeletionTimestamp.IsZero() && p.leads[k.Name] == p.id && (p.serves[k.Name] == p.serves[by.Name] || !neverReached) {
			p.wrong = append(p.wrong, fmt.Sprintf("%s changes cluster %s for %s, and %s leads to it", what, p.id, by.Name, k.Name))
		}
	}
	backends := &gimbalv1.DiscoveryBackendList{}
	if err := p.store.Live().List(context.Background(), backends); err != nil {
		p.wrong = append(p.wrong, err.Error())
	}
	for i := range backends.Items {
		b := &backends.Items[i]
		neverReached := unknown || len(b.Status.Identity) == 0
		leads, owner := p.leads[b.Name], strings.TrimSuffix(b.Cluster.SecretName(), "-secret")
		if len(b.Status.Identity) == 0 {
			leads = p.leads[owner] // no discoverer insists on the cluster that it was
		}
		if !clusterid.IsDrained(b) && leads == p.id && (p.serves[owner] == p.serves[by.Name] || !neverReached) {
			p.wrong = append(p.wrong, fmt.Sprintf("%s changes cluster %s for %s, and DiscoveryBackend %s leads to it", what, p.id, by.Name, b.Name))
		}
	}
}

func (p place) Run(_ context.Context, which kubernikusv1.DeorbitStage, w stage.Work) (stage.Report, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent[p.id] {
		return stage.Report{}, errDown
	}
	p.changed(which, w.Kluster, true)
	switch {
	case which == freeze:
		p.frozen[p.id] = true
	case !p.frozen[p.id]:
		p.wrong = append(p.wrong, fmt.Sprintf("%s of %s in cluster %s, which is not frozen", which, w.Kluster.Name, p.id))
	case which == claims && p.left[p.id] > 0:
		p.left[p.id]--
		return stage.Report{Remaining: things("PersistentVolumeClaim", "a")}, nil
	}
	return stage.Report{}, nil
}

func (p place) verify(_ context.Context, w stage.Work, _ []kubernikusv1.Kluster) (stage.Report, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed(verify, w.Kluster, false)
	return stage.Report{}, nil
}

func (p place) routes(_ context.Context, w stage.Work, _ []kubernikusv1.Kluster) (stage.Report, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed(routes, w.Kluster, false)
	return stage.Report{}, nil
}

func (p place) Thaw(context.Context) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent[p.id] {
		return false, errDown
	}
	was := p.frozen[p.id]
	p.frozen[p.id] = false
	return was, nil
}

func (p place) ID(context.Context) (types.UID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent[p.id] {
		return "", errDown
	}
	return types.UID(p.id), nil
}

func (p place) Close() {}

// register is what registration does: it proves where the Secret leads, or only sees that it changed.
func (l *lives) register(k *kubernikusv1.Kluster, proven bool) {
	secret := &corev1.Secret{}
	if err := l.store.Get(l.t.Context(), client.ObjectKey{Namespace: k.Namespace, Name: k.SecretName()}, secret); err != nil {
		l.t.Fatal(err)
	}
	config, err := kluster.Workload(k, secret.Data)
	if err != nil {
		l.t.Fatal(err)
	}
	l.store.ChangeStatus(k, func() {
		next := &kubernikusv1.KlusterIdentity{Reason: clusterid.ReasonPending}
		next.Server, next.Connection = kluster.ConnectionOf(config)
		switch next.ClusterID = kluster.ProvenID(k, next.Connection); {
		case proven && !l.silent[l.leads[k.Name]]:
			next.ClusterID, next.Reason = l.leads[k.Name], ""
		case proven && next.ClusterID == "":
			next.Reason = "Unreachable"
		}
		k.Status.Identity = next
	})
}

// point makes the Secret of a Kluster lead to a cluster, by one of its names.
func (l *lives) point(name, cluster string, alias int) *corev1.Secret {
	l.leads[name] = cluster
	secret := secretOf(name + "-secret")
	secret.Namespace = namespaceOf(name)
	l.serves[name] = fmt.Sprintf("%s-%d.example:6443", cluster, alias)
	secret.Data["kubeconfig"] = []byte(strings.ReplaceAll(kubeconfig, "127.0.0.1:1", l.serves[name]))
	secret.Data["config"] = secret.Data["kubeconfig"] // for backends
	return secret
}

// namespaceOf returns the namespace of a Kluster: there are two.
func namespaceOf(name string) string {
	if name == "k3" || name == "k4" {
		return "garden-other"
	}
	return klustertest.Namespace
}

// backend makes a DiscoveryBackend with the Secret of a Kluster, whose discoverer has learnt the identity or not, drains it, or deletes it.
func (l *lives) backend(rt *rapid.T, owner string) {
	b := backend("backend-of-"+owner, "", using(owner+"-secret"))
	b.Namespace = namespaceOf(owner)
	switch exists := l.store.Find(b); {
	case !exists:
		l.leads[b.Name] = l.leads[owner]
		if rapid.Bool().Draw(rt, "discovered") {
			b.Status.Identity = clusterid.OfUID(l.leads[b.Name])
		}
		l.store.Add(b)
	case rapid.Bool().Draw(rt, "drained"):
		l.store.Change(b, func() { b.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance })
		l.store.ChangeStatus(b, func() { drainedAt(b.Generation)(b) })
	default:
		l.store.Remove(b)
	}
}

// TestClusterInUseIsNeverChanged checks, over random lives of up to four Klusters and their DiscoveryBackends in two namespaces that lead to up to three
// clusters, each by two names, that nothing in a cluster is changed while an object that is not being deleted leads to it, whatever registration has found out.
func TestClusterInUseIsNeverChanged(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &lives{flow: newFlow(t), leads: map[string]string{}, serves: map[string]string{}, left: map[string]int{"a": 2, "b": 2, "c": 2}, frozen: map[string]bool{}, silent: map[string]bool{}}
		l.r.systems = systems{l.withdraw, l.connect, l.open}
		clusters, names := rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"k1", "k2", "k3", "k4"})
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			name := names.Draw(rt, "kluster")
			here := func(k *kubernikusv1.Kluster) { k.Namespace = namespaceOf(name) }
			k := klustertest.Kluster(name, here)
			exists := l.store.Find(k)
			switch act := rapid.SampledFrom([]string{"create", "delete", "delete", "register", "look", "point", "annotate", "silence", "backend", "backend", "work", "work", "work"}).Draw(rt, "act"); {
			case act == "silence":
				if id := clusters.Draw(rt, "cluster"); rapid.Bool().Draw(rt, "silent") {
					l.silent[id] = true
				} else {
					delete(l.silent, id)
				}
			case act == "create" && !exists:
				secret := l.point(name, clusters.Draw(rt, "cluster"), rapid.IntRange(0, 1).Draw(rt, "alias"))
				_ = l.store.Delete(t.Context(), secret.DeepCopy()) // of an earlier Kluster, if there was one
				k = klustertest.Kluster(name, here, born(rapid.IntRange(0, 2).Draw(rt, "born")))
				l.store.Add(secret, k)
			case !exists || act == "create":
			case act == "backend":
				l.backend(rt, name)
			case act == "delete":
				if k.DeletionTimestamp.IsZero() {
					l.store.Remove(k)
				}
			case act == "register", act == "look":
				l.register(k, act == "register")
			case act == "point":
				to := l.point(name, clusters.Draw(rt, "cluster"), rapid.IntRange(0, 1).Draw(rt, "alias"))
				l.store.Change(to, func() { to.Data = l.point(name, l.leads[name], rapid.IntRange(0, 1).Draw(rt, "alias")).Data })
				l.register(k, false)
			case act == "annotate":
				l.annotate(k, rapid.SampledFrom([]string{"", "", kubernikusv1.DetachAnnotation, "groundskeeper.io/paused"}).Draw(rt, "annotation"))
			case act == "work":
				l.after(2*time.Minute, k)
			}
			if len(l.wrong) > 0 {
				rt.Fatalf("%s", strings.Join(l.wrong, "\n"))
			}
		}
	})
}
