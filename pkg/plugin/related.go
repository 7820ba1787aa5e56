// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// podKind returns the kind of Pods, whose Node, volumes and Translations "why" follows.
func podKind() kind {
	return kind{title: "Pods", names: []string{"pod", "pods", "po"}, object: empty[corev1.Pod], list: emptyList[corev1.PodList], other: podFindings}
}

func podFindings(object client.Object, _ time.Time) []report.Finding {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	if problem := podProblem(pod); problem != "" {
		return []report.Finding{report.Found(report.Warning, "%s", problem)}
	}
	return nil
}

// routeKinds returns the kinds of routes, whose Services "why" follows to the backends.
func routeKinds() (all []kind) {
	shortNames := map[string][]string{"HTTPProxy": {"proxy", "proxies"}, "Ingress": {"ing"}}
	for _, k := range drain.Kinds() {
		version := k.WithVersion(k.Versions[0])
		names := slices.Concat([]string{strings.ToLower(k.Kind), k.Resource}, shortNames[k.Kind])
		all = append(all, kind{title: k.Kind, names: names,
			object: func() client.Object {
				object := &unstructured.Unstructured{}
				object.SetGroupVersionKind(version)
				return object
			},
			list: func() client.ObjectList {
				list := &unstructured.UnstructuredList{}
				list.SetGroupVersionKind(version)
				return list
			}})
	}
	return all
}

// notCheckedPolicies is the part of what is not checked that is, where ports of OVN are known.
const notCheckedPolicies = "network policies, "

// related adds what is known of what an object of Kubernetes depends on.
func (c *command) related(ctx context.Context, object client.Object, idle report.Idle, r *report.Report) error {
	r.NotChecked = notCheckedPolicies + "DNS, and what other controllers report: kubectl describe shows their events"
	switch o := object.(type) {
	case *corev1.Pod:
		if err := c.podRelated(ctx, o, idle, r); err != nil {
			return err
		}
	case *corev1.Node:
		translations, err := c.translationsOf(ctx, o, []string{metav1.NamespaceDefault}, idle, r)
		if err != nil {
			return err
		}
		r.Ports = portsOf(translations, o, o.Name)
	case *corev1.Service:
		if err := c.ways(ctx, o, idle, r); err != nil {
			return err
		}
		if err := c.endpointsOf(ctx, o, idle, r); err != nil {
			return err
		}
	case *unstructured.Unstructured:
		if err := c.routeRelated(ctx, o, idle, r); err != nil {
			return err
		}
	}
	if object.GetNamespace() != "" {
		c.surroundings(ctx, object.GetNamespace(), idle, r)
	}
	return nil
}

// podRelated adds the Translations of a Pod, and what is known of its Node and its volumes.
func (c *command) podRelated(ctx context.Context, pod *corev1.Pod, idle report.Idle, r *report.Report) error {
	translations, err := c.translationsOf(ctx, pod, []string{pod.Namespace}, idle, r)
	if err != nil {
		return err
	}
	var ends []*report.WayEnd
	r.Ports = portsOf(translations, pod, pod.Spec.NodeName) // a user of the namespace may not read the Translations of Nodes
	for i := range r.Ports {
		ends = append(ends, &r.Ports[i])
	}
	if err := c.isolate(ctx, pod.Namespace, []corev1.Pod{*pod}, ends, r); err != nil {
		return err
	}
	if pod.Spec.NodeName != "" {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}
		if err := c.nodesNamed(ctx, []string{node.Name}, r); err != nil {
			return err
		}
		if _, err := c.whyVolume(ctx, nodeKind(), node, r); err != nil {
			return err
		}
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: volume.PersistentVolumeClaim.ClaimName}}
		if _, err := c.whyVolume(ctx, volumeKinds()[0], claim, r); err != nil {
			return err
		}
	}
	return nil
}

// routeRelated adds what is wrong with the Services that a route refers to, and with the backends of those that are copies.
func (c *command) routeRelated(ctx context.Context, route *unstructured.Unstructured, idle report.Idle, r *report.Report) error {
	i := slices.IndexFunc(drain.Kinds(), func(k *drain.Kind) bool { return k.GroupKind == route.GroupVersionKind().GroupKind() })
	if i < 0 {
		return nil
	}
	for _, service := range drain.Kinds()[i].View(route.Object).Services() {
		if err := c.referred(ctx, route, service, idle, r); err != nil {
			return err
		}
	}
	return nil
}

// referred adds what is wrong with a Service that a route refers to.
func (c *command) referred(ctx context.Context, route client.Object, name types.NamespacedName, idle report.Idle, r *report.Report) error {
	service := &corev1.Service{}
	switch err := c.client.Get(ctx, name, service); {
	case apierrors.IsNotFound(err):
		r.Add(route.GetObjectKind().GroupVersionKind().Kind, route, report.Found(report.Warning, "refers to Service %s, which does not exist", name))
		return nil
	case apierrors.IsForbidden(err):
		r.Checked = append(r.Checked, report.Checked{Name: "Services", Problem: fmt.Sprintf("you are not allowed to get Service %s", name)})
		return nil
	case err != nil:
		return fmt.Errorf("get Service %s: %w", name, err)
	}
	r.Checked = append(r.Checked, report.Checked{Name: "Services", Count: 1})
	return c.endpointsOf(ctx, service, idle, r)
}

// surroundings adds what is wrong with the namespace of an object, and with its Project. A user who may not read the namespace
// learns nothing about it.
func (c *command) surroundings(ctx context.Context, name string, idle report.Idle, r *report.Report) {
	namespace := &corev1.Namespace{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		if !apierrors.IsNotFound(err) {
			r.Checked = append(r.Checked, report.Checked{Name: orphansTitle, Unread: report.OneLine(c.explained(ctx, err).Error())})
		}
		return
	}
	r.Add(orphansTitle, namespace, namespaceFindings(namespace, c.clock.Now())...)
	c.projectOf(ctx, namespace, idle, r)
	r.Project = "" // it is that of a namespace
}

// elsewhere completes the error about an object that does not exist with the namespaces that have one of its name.
func (c *command) elsewhere(ctx context.Context, k kind, key client.ObjectKey, err error) error {
	if k.global || !apierrors.IsNotFound(err) {
		return err
	}
	list := k.list()
	var namespaces []string
	_, failed := report.Pages(ctx, c.client, list, func(page []client.Object) {
		for _, object := range page {
			namespaces = append(namespaces, object.GetNamespace())
		}
	}, client.MatchingFields{metav1.ObjectNameField: key.Name})
	switch {
	case failed != nil:
		return fmt.Errorf("%w in namespace %s, and the others could not be searched: select one with -n", err, key.Namespace)
	case len(namespaces) == 0:
		return fmt.Errorf("%w in namespace %s, nor in another one", err, key.Namespace)
	}
	return fmt.Errorf("%w in namespace %s, but in %s: add -n %s", err, key.Namespace, strings.Join(namespaces, ", "), namespaces[0])
}
