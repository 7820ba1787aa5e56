// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"

// Translation is the representation of one Kubernetes object in MidoNet: an ordered list of backend resources, each with its
// body for the REST API. The owner reference names the object; a Translation with the label midonet.org/global has no owner.
type Translation struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Resources are the desired backend resources. A resource follows those that it refers to. A resource that is removed from the
	// list is deleted from the backend. The list is replaced as a whole by server-side apply.
	// +optional
	// +k8s:optional
	// +listType=atomic
	Resources []BackendResource `json:"resources,omitempty" protobuf:"bytes,2,rep,name=resources"`
	// Status is the state of the backend. It is written by the pusher.
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
	// Parent is the id of the resource under which this one is created, a lower-case UUID. It is empty for a kind without a
	// parent.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-uuid
	Parent string `json:"parent" protobuf:"bytes,2,opt,name=parent"`
	// Body is the body of the resource for the backend's API: a JSON object on one line.
	// +k8s:required
	Body string `json:"body" protobuf:"bytes,3,opt,name=body"`
}

// TranslationStatus is the state of a Translation in the backend.
type TranslationStatus struct {
	// ObservedGeneration is the generation of the Translation that this status describes.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// Conditions are the state: Synced is true when the backend has the desired state of the Translation, Stalled when an action by
	// a user is required. The API server adds their summary: Ready, and Reconciling while the Translation becomes ready on its own.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,2,rep,name=conditions"`
	// Resources are the resources that were pushed, or attempted, and are not known to be deleted. A resource that the Translation
	// no longer lists remains here until it is deleted from the backend.
	// +optional
	// +k8s:optional
	// +listType=atomic
	Resources []BackendResourceStatus `json:"resources,omitempty" protobuf:"bytes,3,rep,name=resources"`
}

// BackendResourceState is the state of a resource in the backend compared with the desired state.
// +enum
// +k8s:enum
type BackendResourceState string

const (
	// BackendResourcePending means that the resource is queued, or waits for a resource that it refers to.
	BackendResourcePending BackendResourceState = "Pending"
	// BackendResourceSynced means that the backend has the desired state of the resource.
	BackendResourceSynced BackendResourceState = "Synced"
	// BackendResourceDrifted means that another client changed or deleted the resource in the backend.
	BackendResourceDrifted BackendResourceState = "Drifted"
	// BackendResourceFailed means that the backend rejected the resource, or did not respond.
	BackendResourceFailed BackendResourceState = "Failed"
	// BackendResourceDeleting means that the resource is no longer desired and still exists in the backend.
	BackendResourceDeleting BackendResourceState = "Deleting"
	// BackendResourceNotApplicable means that the backend does not support resources of this kind.
	BackendResourceNotApplicable BackendResourceState = "NotApplicable"
)

// BackendResourceStatus is the state of one resource of the backend.
type BackendResourceStatus struct {
	// Kind is the type of the resource in the backend's API.
	// +k8s:required
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind"`
	// ID identifies the resource among those of its kind and parent. It is the last segment of its path in the backend's API, and
	// empty if the path ends with the kind, like that of a PortLink.
	// +optional
	ID string `json:"id,omitempty" protobuf:"bytes,2,opt,name=id"`
	// Parent is the id of the resource under which this one was created, empty for a kind without a parent.
	// +optional
	Parent string `json:"parent,omitempty" protobuf:"bytes,3,opt,name=parent"`
	// State is Pending, Synced, Drifted, Failed, Deleting or NotApplicable.
	// +k8s:required
	// +required
	State BackendResourceState `json:"state,omitempty" protobuf:"bytes,4,opt,name=state,casttype=BackendResourceState"`
	// BodyHash is a hash of the last body that the backend accepted. A resource whose desired body has the same hash is not pushed
	// again.
	// +optional
	BodyHash string `json:"bodyHash,omitempty" protobuf:"bytes,5,opt,name=bodyHash"`
	// HTTPStatus is the status code of the backend's last response, for instance 409. It is absent if there was none.
	// +optional
	HTTPStatus int32 `json:"httpStatus,omitempty" protobuf:"varint,6,opt,name=httpStatus"`
	// Message is the reason why the resource is not in sync, including the error of the backend if there is one.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,7,opt,name=message"`
	// LastTransitionTime is when the state last changed.
	// +optional
	// +k8s:opaqueType
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,8,opt,name=lastTransitionTime"`
}
