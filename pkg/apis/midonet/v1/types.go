// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"

// Translation is what one Kubernetes object becomes in MidoNet: an ordered list of backend resources, each as the
// body that its REST API takes. The owner reference names the object; a Translation with the label
// midonet.org/global has no owner.
type Translation struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Resources are the wanted backend resources. A resource stands behind those it refers to. One that is taken out
	// of the list is deleted from the backend. The list is replaced as a whole by server-side apply.
	// +optional
	// +k8s:optional
	// +listType=atomic
	Resources []BackendResource `json:"resources,omitempty" protobuf:"bytes,2,rep,name=resources"`
	// Status is what was pushed to the backend. It is written by the pusher.
	// +optional
	Status TranslationStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// TranslationList is a list of Translations.
type TranslationList struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Items are the Translations.
	Items []Translation `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// BackendResource is one resource of the backend.
type BackendResource struct {
	// Kind is the type of the resource in the backend's API, for instance Port or Chain. It is letters and digits and
	// starts with a capital.
	// +k8s:required
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind"`
	// Parent is the id of the resource that this one is made under, a lower-case UUID. It is empty for a kind that
	// stands alone.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-uuid
	Parent string `json:"parent" protobuf:"bytes,2,opt,name=parent"`
	// Body is the resource as the backend's API takes it: a JSON object on one line.
	// +k8s:required
	Body string `json:"body" protobuf:"bytes,3,opt,name=body"`
}

// TranslationStatus is what was pushed to the backend.
type TranslationStatus struct {
	// ObservedGeneration is the generation of the Translation that the status speaks of.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// Conditions sum up the state: Synced is true when the backend has what the Translation wants, Stalled is true
	// when somebody must act first.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,2,rep,name=conditions"`
	// Resources are the resources that were pushed, or tried, and are not known to be gone. One that the Translation
	// no longer lists is kept here until it is deleted from the backend.
	// +optional
	// +k8s:optional
	// +listType=atomic
	Resources []BackendResourceStatus `json:"resources,omitempty" protobuf:"bytes,3,rep,name=resources"`
}

// BackendResourceState says how one resource in the backend relates to the one that is wanted.
// +enum
// +k8s:enum
type BackendResourceState string

const (
	// BackendResourcePending means the resource waits for its turn, or for a resource that it refers to.
	BackendResourcePending BackendResourceState = "Pending"
	// BackendResourceSynced means the backend has the resource as it is wanted.
	BackendResourceSynced BackendResourceState = "Synced"
	// BackendResourceDrifted means somebody else changed or deleted the resource in the backend.
	BackendResourceDrifted BackendResourceState = "Drifted"
	// BackendResourceFailed means the backend refused the resource, or did not answer.
	BackendResourceFailed BackendResourceState = "Failed"
	// BackendResourceDeleting means the resource is no longer wanted and is still in the backend.
	BackendResourceDeleting BackendResourceState = "Deleting"
	// BackendResourceNotApplicable means the backend has no place for a resource of this kind.
	BackendResourceNotApplicable BackendResourceState = "NotApplicable"
)

// BackendResourceStatus is the state of one resource of the backend.
type BackendResourceStatus struct {
	// Kind is the type of the resource in the backend's API.
	// +k8s:required
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind"`
	// ID tells the resource from the others of its kind and parent. It is the last segment of its path in the
	// backend's API, and empty when the path ends with the kind, as that of a PortLink.
	// +optional
	ID string `json:"id,omitempty" protobuf:"bytes,2,opt,name=id"`
	// Parent is the id of the resource that this one was made under, empty for a kind that stands alone.
	// +optional
	Parent string `json:"parent,omitempty" protobuf:"bytes,3,opt,name=parent"`
	// State is Pending, Synced, Drifted, Failed, Deleting or NotApplicable.
	// +k8s:required
	State BackendResourceState `json:"state" protobuf:"bytes,4,opt,name=state,casttype=BackendResourceState"`
	// BodyHash is a hash of the body that the backend accepted last. A resource whose wanted body has the same hash
	// is not pushed again.
	// +optional
	BodyHash string `json:"bodyHash,omitempty" protobuf:"bytes,5,opt,name=bodyHash"`
	// HTTPStatus is the status code of the backend's last answer, for instance 409. It is absent when none came.
	// +optional
	HTTPStatus int32 `json:"httpStatus,omitempty" protobuf:"varint,6,opt,name=httpStatus"`
	// Message says why the resource is not in sync, in the backend's words where it gave any.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,7,opt,name=message"`
	// LastTransitionTime is when the state changed last.
	// +optional
	// +k8s:opaqueType
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,8,opt,name=lastTransitionTime"`
}
