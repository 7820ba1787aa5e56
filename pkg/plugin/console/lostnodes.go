// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

// LostNodes are the nodes that the cleanup of local volumes records as missing.
type LostNodes struct {
	Nodes []LostNode `json:"nodes"`
	// Brake is why nothing is deleted, by the last event about it, "" if the brake is not engaged.
	Brake string `json:"brake,omitempty"`
	// Acknowledged is how many missing nodes a user acknowledged.
	Acknowledged string `json:"acknowledged,omitempty"`
	// Confirmed is when a controller last confirmed that the nodes are missing.
	Confirmed *time.Time `json:"confirmed,omitempty"`
	// Problems are what could not be read.
	Problems []string `json:"problems"`
}

// LostNode is a missing node.
type LostNode struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
	// Due is when its claims are deleted, nil if they are not, or if the configuration of the controller manager is unknown.
	Due     *time.Time   `json:"due,omitempty"`
	Volumes []LostVolume `json:"volumes"`
	// Waiting are Pending pods that use a claim on it.
	Waiting []string `json:"waiting"`
}

// LostVolume is a volume of a missing node.
type LostVolume struct {
	Name     string `json:"name"`
	Phase    string `json:"phase"`
	Class    string `json:"class,omitempty"`
	Capacity string `json:"capacity,omitempty"`
	// Claim is the namespace and name of its claim.
	Claim string `json:"claim,omitempty"`
}

// lostNodes reads the record and what is on the nodes in it.
func (r *reader) lostNodes(ctx context.Context) (*LostNodes, error) {
	view := &LostNodes{Nodes: []LostNode{}, Problems: []string{}}
	record := &corev1.ConfigMap{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: uninstall.SystemNamespace, Name: localvolume.RecordName}, record)
	switch {
	case apierrors.IsNotFound(err):
		return view, nil
	case apierrors.IsForbidden(err):
		view.Problems = append(view.Problems, r.unknown(err, "get ConfigMap "+localvolume.RecordName+" in namespace "+uninstall.SystemNamespace))
		return view, nil
	case err != nil:
		return nil, err
	}
	view.Acknowledged = record.Annotations[localvolume.AcknowledgeAnnotation]
	if at, err := time.Parse(time.RFC3339Nano, record.Annotations[localvolume.ConfirmedAnnotation]); err == nil {
		view.Confirmed = &at
	}
	for name, since := range localvolume.RecordedMissing(record) {
		view.Nodes = append(view.Nodes, LostNode{Name: name, Since: since, Volumes: []LostVolume{}, Waiting: []string{}})
	}
	slices.SortFunc(view.Nodes, func(a, b LostNode) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Name, b.Name))
	})
	if len(view.Nodes) == 0 {
		return view, nil
	}
	view.Brake = r.brake(ctx, record, view)
	keys := []string{corev1.LabelHostname}
	config, err := r.Config(ctx)
	if err != nil {
		view.Problems = append(view.Problems, r.unknown(err, "read the configuration of the controller manager, which has the delay"))
	} else {
		keys = config.Controllers.LocalVolume.NodeTopologyKeys
		delays := localvolume.DelaysOf(&config.Controllers.LocalVolume)
		for i := range view.Nodes {
			_, seen := record.Data[localvolume.SeenPrefix+view.Nodes[i].Name]
			if delay, ends := delays.Of(!seen); ends {
				view.Nodes[i].Due = new(view.Nodes[i].Since.Add(delay))
			}
		}
	}
	r.volumes(ctx, view, keys)
	return view, nil
}

// brake reads from the events about the record whether too many nodes are missing.
func (r *reader) brake(ctx context.Context, record *corev1.ConfigMap, view *LostNodes) string {
	events, problem := r.events(ctx, record)
	if problem != "" {
		view.Problems = append(view.Problems, problem)
	}
	for _, e := range events {
		switch e.Reason {
		case localvolume.EventBrakeEngaged:
			return e.Message
		case localvolume.EventBrakeReleased:
			return ""
		}
	}
	return ""
}

// volumes adds the volumes of the nodes, and the pods that wait for them.
func (r *reader) volumes(ctx context.Context, view *LostNodes, topologyKeys []string) {
	var volumes corev1.PersistentVolumeList
	if err := r.client.List(ctx, &volumes); err != nil {
		view.Problems = append(view.Problems, r.unknown(err, "list PersistentVolumes"))
		return
	}
	nodeOf := map[string]int{} // by claim
	for i := range volumes.Items {
		v := &volumes.Items[i]
		for _, name := range localvolume.NodeNames(v, topologyKeys) {
			at := slices.IndexFunc(view.Nodes, func(n LostNode) bool { return n.Name == name })
			if at < 0 {
				continue
			}
			one := LostVolume{Name: v.Name, Phase: string(v.Status.Phase), Class: v.Spec.StorageClassName, Capacity: v.Spec.Capacity.Storage().String()}
			if ref := v.Spec.ClaimRef; ref != nil {
				one.Claim = ref.Namespace + "/" + ref.Name
				nodeOf[one.Claim] = at
			}
			view.Nodes[at].Volumes = append(view.Nodes[at].Volumes, one)
		}
	}
	if len(nodeOf) == 0 {
		return
	}
	var pods corev1.PodList
	err := r.client.List(ctx, &pods, client.InNamespace(r.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("status.phase", string(corev1.PodPending))})
	if err != nil {
		what := "list pods in all namespaces"
		if r.Namespace != "" {
			what = "list pods in namespace " + r.Namespace
		}
		view.Problems = append(view.Problems, r.unknown(err, what))
		return
	}
	for _, pod := range pods.Items {
		for _, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim == nil {
				continue
			}
			if at, ok := nodeOf[pod.Namespace+"/"+v.PersistentVolumeClaim.ClaimName]; ok {
				view.Nodes[at].Waiting = append(view.Nodes[at].Waiting, strings.Join([]string{pod.Namespace, pod.Name}, "/"))
				break
			}
		}
	}
}
