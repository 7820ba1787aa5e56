// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package desired derives the Kluster of a cluster of Cluster API: from its Cluster, its OpenStackCluster and their annotations. It has
// only pure functions. Of the objects, which are custom resources in several versions, it knows only the fields that it uses.
package desired

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Groups of Cluster API, and labels and annotations of its objects.
const (
	// Group is that of Cluster API, and InfrastructureGroup that of its infrastructure providers.
	Group               = "cluster.x-k8s.io"
	InfrastructureGroup = "infrastructure.cluster.x-k8s.io"

	// LabelClusterName names the Cluster of an object.
	LabelClusterName = "cluster.x-k8s.io/cluster-name"
	// LabelMove makes clusterctl move an object with its Cluster.
	LabelMove = "clusterctl.cluster.x-k8s.io/move"
	// AnnotationPaused pauses an object, whatever its value is.
	AnnotationPaused = "cluster.x-k8s.io/paused"
	// AnnotationDeleteForMove is on an object that clusterctl deletes because it has moved it to another management cluster.
	AnnotationDeleteForMove = "clusterctl.cluster.x-k8s.io/delete-for-move"
	// AnnotationHook delays the deletion of the server of a Machine.
	AnnotationHook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/groundskeeper-deorbit"
	// AnnotationJanitorVolumes is that of cluster-api-janitor-openstack on an OpenStackCluster: every value other than
	// JanitorDelete retains the volumes.
	AnnotationJanitorVolumes = "janitor.capi.stackhpc.com/volumes-policy"
	// JanitorDelete deletes volumes.
	JanitorDelete = "delete"
)

// Annotations of Groundskeeper on the objects of Cluster API.
const (
	// Selection, as a label or annotation of a Cluster, decides whether it has a Kluster: Selected or Deselected.
	Selection = "groundskeeper.io/deorbit"
	// Selected is the value of Selection of a Cluster that has a Kluster.
	Selected = "true"
	// Deselected is the value of one that has none, also in a namespace that is selected.
	Deselected = "false"
	// AnnotationClusterName is the --cluster-name of the OpenStack cloud controller manager in the cluster.
	AnnotationClusterName = "groundskeeper.io/cloud-provider-cluster-name"
	// AnnotationCSIClusterID is the --cluster of the Cinder CSI driver in the cluster.
	AnnotationCSIClusterID = "groundskeeper.io/csi-cluster-id"
	// AnnotationCustomCNI with the value "true" or "false" is spec.customCNI of the Kluster.
	AnnotationCustomCNI = "groundskeeper.io/custom-cni"
	// Finalizer is that of an OpenStackCluster whose Kluster is not deorbited yet.
	Finalizer = "groundskeeper.io/deorbit"
	// PausedForDeorbit is the value of AnnotationPaused on an OpenStackCluster that waits for Deorbit.
	PausedForDeorbit = "groundskeeper.io/deorbit"
	// ConditionCompleted is the condition of a Cluster that is being deleted: whether its Deorbit is over.
	ConditionCompleted = "DeorbitCompleted"
	// ConditionPrepared is the condition of a Cluster that is selected: whether it will be deorbited. It is set when something prevents that.
	ConditionPrepared = "DeorbitPrepared"
)

// Cluster is what is known of a Cluster.
type Cluster struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Deleting reports that it is being deleted, and Moved that clusterctl deletes it because it is in another management cluster now.
	Deleting, Moved bool
	// DeletedAt is when its deletion was requested.
	DeletedAt time.Time
	Paused    bool
	// Selection is the value of the annotation or label, "" without one.
	Selection string
	// HasTopology reports that a ClusterClass describes it.
	HasTopology bool
	Labels      map[string]string
	// PodRanges are those of the pods, not parsed.
	PodRanges      []string
	Infrastructure Reference
	// ClusterName and CSIClusterID are the names in annotations, "" without one.
	ClusterName, CSIClusterID string
	// CustomCNI is the value of the annotation.
	CustomCNI string
	// Completed and Prepared are the conditions, nil without one.
	Completed, Prepared *Condition
	// NeverInitialized reports that Cluster API found no control plane to be initialized so far. A Cluster that it has not checked yet, as
	// after a move, reports nothing.
	NeverInitialized bool
	// Initialized reports that the control plane served once.
	Initialized bool
	// Invalid is why it could not be read; nothing else is known then.
	Invalid error
}

// OnOpenStack reports whether the infrastructure is that of OpenStack, or not known yet. That of every other provider is not looked at.
func (c *Cluster) OnOpenStack() bool {
	i := c.Infrastructure
	return i.Kind == "" || i.Kind == KindOpenStackCluster && i.Group == InfrastructureGroup
}

// Reference names an object in the namespace of its Cluster.
type Reference struct{ Group, Kind, Name string }

// Condition is a condition in any version of Cluster API.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// clusterObject has the fields of a Cluster in versions v1beta1 and v1beta2.
type clusterObject struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Paused         bool `json:"paused"`
		ClusterNetwork struct {
			Pods struct {
				CIDRBlocks []string `json:"cidrBlocks"`
			} `json:"pods"`
		} `json:"clusterNetwork"`
		InfrastructureRef struct {
			// APIVersion is that of v1beta1, APIGroup that of v1beta2.
			APIVersion string `json:"apiVersion"`
			APIGroup   string `json:"apiGroup"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
			Namespace  string `json:"namespace"`
		} `json:"infrastructureRef"`
		Topology *struct{} `json:"topology"`
	} `json:"spec"`
	Status struct {
		conditionList `json:",inline"`
		// Deprecated and V1Beta2 have the conditions that were written in the other version: Cluster API moves them there.
		Deprecated struct {
			V1Beta1 conditionList `json:"v1beta1"`
		} `json:"deprecated"`
		V1Beta2 conditionList `json:"v1beta2"`
		// ControlPlaneReady is of v1beta1, Initialization of v1beta2.
		ControlPlaneReady bool `json:"controlPlaneReady"`
		Initialization    struct {
			ControlPlaneInitialized bool `json:"controlPlaneInitialized"`
		} `json:"initialization"`
	} `json:"status"`
}

type conditionList struct {
	Conditions []Condition `json:"conditions"`
}

// find returns the condition of a type, nil for none.
func (l conditionList) find(kind string) *Condition {
	if i := slices.IndexFunc(l.Conditions, func(c Condition) bool { return c.Type == kind }); i >= 0 {
		return &l.Conditions[i]
	}
	return nil
}

// completed returns the condition that reports the Deorbit. One that is over stays so in whatever version that was written.
func (o *clusterObject) completed() *Condition {
	for _, written := range []conditionList{o.Status.conditionList, o.Status.Deprecated.V1Beta1, o.Status.V1Beta2} {
		if c := written.find(ConditionCompleted); c != nil && c.Status == string(metav1.ConditionTrue) {
			return c
		}
	}
	return o.Status.find(ConditionCompleted)
}

// conditionInitialized is the condition of a Cluster whose control plane served once. It never becomes false again.
const conditionInitialized = "ControlPlaneInitialized"

// neverInitialized reports whether Cluster API has found that there was no control plane yet.
func (o *clusterObject) neverInitialized() bool {
	c := o.Status.find(conditionInitialized)
	return !o.initialized() && c != nil && c.Status == string(metav1.ConditionFalse)
}

func (o *clusterObject) initialized() bool {
	return o.Status.ControlPlaneReady || o.Status.Initialization.ControlPlaneInitialized
}

// ClusterOf returns what is kept of a Cluster.
func ClusterOf(content map[string]any) *Cluster {
	o := &clusterObject{}
	if err := decode(content, o); err != nil {
		return &Cluster{Invalid: fmt.Errorf("cannot read the Cluster: %w", err)}
	}
	m, spec := &o.Metadata, &o.Spec
	_, paused := m.Annotations[AnnotationPaused]
	_, moved := m.Annotations[AnnotationDeleteForMove]
	c := &Cluster{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Deleting: m.DeletionTimestamp != nil, Moved: moved, Paused: paused || spec.Paused,
		HasTopology: spec.Topology != nil, Labels: m.Labels, PodRanges: spec.ClusterNetwork.Pods.CIDRBlocks,
		Infrastructure: Reference{Group: spec.InfrastructureRef.APIGroup, Kind: spec.InfrastructureRef.Kind, Name: spec.InfrastructureRef.Name},
		ClusterName:    m.Annotations[AnnotationClusterName], CSIClusterID: m.Annotations[AnnotationCSIClusterID],
		CustomCNI: m.Annotations[AnnotationCustomCNI], NeverInitialized: o.neverInitialized(), Initialized: o.initialized(),
		Completed: o.completed(), Prepared: o.Status.find(ConditionPrepared),
	}
	if c.Deleting {
		c.DeletedAt = m.DeletionTimestamp.Time
	}
	if value, ok := m.Annotations[Selection]; ok {
		c.Selection = value
	} else {
		c.Selection = m.Labels[Selection]
	}
	if c.Infrastructure.Group == "" {
		c.Infrastructure.Group = groupOf(spec.InfrastructureRef.APIVersion)
	}
	if other := spec.InfrastructureRef.Namespace; other != "" && other != m.Namespace {
		c.Invalid = fmt.Errorf("spec.infrastructureRef.namespace is %q, which is not that of the Cluster", other)
	}
	return c
}

// Machine is what is known of a Machine.
type Machine struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Cluster is the name of its Cluster.
	Cluster  string
	Deleting bool
	// Held reports that the hook of Groundskeeper delays the deletion of its server.
	Held bool
}

// MachineOf returns what is kept of a Machine, of which the metadata suffices.
func MachineOf(m metav1.Object) *Machine {
	_, held := m.GetAnnotations()[AnnotationHook]
	return &Machine{
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(),
		Cluster: m.GetLabels()[LabelClusterName], Deleting: m.GetDeletionTimestamp() != nil, Held: held,
	}
}

// IsNode reports whether the content of a Machine names the node that it became. One that cannot be read counts as a node.
func IsNode(content map[string]any) bool {
	o := struct {
		Status struct {
			NodeRef struct {
				Name string `json:"name"`
			} `json:"nodeRef"`
		} `json:"status"`
	}{}
	return decode(content, &o) != nil || o.Status.NodeRef.Name != ""
}

// decode reads the fields of a type, and ignores all others.
func decode(content map[string]any, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content, into) //nolint:wrapcheck // the caller names the object
}
