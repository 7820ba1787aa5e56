// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

const (
	idleNamespace = "idle"
	idleName      = "idle"
	cloudPassword = "password"
)

// prepare writes the configurations and gives the manager its permissions.
func (k *klusters) prepare(ctx context.Context) error {
	const kind = "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"
	on := fmt.Sprintf("%scontrollers: {credentials: {allowPlainHTTP: true}, kluster: {enabled: true, routeGC: {interval: %s}, openstack: {qps: %g, burst: %d}}}\n",
		kind, intervalOfKlusters, requestsOfKlusters, int(requestsOfKlusters))
	for file, text := range map[string]string{k.on: on, k.off: kind} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	apply := exec.CommandContext(ctx, k.Kubectl(), "--kubeconfig", k.AdminKubeconfig(), "apply", "-k", "artifacts/kluster")
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("apply artifacts/kluster: %w: %s", err, out)
	}
	var err error
	k.kubeconfig, err = os.ReadFile(k.AdminKubeconfig())
	return err
}

// idleCloud returns a cloud with one Kluster, whose router has no routes and is checked every second.
func (k *klusters) idleCloud(ctx context.Context) (cloud *fake.Server, router string, err error) {
	cloud = fake.New(fake.Options{})
	cloud.AddUser(idleName, cloudPassword, idleName)
	router = cloud.AddRouter(idleName, cloud.AddNetwork("10.0.0.0/24"))
	spec := kubernikusv1.KlusterSpec{
		Version: "1.36.3", Openstack: kubernikusv1.OpenstackSpec{RouterID: router},
		RouteGC: &kubernikusv1.RouteGCSpec{Interval: &metav1.Duration{Duration: time.Second}},
	}
	return cloud, router, errors.Join(k.namespace(ctx, idleNamespace), k.register(ctx, cloud, idleNamespace, idleName, idleName, spec))
}

// dropIdle takes the Kluster of the idle cloud out of what is measured.
func (k *klusters) dropIdle(ctx context.Context) error {
	patch := []byte(`{"metadata":{"annotations":{"groundskeeper.io/paused":"true"}}}`)
	_, err := k.own.KubernikusV1().Klusters(idleNamespace).Patch(ctx, idleName, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// fullCloud returns the cloud with all Klusters.
func (k *klusters) fullCloud(ctx context.Context) (*fake.Server, error) {
	cloud := fake.New(fake.Options{})
	networks := make([]string, projectsOfKlusters)
	var routes []fake.Route
	for i := range routesOfKlusters {
		routes = append(routes, fake.Route{Destination: fmt.Sprintf("100.100.%d.0/24", i), NextHop: fmt.Sprintf("10.0.0.%d", 10+i%serversOfProject)})
	}
	for i := range networks {
		project := fmt.Sprintf("project-%d", i)
		cloud.AddUser(project, cloudPassword, project)
		networks[i] = cloud.AddNetwork("10.0.0.0/24")
		for n := range serversOfProject {
			cloud.AddServer(project, networks[i], fmt.Sprintf("10.0.0.%d", 10+n), "ACTIVE")
		}
		if err := k.namespace(ctx, project); err != nil {
			return nil, err
		}
	}
	return cloud, each(klustersOfTheGoals, func(i int) error {
		project := fmt.Sprintf("project-%d", i%projectsOfKlusters)
		router := cloud.AddRouter(project, networks[i%projectsOfKlusters])
		cloud.SetRoutes(router, routes...)
		spec := kubernikusv1.KlusterSpec{Version: "1.36.3", Openstack: kubernikusv1.OpenstackSpec{RouterID: router}}
		return k.register(ctx, cloud, project, fmt.Sprintf("k-%d", i), project, spec)
	})
}

func (k *klusters) namespace(ctx context.Context, name string) error {
	_, err := k.core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

// register makes a Kluster and its Secret.
func (k *klusters) register(ctx context.Context, cloud *fake.Server, namespace, name, project string, spec kubernikusv1.KlusterSpec) error {
	clouds := fmt.Sprintf(`{clouds: {cloud: {auth: {auth_url: %q, username: %s, password: %s, user_domain_name: Default, project_id: %s}}}}`,
		cloud.AuthURL(), project, cloudPassword, project)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-secret"},
		Data: map[string][]byte{"kubeconfig": k.kubeconfig, "clouds.yaml": []byte(clouds)}}
	if _, err := k.core.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	kluster := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	_, err := k.own.KubernikusV1().Klusters(namespace).Create(ctx, kluster, metav1.CreateOptions{})
	return err
}

// untilClean waits until so many Klusters are reachable and have clean routers.
func (k *klusters) untilClean(ctx context.Context, count int) error {
	api := k.own.KubernikusV1().Klusters(metav1.NamespaceAll)
	list, err := api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	events, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer events.Stop()
	clean := map[types.UID]bool{}
	for i := range list.Items {
		if isClean(&list.Items[i]) {
			clean[list.Items[i].UID] = true
		}
	}
	for len(clean) < count {
		event, open := <-events.ResultChan()
		if !open || event.Type == watch.Error {
			return errors.Join(fmt.Errorf("the watch ended with %d of %d klusters clean", len(clean), count), context.Cause(ctx))
		}
		if one, ok := event.Object.(*kubernikusv1.Kluster); ok && isClean(one) {
			clean[one.UID] = true
		}
	}
	return nil
}

func isClean(k *kubernikusv1.Kluster) bool {
	for _, kind := range []string{kubernikusv1.ConditionAPIServerReachable, kubernikusv1.ConditionOpenStackReachable, kubernikusv1.ConditionRoutesClean} {
		if !meta.IsStatusConditionTrue(k.Status.Conditions, kind) {
			return false
		}
	}
	return k.Namespace != idleNamespace || k.Annotations["groundskeeper.io/paused"] == ""
}
