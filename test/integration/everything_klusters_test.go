// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// tagged are the metadata of volumes of a cluster.
func tagged(cluster string) map[string]string {
	return map[string]string{"cinder.csi.openstack.org/cluster": cluster}
}

// enroll creates a Kluster and its Secret.
func (l *life) enroll(name, pods, kubeconfig string, change func(*kubernikusv1.Kluster)) (*kubernikusv1.Kluster, *corev1.Secret) {
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		l.Fatal(err)
	}
	k := klusterIn(l.klusters.namespace, name, "1.36.3")
	k.Spec.ClusterCIDR, k.Spec.Openstack.RouterID = new(pods), l.klusters.router
	k.Spec.CloudProvider = kubernikusv1.CloudProvider{ClusterName: &name, CSIClusterID: &name}
	change(k)
	clouds := `{clouds: {cloud: {auth: {auth_url: "` + l.klusters.cloud.AuthURL() + `", username: gardener, password: first, user_domain_name: Default, project_id: garden}}}}`
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.klusters.namespace, Name: name + "-secret"},
		Data: map[string][]byte{"kubeconfig": text, "clouds.yaml": []byte(clouds)}}
	for _, object := range []client.Object{k, secret} {
		if err := l.c.Create(l.Context(), object); err != nil {
			l.Fatal(err)
		}
		l.ledger.protect("no user deleted the Kluster", object)
	}
	return k, secret
}

// possess makes what a cluster has in OpenStack, and returns it.
func (l *life) possess(cluster string) (ids []string) {
	cloud := l.klusters.cloud
	for i := range 2 {
		ids = append(ids, cloud.AddVolume("garden", fake.Volume{Name: fmt.Sprintf("%s-%d", cluster, i), Metadata: tagged(cluster)}))
	}
	return append(ids, cloud.AddLoadBalancer("garden", fake.LoadBalancer{Name: "kube_service_" + cluster + "_shop_web",
		Description: "Kubernetes external service shop/web from cluster " + cluster}))
}

// deletedKlusters creates Klusters and deletes them. Their API servers do not respond any more, so Deorbit relies on OpenStack alone.
// What a living Kluster, of a similar name, has there stays.
func (l *life) deletedKlusters() {
	kubeconfig := write(l.T, string(kubeconfigTo("https://127.0.0.1:1", l.CA())))
	living, _ := l.enroll("doomed", "100.99.0.0/16", l.AdminKubeconfig(), func(*kubernikusv1.Kluster) {})
	for _, id := range append(l.possess("doomed"), l.possess("foreign")...) {
		l.ledger.keep(id, inCloud(l.klusters.cloud)[id])
	}
	deleted := 0
	for number := 0; l.proceed(100 * time.Millisecond); number++ {
		var batch []*kubernikusv1.Kluster
		owned := map[string][]string{}
		for i := range 2 {
			name := fmt.Sprintf("doomed-%d", i) // as one before
			k, secret := l.enroll(name, fmt.Sprintf("100.%d.0.0/16", 100+i), kubeconfig, func(k *kubernikusv1.Kluster) {
				k.Spec.Deorbit.UnseenVolumes = kubernikusv1.DeletionPolicyDelete
			})
			batch, owned[name] = append(batch, k), l.possess(name)
			for _, id := range owned[name] {
				l.ledger.keep(id, name+"'s")
			}
			l.is(k, kubernikusv1.ConditionOpenStackReachable, "True/Reachable")
			l.ledger.release(secret)
		}
		for _, k := range batch {
			l.proceed(time.Duration(l.random.IntN(1000)) * time.Millisecond)
			for _, id := range owned[k.Name] {
				l.ledger.discard(id)
			}
			l.ledger.release(k)
			l.deorbit(k)
			deleted++
		}
		for _, k := range batch {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name + "-secret"}}
			patiently(l.T, func(ctx context.Context) error { return confirmDeleted(ctx, l.c, k) })
			if err := client.IgnoreNotFound(l.c.Delete(l.Context(), secret)); err != nil {
				l.Fatal(err)
			}
			patiently(l.T, func(ctx context.Context) error {
				if err := l.c.Get(ctx, client.ObjectKeyFromObject(secret), secret); err == nil {
					return fmt.Errorf("the Secret of %s is still there: %v", k.Name, secret.Finalizers)
				}
				return nil
			})
			for _, id := range owned[k.Name] {
				if what := inCloud(l.klusters.cloud)[id]; what != "" {
					l.Errorf("Kluster %s was released, and %s is left over", k.Name, what)
				}
			}
		}
	}
	l.is(living, kubernikusv1.ConditionOpenStackReachable, "True/Reachable")
	l.Logf("%d klusters whose cluster does not respond were deleted", deleted)
}

// deorbit deletes a Kluster.
func (l *life) deorbit(k *kubernikusv1.Kluster) {
	patiently(l.T, func(ctx context.Context) error {
		if err := confirm(ctx, l.c, k); err != nil {
			return client.IgnoreNotFound(err)
		}
		return client.IgnoreNotFound(l.c.Delete(ctx, k))
	})
}

// is waits until a condition of a Kluster is Status/Reason.
func (l *life) is(k *kubernikusv1.Kluster, kind, want string) {
	patiently(l.T, func(ctx context.Context) error {
		if err := l.c.Get(ctx, client.ObjectKeyFromObject(k), k); err != nil {
			return err
		}
		for _, c := range k.Status.Conditions {
			if c.Type == kind && string(c.Status)+"/"+c.Reason == want {
				return nil
			}
		}
		return fmt.Errorf("conditions of %s: %+v", k.Name, k.Status.Conditions)
	})
}

// routes lets servers come and go that routes lead to. The routes of servers that live stay, and so do those of others; the others
// are removed.
func (l *life) routes() {
	cloud, router := l.klusters.cloud, l.klusters.router
	k, _ := l.enroll("routed", "100.110.0.0/16", l.AdminKubeconfig(), func(*kubernikusv1.Kluster) {})
	l.is(k, kubernikusv1.ConditionOpenStackReachable, "True/Reachable")
	stays := []fake.Route{{Destination: "192.168.0.0/24", NextHop: "10.0.0.77"}}
	for i := range 4 {
		stays = append(stays, fake.Route{Destination: fmt.Sprintf("100.110.%d.0/24", i), NextHop: "10.0.0.5"})
	}
	cloud.SetRoutes(router, stays...)
	check := func() (orphans []fake.Route) {
		now := cloud.Routes(router)
		for _, route := range stays {
			if !slices.Contains(now, route) {
				l.Errorf("route %s was removed", route)
			}
		}
		return slices.DeleteFunc(now, func(r fake.Route) bool { return slices.Contains(stays, r) })
	}
	removed := 0
	for number := 0; l.proceed(200 * time.Millisecond); number++ {
		hop := fmt.Sprintf("10.0.0.%d", 100+number%100)
		server := cloud.AddServer("garden", l.klusters.network, hop, "ACTIVE")
		mine := fake.Route{Destination: fmt.Sprintf("100.110.%d.0/24", 100+number%100), NextHop: hop}
		orphans := check()
		stays = append(stays, mine)
		cloud.SetRoutes(router, append(orphans, stays...)...)
		l.proceed(time.Duration(l.random.IntN(3000)) * time.Millisecond)
		check()
		stays = stays[:len(stays)-1]
		cloud.RemoveServer(server, false)
		patiently(l.T, func(context.Context) error {
			if orphans := check(); len(orphans) > 0 {
				return fmt.Errorf("routes %v are left", orphans)
			}
			return nil
		})
		removed++
	}
	check()
	l.Logf("%d routes of deleted servers were removed", removed)
}
