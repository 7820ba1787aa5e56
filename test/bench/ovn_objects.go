// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// ovnObjects are the objects of a network on OVN.
type ovnObjects struct {
	kube kubernetes.Interface
	// slices are those of the services, in their order.
	slices []*discoveryv1.EndpointSlice
}

// createOVNObjects makes nodes, services with endpoints, and as many pods.
func createOVNObjects(ctx context.Context, config *rest.Config, services int) (*ovnObjects, error) {
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: benchNamespace}}
	if _, err := kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	o := &ovnObjects{kube: kube, slices: make([]*discoveryv1.EndpointSlice, services)}
	if err := each(translatedNodes, func(i int) error { _, err := createNode(ctx, kube, i); return err }); err != nil {
		return nil, err
	}
	if err := each(services, func(i int) (err error) { _, o.slices[i], err = createService(ctx, kube, i, services); return err }); err != nil {
		return nil, err
	}
	return o, each(services, func(i int) error { _, err := createPod(ctx, kube, i, nodeName(i%translatedNodes)); return err })
}

// wanted counts what all objects of the cluster become, those that every cluster has included.
func (o *ovnObjects) wanted(ctx context.Context) (tally, error) {
	emitter := convert.OVN{Config: defaultConversion()}
	all := metav1.ListOptions{}
	namespaces, err := o.kube.CoreV1().Namespaces().List(ctx, all)
	if err != nil {
		return tally{}, err
	}
	services, err := o.kube.CoreV1().Services("").List(ctx, all)
	if err != nil {
		return tally{}, err
	}
	nodes, err := o.kube.CoreV1().Nodes().List(ctx, all)
	if err != nil {
		return tally{}, err
	}
	pods, err := o.kube.CoreV1().Pods("").List(ctx, all)
	if err != nil {
		return tally{}, err
	}
	results := map[string]convert.Result{"the cluster": emitter.Globals()}
	for i := range namespaces.Items {
		results["namespace "+namespaces.Items[i].Name] = emitter.Namespace(&namespaces.Items[i])
	}
	for i := range services.Items {
		results["service "+services.Items[i].Namespace+"/"+services.Items[i].Name] = emitter.Service(&services.Items[i], nil, nil)
	}
	byName := map[string]*corev1.Node{}
	for i := range nodes.Items {
		byName[nodes.Items[i].Name] = &nodes.Items[i]
		results["node "+nodes.Items[i].Name] = emitter.Node(&nodes.Items[i], nil)
	}
	for i := range pods.Items {
		results["pod "+pods.Items[i].Name] = emitter.Pod(&pods.Items[i], byName[pods.Items[i].Spec.NodeName], convert.Scope{})
	}
	var count tally
	for name, result := range results {
		// A Service of the plane without an address becomes nothing.
		if result.Waiting != nil || len(result.Skipped) > 0 {
			return tally{}, fmt.Errorf("%s is not translated: %+v", name, result)
		}
		count.translations += len(result.Translations)
		for i := range result.Translations {
			count.resources += len(result.Translations[i].Resources)
		}
	}
	return count, nil
}
