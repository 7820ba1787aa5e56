// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

const (
	kindNode    = "Node"
	kindPod     = "Pod"
	kindService = "Service"

	// maxNeighbours is how many Pods of a Node or Service are in the graph.
	maxNeighbours = 40
	// uidsPerList is how many objects a list of Translations selects.
	uidsPerList = 40
)

// Network is what an object became in the backend network, and what that is connected to.
type Network struct {
	Nodes []GraphNode `json:"nodes"`
	Edges []GraphEdge `json:"edges"`
	// Translations counts those of the object itself.
	Translations int `json:"translations"`
	// Neighbours are objects whose resources are in the graph, too; Omitted is how many are left out.
	Neighbours []string `json:"neighbours"`
	Omitted    int      `json:"omitted"`
	Problems   []string `json:"problems"`
}

// neighbour is an object whose resources are connected to those of another one.
type neighbour struct {
	text string
	uid  types.UID
}

// network reads the Translations of an object, of those that are connected to it, and of what there is once per cluster.
func (r *reader) network(ctx context.Context, kind string, name client.ObjectKey) (*Network, error) {
	view := &Network{Neighbours: []string{}, Problems: []string{}}
	object, neighbours, err := r.around(ctx, view, kind, name)
	if err != nil {
		return nil, err
	}
	view.Omitted = max(0, len(neighbours)-maxNeighbours)
	neighbours = neighbours[:len(neighbours)-view.Omitted]
	g := newGraph()
	own, err := r.translationsOf(ctx, []types.UID{object.GetUID()})
	if err != nil {
		return nil, err
	}
	view.Translations = len(own)
	for i := range own {
		g.add(&own[i], true)
	}
	var uids []types.UID
	for _, n := range neighbours {
		view.Neighbours, uids = append(view.Neighbours, n.text), append(uids, n.uid)
	}
	connected, err := r.translationsOf(ctx, uids)
	if err != nil {
		return nil, err
	}
	for i := range connected {
		g.add(&connected[i], false)
	}
	shown := len(g.nodes)
	globals := &midonetv1.TranslationList{}
	if err := r.client.List(ctx, globals, client.InNamespace(r.Namespace), client.HasLabels{midonetv1.LabelGlobal}); err != nil {
		return nil, err
	}
	for i := range globals.Items {
		g.add(&globals.Items[i], false)
	}
	view.Nodes, view.Edges = g.done(shown)
	return view, nil
}

// around reads an object and its neighbours: those that run on a Node, the Node of a Pod, and what serves a Service.
func (r *reader) around(ctx context.Context, view *Network, kind string, name client.ObjectKey) (client.Object, []neighbour, error) {
	var object client.Object
	switch kind {
	case kindNode:
		object = &corev1.Node{}
	case kindPod:
		object = &corev1.Pod{}
	case kindService:
		object = &corev1.Service{}
	default:
		return nil, nil, &failure{http.StatusNotFound, fmt.Sprintf("%q is not %s, %s or %s", kind, kindService, kindNode, kindPod)}
	}
	if err := r.client.Get(ctx, name, object); err != nil {
		return nil, nil, err
	}
	neighbours, err := r.neighbours(ctx, object)
	if err != nil {
		view.Problems = append(view.Problems, r.unknown(err, "read what is connected to the "+kind))
	}
	return object, neighbours, nil
}

func (r *reader) neighbours(ctx context.Context, object client.Object) (all []neighbour, err error) {
	switch o := object.(type) {
	case *corev1.Node:
		pods := &corev1.PodList{}
		err = r.client.List(ctx, pods, client.InNamespace(r.Namespace),
			client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("spec.nodeName", o.Name)})
		for i := range pods.Items {
			if p := &pods.Items[i]; !p.Spec.HostNetwork {
				all = append(all, neighbour{kindPod + " " + p.Namespace + "/" + p.Name, p.UID})
			}
		}
	case *corev1.Pod:
		node := &corev1.Node{}
		if o.Spec.NodeName == "" {
			return nil, nil
		}
		if err = r.client.Get(ctx, client.ObjectKey{Name: o.Spec.NodeName}, node); err == nil {
			all = append(all, neighbour{kindNode + " " + node.Name, node.UID})
		}
	case *corev1.Service:
		endpoints := &discoveryv1.EndpointSliceList{}
		err = r.client.List(ctx, endpoints, client.InNamespace(o.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: o.Name})
		for _, slice := range endpoints.Items {
			for _, e := range slice.Endpoints {
				if ref := e.TargetRef; ref != nil && ref.Kind == kindPod && ref.UID != "" {
					all = append(all, neighbour{kindPod + " " + ref.Namespace + "/" + ref.Name, ref.UID})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b neighbour) int { return strings.Compare(a.text, b.text) })
	return slices.Compact(all), err
}

// translationsOf reads the Translations of objects.
func (r *reader) translationsOf(ctx context.Context, uids []types.UID) (all []midonetv1.Translation, err error) {
	for some := range slices.Chunk(uids, uidsPerList) {
		var values []string
		for _, uid := range some {
			values = append(values, string(uid))
		}
		owned, err := labels.NewRequirement(midonetv1.LabelOwnerUID, selection.In, values)
		if err != nil {
			return nil, err
		}
		list := &midonetv1.TranslationList{}
		if err := r.client.List(ctx, list, client.InNamespace(r.Namespace),
			client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*owned)}); err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}
