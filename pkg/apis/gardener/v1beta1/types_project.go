// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"

// Project is a tenant: users who share a namespace, with their roles and the quota of the namespace.
type Project struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Spec is the desired state: the members of the project and its namespace.
	// +optional
	Spec ProjectSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Status is the observed state. It is written by the controllers.
	// +optional
	Status ProjectStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ProjectList is a list of Projects.
type ProjectList struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Items are the Projects.
	Items []Project `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ProjectSpec is the desired state of a Project.
type ProjectSpec struct {
	// CreatedBy is the user who created the project. The API server sets it. It is immutable.
	// +optional
	// +k8s:opaqueType
	CreatedBy *rbacv1.Subject `json:"createdBy,omitempty" protobuf:"bytes,1,opt,name=createdBy"`
	// Description describes the project in a sentence or two.
	// +optional
	Description *string `json:"description,omitempty" protobuf:"bytes,2,opt,name=description"`
	// Owner is the user, group or service account that is responsible for the project. It defaults to the first member with the
	// role owner, otherwise to the creator. It can be changed, but not removed.
	// +optional
	// +k8s:opaqueType
	Owner *rbacv1.Subject `json:"owner,omitempty" protobuf:"bytes,3,opt,name=owner"`
	// Purpose is the reason of the project, for instance the product or the cost center.
	// +optional
	Purpose *string `json:"purpose,omitempty" protobuf:"bytes,4,opt,name=purpose"`
	// Members are the users, groups and service accounts of the project, each with one or more roles. The list is replaced as a
	// whole by server-side apply.
	// +optional
	// +listType=atomic
	Members []ProjectMember `json:"members,omitempty" protobuf:"bytes,5,rep,name=members"`
	// Namespace is the namespace of the project: "garden" or a name that starts with "garden-". It defaults to
	// garden-<project>-<five hex digits>. A namespace belongs to at most one project. It is immutable.
	// +optional
	Namespace *string `json:"namespace,omitempty" protobuf:"bytes,6,opt,name=namespace"`
	// Tolerations are the taints of seed clusters that workload clusters of the project are allowed to tolerate.
	// +optional
	Tolerations *ProjectTolerations `json:"tolerations,omitempty" protobuf:"bytes,7,opt,name=tolerations"`
	// DualApprovalForDeletion lists resources of the project whose deletion another user must have confirmed.
	// +optional
	// +listType=atomic
	DualApprovalForDeletion []DualApprovalForDeletion `json:"dualApprovalForDeletion,omitempty" protobuf:"bytes,8,rep,name=dualApprovalForDeletion"`
}

// ProjectMember is a subject with its roles in the project.
type ProjectMember struct {
	// Subject is the user, group or service account.
	// +k8s:opaqueType
	rbacv1.Subject `json:",inline" protobuf:"bytes,1,opt,name=subject"`
	// Role is the first role of the member. It is always present when read: a member without roles is a viewer.
	// +optional
	Role string `json:"role" protobuf:"bytes,2,opt,name=role"`
	// Roles are the further roles of the member: admin, owner, uam (manages members), serviceaccountmanager, viewer, or
	// extension:<name>. Clients can write all roles here; the API server moves the first one to role.
	// +optional
	// +listType=atomic
	Roles []string `json:"roles,omitempty" protobuf:"bytes,3,rep,name=roles"`
}

// ProjectTolerations are the default and the allowed tolerations of workload clusters of a project.
type ProjectTolerations struct {
	// Defaults are added to every workload cluster of the project. Each must be in the whitelist too.
	// +patchMergeKey=key
	// +patchStrategy=merge
	// +optional
	// +listType=atomic
	Defaults []Toleration `json:"defaults,omitempty" patchStrategy:"merge" patchMergeKey:"key" protobuf:"bytes,1,rep,name=defaults"`
	// Whitelist are the tolerations that workload clusters of the project are allowed to use.
	// +patchMergeKey=key
	// +patchStrategy=merge
	// +optional
	// +listType=atomic
	Whitelist []Toleration `json:"whitelist,omitempty" patchStrategy:"merge" patchMergeKey:"key" protobuf:"bytes,2,rep,name=whitelist"`
}

// Toleration tolerates a taint of a seed cluster.
type Toleration struct {
	// Key is the key of the taint.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key"`
	// Value is the value of the taint. If it is not set, every value is tolerated.
	// +optional
	Value *string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
}

// DualApprovalForDeletion requires a second user for the deletion of objects of one resource.
type DualApprovalForDeletion struct {
	// Resource is the plural name of the resource: klusters or shoots.
	Resource string `json:"resource" protobuf:"bytes,1,opt,name=resource"`
	// Selector selects the objects by their labels. An empty selector selects all objects.
	// +k8s:opaqueType
	Selector metav1.LabelSelector `json:"selector" protobuf:"bytes,2,opt,name=selector"`
	// IncludeServiceAccounts specifies whether a deletion by a service account requires a second user, too. Defaults to true.
	// +optional
	IncludeServiceAccounts *bool `json:"includeServiceAccounts,omitempty" protobuf:"varint,3,opt,name=includeServiceAccounts"`
}

// ProjectPhase summarizes the state of a Project.
// +enum
// +k8s:enum
type ProjectPhase string

// Phases of a Project.
const (
	// ProjectPending means that the namespace and the roles are being created.
	ProjectPending ProjectPhase = "Pending"
	// ProjectReady means that the namespace and the roles exist.
	ProjectReady ProjectPhase = "Ready"
	// ProjectFailed means that the last attempt failed; a condition has the reason. It is retried.
	ProjectFailed ProjectPhase = "Failed"
	// ProjectTerminating means that the project is being deleted.
	ProjectTerminating ProjectPhase = "Terminating"
)

// ProjectStatus is the observed state of a Project.
type ProjectStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// Phase summarizes the state: Pending, Ready, Failed or Terminating.
	// +optional
	// +k8s:optional
	Phase ProjectPhase `json:"phase,omitempty" protobuf:"bytes,2,opt,name=phase,casttype=ProjectPhase"`
	// StaleSinceTimestamp is when the project was first detected to be unused.
	// +optional
	// +k8s:opaqueType
	StaleSinceTimestamp *metav1.Time `json:"staleSinceTimestamp,omitempty" protobuf:"bytes,3,opt,name=staleSinceTimestamp"`
	// StaleAutoDeleteTimestamp is when the project will be deleted unless it is used again.
	// +optional
	// +k8s:opaqueType
	StaleAutoDeleteTimestamp *metav1.Time `json:"staleAutoDeleteTimestamp,omitempty" protobuf:"bytes,4,opt,name=staleAutoDeleteTimestamp"`
	// LastActivityTimestamp is when an object in the project was last created, changed or deleted, with a precision of about a
	// minute.
	// +optional
	// +k8s:opaqueType
	LastActivityTimestamp *metav1.Time `json:"lastActivityTimestamp,omitempty" protobuf:"bytes,5,opt,name=lastActivityTimestamp"`
	// Conditions are the details of the phase, one of each type, and their summary, which the API server writes: Ready, Reconciling
	// while the project becomes ready on its own, and Stalled when a user has to act.
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +optional
	// +k8s:optional
	// +listType=map
	// +listMapKey=type
	// +k8s:listType=map
	// +k8s:listMapKey=type
	Conditions []Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

// ConditionType is the type of a condition.
type ConditionType string

// Condition types of a Project.
const (
	// ProjectNamespaceReady reports whether the namespace of the project exists and belongs to it.
	ProjectNamespaceReady ConditionType = "NamespaceReady"
	// ProjectRBACReady reports whether the roles and bindings of the members are reconciled.
	ProjectRBACReady ConditionType = "RBACReady"
	// ProjectDeletable reports whether the project could be deleted now; its message lists what blocks the deletion.
	ProjectDeletable ConditionType = "Deletable"
	// ProjectStale reports whether the project is unused.
	ProjectStale ConditionType = "Stale"
)

// ConditionStatus is the status of a condition.
// +enum
// +k8s:enum
type ConditionStatus string

// Statuses of a condition.
const (
	// ConditionTrue means that the condition holds.
	ConditionTrue ConditionStatus = "True"
	// ConditionFalse means that the condition does not hold.
	ConditionFalse ConditionStatus = "False"
	// ConditionUnknown means that the state could not be determined.
	ConditionUnknown ConditionStatus = "Unknown"
	// ConditionProgressing means that the condition may hold again soon. It is used by Gardener; the controllers of Groundskeeper
	// do not write it.
	ConditionProgressing ConditionStatus = "Progressing"
)

// ErrorCode classifies the error of a condition, as defined by Gardener.
type ErrorCode string

// Condition is one aspect of the state of a Project.
type Condition struct {
	// Type is the type of the condition.
	Type ConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=ConditionType"`
	// Status reports whether the condition holds: True, False, Unknown or Progressing.
	// +k8s:required
	// +required
	Status ConditionStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status,casttype=ConditionStatus"`
	// LastTransitionTime is when the status last changed.
	// +k8s:opaqueType
	LastTransitionTime metav1.Time `json:"lastTransitionTime" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// LastUpdateTime is when any field of the condition last changed.
	// +k8s:opaqueType
	LastUpdateTime metav1.Time `json:"lastUpdateTime" protobuf:"bytes,4,opt,name=lastUpdateTime"`
	// Reason is the reason, as one CamelCase word.
	Reason string `json:"reason" protobuf:"bytes,5,opt,name=reason"`
	// Message is a human-readable sentence with the reason and the remedy.
	Message string `json:"message" protobuf:"bytes,6,opt,name=message"`
	// Codes classify the error, if there is one.
	// +optional
	// +listType=atomic
	Codes []ErrorCode `json:"codes,omitempty" protobuf:"bytes,7,rep,name=codes,casttype=ErrorCode"`
}
