// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

// CacheOptions makes a cache keep of volumes and claims only what is read here. Other readers of these kinds in that cache do not
// see the rest.
func CacheOptions() (map[client.Object]cache.ByObject, error) {
	return map[client.Object]cache.ByObject{
		&corev1.PersistentVolume{}:      {Transform: trimVolume},
		&corev1.PersistentVolumeClaim{}: {Transform: trimClaim},
	}, nil
}

// NodeCacheOptions makes a cache of its own keep of Nodes what decides whether they count as lost.
func NodeCacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: trimNode}}
}

func trimNode(object any) (any, error) {
	full, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	kept := &corev1.Node{ObjectMeta: trimMeta(full)}
	kept.Labels = full.Labels
	for _, taint := range full.Spec.Taints {
		if taint.Key == corev1.TaintNodeOutOfService {
			kept.Spec.Taints = []corev1.Taint{taint}
		}
	}
	if ready := readyOf(full); ready.Type != "" {
		kept.Status.Conditions = []corev1.NodeCondition{
			{Type: ready.Type, Status: ready.Status, LastTransitionTime: ready.LastTransitionTime}}
	}
	return kept, nil
}

func trimVolume(object any) (any, error) {
	full, ok := object.(*corev1.PersistentVolume)
	if !ok {
		return object, nil
	}
	kept := &corev1.PersistentVolume{ObjectMeta: trimMeta(full)}
	kept.Spec.StorageClassName = full.Spec.StorageClassName
	switch {
	case full.Spec.Local != nil:
		kept.Spec.Local = &corev1.LocalVolumeSource{}
	case full.Spec.HostPath != nil:
		kept.Spec.HostPath = &corev1.HostPathVolumeSource{}
	case full.Spec.CSI != nil:
		kept.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: full.Spec.CSI.Driver, VolumeHandle: full.Spec.CSI.VolumeHandle}
		kept.Finalizers = full.Finalizers
	default: // only what kind of source it is
		kept.Spec.PersistentVolumeSource = full.Spec.PersistentVolumeSource
		return kept, nil
	}
	if full.DeletionTimestamp != nil {
		kept.Finalizers = full.Finalizers
	}
	kept.Spec.NodeAffinity = full.Spec.NodeAffinity
	kept.Spec.PersistentVolumeReclaimPolicy = full.Spec.PersistentVolumeReclaimPolicy
	kept.Spec.ClaimRef = full.Spec.ClaimRef
	kept.Status.Phase = full.Status.Phase
	return kept, nil
}

func trimClaim(object any) (any, error) {
	full, ok := object.(*corev1.PersistentVolumeClaim)
	if !ok {
		return object, nil
	}
	kept := &corev1.PersistentVolumeClaim{ObjectMeta: trimMeta(full)}
	kept.Spec.VolumeName = full.Spec.VolumeName
	return kept, nil
}

func trimMeta(object metav1.Object) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
		ResourceVersion:   object.GetResourceVersion(),
		CreationTimestamp: object.GetCreationTimestamp(), DeletionTimestamp: object.GetDeletionTimestamp(),
	}
	if value, ok := object.GetAnnotations()[OptOutAnnotation]; ok {
		kept.Annotations = map[string]string{OptOutAnnotation: value}
	}
	return kept
}

// Subject is a stale volume with its claim, and what is to be done with the two.
type Subject struct {
	Stale
	// Claim is what the claimRef of the volume names, nil when that does not exist. It is the cache's own, not to be
	// changed.
	Claim *corev1.PersistentVolumeClaim
	// namespace is that of the claimRef.
	namespace namespaceState
	// watched is since when the signs of life of its nodes are known; zero: they are not.
	watched time.Time

	ClaimDecision, VolumeDecision Decision
	// PodsDecision is about pods that wait for a claim that has been deleted. Without --delete-pending-pods it is to keep them.
	PodsDecision Decision
}

// namespaceState is what a namespace specifies for the claims in it.
type namespaceState struct {
	// unseen reports that a claim came before its namespace, which may have the annotation.
	unseen bool
	optOut string
}

// Survey decides about every stale volume and its claim, without a request.
func (s *Site) Survey(ctx context.Context) ([]Subject, error) {
	s.Inventory.ReviewOutages()
	now := s.Clock.Now()
	namespaces := map[string]namespaceState{}
	stale := s.Inventory.Stale()
	subjects := make([]Subject, len(stale))
	for i := range stale {
		subject := &subjects[i]
		subject.Stale = stale[i]
		if ref := subject.Volume.Spec.ClaimRef; ref != nil {
			var err error
			if subject.Claim, err = s.claim(ctx, ref); err != nil {
				return nil, err
			}
			if subject.namespace, err = s.namespace(ctx, ref.Namespace, namespaces); err != nil {
				return nil, err
			}
		}
		if *s.Config.ProofOfLife {
			subject.watched = s.vigils.begun(s.Inventory.everNamed(subject.Nodes), subject.Since)
		}
		facts{Subject: subject, config: &s.Config, now: now}.decide(s.podsAreReleased(subject.Volume.UID))
	}
	return subjects, nil
}

func (s *Site) claim(ctx context.Context, ref *corev1.ObjectReference) (*corev1.PersistentVolumeClaim, error) {
	claim := &corev1.PersistentVolumeClaim{}
	err := s.Cache.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, claim, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get persistent volume claim %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	return claim, nil
}

func (s *Site) namespace(ctx context.Context, name string, seen map[string]namespaceState) (namespaceState, error) {
	state, known := seen[name]
	if known || !s.Namespaces {
		return state, nil
	}
	object := metadataOf("Namespace")
	err := s.Cache.Get(ctx, client.ObjectKey{Name: name}, object, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return state, fmt.Errorf("get namespace %s: %w", name, err)
	}
	state = namespaceState{unseen: err != nil, optOut: optOut(object)}
	seen[name] = state
	return state, nil
}

func metadataOf(kind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return object
}

func nodeMetadataList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	return list
}

func (s *Site) ping(ctx context.Context) error {
	return s.Client.List(ctx, nodeMetadataList(), client.Limit(1))
}

// readNodes adds Nodes from the API server to a set, without those that count as lost. No list is older than the request.
func (s *Site) readNodes(ctx context.Context, into *nodeSet, when string, selectors ...client.ListOption) error {
	var list client.ObjectList = nodeMetadataList()
	if s.Nodes != nil {
		list = &corev1.NodeList{}
	}
	if err := lists.Complete(s.Client).List(ctx, list, selectors...); err != nil {
		return fmt.Errorf("%s before a deletion: %w", when, err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if node, ok := item.(metav1.Object); ok && !s.Inventory.isOut(node) {
			into.set(node)
		}
		return nil
	})
}

// readSigns reads the signs of life of the machine of a Node.
func (s *Site) readSigns(ctx context.Context, node string) (signs, error) {
	lease, pods := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadataList{}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: node}, lease)
	if client.IgnoreNotFound(err) != nil {
		return signs{}, fmt.Errorf("get the lease of node %s: %w", node, err)
	}
	if err != nil { // there is none
		lease = &metav1.PartialObjectMetadata{}
	}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := lists.Complete(s.Client).List(ctx, pods, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return signs{}, fmt.Errorf("list the pods of node %s: %w", node, err)
	}
	return signsOf(lease, pods.Items), nil
}

// liveNodes reads all nodes in one request, because a volume may refer to a node by a label.
func (s *Site) liveNodes(ctx context.Context) (*nodeSet, error) {
	live := newNodeSet(s.Inventory.sources.all)
	return live, s.readNodes(ctx, live, "list the nodes")
}

// prober reads Nodes live immediately before a deletion. A batch takes seconds, and a Node that is registered meanwhile is in neither
// the list of the batch nor, possibly, in a watch event. Deletions that wait for a probe share the next one, so that a batch costs a few
// requests for each as many deletions as there are worker threads.
type prober struct {
	site *Site
	// running is held by the probe that reads.
	running sync.Mutex
	// mu guards next, the probe that has not begun.
	mu   sync.Mutex
	next *probe
}

type probe struct {
	names sets.Set[string]
	once  sync.Once
	nodes *nodeSet
	err   error
}

// around reads the Nodes that could be those with these names, in requests that begin after the call.
func (l *prober) around(ctx context.Context, names []string) (*nodeSet, error) {
	l.mu.Lock()
	if l.next == nil {
		l.next = &probe{names: sets.New[string]()}
	}
	mine := l.next
	mine.names.Insert(names...)
	l.mu.Unlock()
	mine.once.Do(func() {
		l.running.Lock()
		defer l.running.Unlock()
		l.mu.Lock()
		l.next = nil // who comes from now on needs a probe that begins later
		l.mu.Unlock()
		mine.nodes, mine.err = l.site.findNodes(ctx, sets.List(mine.names))
	})
	return mine.nodes, mine.err
}

// findNodes reads the Nodes of these names, those that ever had one of them, and those that have one as a topology label. It lists,
// with selectors, and so needs no other permission than the list of all nodes.
func (s *Site) findNodes(ctx context.Context, names []string) (*nodeSet, error) {
	var selectors []client.ListOption
	for _, node := range s.Inventory.everNamed(names) {
		selectors = append(selectors, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(nodeNameField, node)})
	}
	for _, key := range s.Inventory.sources.all {
		values := names
		if s.Inventory.mayLack(names, key) { // it may be a Node without the label, or with an empty one
			values = append(slices.Clone(names), "")
			lacks, err := labels.NewRequirement(key, selection.DoesNotExist, nil)
			if err != nil {
				return nil, fmt.Errorf("find the node immediately before a deletion: %w", err)
			}
			selectors = append(selectors, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*lacks)})
		}
		if has, err := labels.NewRequirement(key, selection.In, values); err == nil {
			selectors = append(selectors, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*has)})
		} else { // one of the names can be no label
			selectors = append(selectors, client.HasLabels{key})
		}
	}
	found := newNodeSet(s.Inventory.sources.all)
	for _, selector := range selectors {
		if err := s.readNodes(ctx, found, "find the node immediately", selector); err != nil {
			return nil, err
		}
	}
	return found, nil
}
