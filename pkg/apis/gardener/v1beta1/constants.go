// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Roles of a project member. A role that starts with ProjectMemberExtensionPrefix is an extension's.
const (
	// ProjectMemberAdmin has all permissions in the namespace of the project, and may change and delete the project.
	ProjectMemberAdmin = "admin"
	// ProjectMemberOwner is responsible for the project. One member has this role, the one that spec.owner names.
	ProjectMemberOwner = "owner"
	// ProjectMemberUserAccessManager may change the members.
	ProjectMemberUserAccessManager = "uam"
	// ProjectMemberServiceAccountManager may manage the service accounts in the namespace.
	ProjectMemberServiceAccountManager = "serviceaccountmanager"
	// ProjectMemberViewer may read.
	ProjectMemberViewer = "viewer"
	// ProjectMemberExtensionPrefix starts the name of an extension's role.
	ProjectMemberExtensionPrefix = "extension:"
)

const (
	// FinalizerName keeps a Project until its namespace has been deleted or released.
	FinalizerName = "gardener"

	// GardenNamespace is the namespace of the garden project, the only one without a dash behind "garden".
	GardenNamespace = "garden"
	// ProjectNamespacePrefix starts every other project namespace.
	ProjectNamespacePrefix = "garden-"
	// SeedProtectedTaint is tolerated in the garden project.
	SeedProtectedTaint = "seed.gardener.cloud/protected"
)

// Labels and annotations of project namespaces.
const (
	// LabelRole is the purpose of an object.
	LabelRole = "gardener.cloud/role"
	// RoleProject is the role of a project's namespace.
	RoleProject = "project"
	// RoleExtensionProject is the role of a ClusterRole that an extension of a project aggregates.
	RoleExtensionProject = "extension-project-role"
	// LabelProjectName names the Project that an object belongs to.
	LabelProjectName = "project.gardener.cloud/name"
	// AnnotationProjectUID holds the uid of the Project that a namespace belongs to.
	AnnotationProjectUID = "namespace.gardener.cloud/project"
	// AnnotationCreatedForProject holds the uid of the Project that a role, a binding or a quota was created for.
	AnnotationCreatedForProject = "groundskeeper.io/project-uid"
	// AnnotationNamespaceCreatedByController marks a namespace that was created, not adopted.
	AnnotationNamespaceCreatedByController = "namespace.gardener.cloud/created-by-project-controller"
	// AnnotationKeepNamespace keeps a namespace when its Project is deleted.
	AnnotationKeepNamespace = "namespace.gardener.cloud/keep-after-project-deletion"
	// AnnotationSkipStaleCheck exempts the project of a namespace from the search for stale projects.
	AnnotationSkipStaleCheck = "project.gardener.cloud/skip-stale-check"
	// LabelAggregateToExtensionRole makes a ClusterRole part of the extension role that is its value.
	LabelAggregateToExtensionRole = "rbac.gardener.cloud/aggregate-to-extension-role"
	// AnnotationConfirmDeletion confirms that an object is to be deleted.
	AnnotationConfirmDeletion = "confirmation.gardener.cloud/deletion"
	// AnnotationForceDeletion deletes the namespace of a Project with the Project although the finalizers of objects in it may hold it.
	AnnotationForceDeletion = "confirmation.gardener.cloud/force-deletion"
	// AnnotationDeletionConfirmedBy names the user who confirmed a deletion.
	AnnotationDeletionConfirmedBy = "deletion.gardener.cloud/confirmed-by"
)

// Verbs on Projects that are not verbs of requests: admission requires them for a request that changes what they protect.
const (
	// VerbManageMembers allows to change who belongs to a Project, and who owns it.
	VerbManageMembers = "manage-members"
	// VerbModifyTolerationsWhitelist allows to change spec.tolerations.whitelist.
	VerbModifyTolerationsWhitelist = "modify-spec-tolerations-whitelist"
)
