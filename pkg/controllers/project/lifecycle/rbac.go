// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// Names of the roles, from Gardener. The first group gets a colon and the name of the Project as a suffix and is created for
// each Project; the second group are ClusterRoles of the installation that are bound in a Project's namespace.
const (
	roleOwner             = "gardener.cloud:system:project"
	roleUserAccessManager = "gardener.cloud:system:project-uam"
	roleMember            = "gardener.cloud:system:project-member"
	roleViewer            = "gardener.cloud:system:project-viewer"
	roleExtension         = "gardener.cloud:extension:project"

	namespaceRoleMember                = "gardener.cloud:system:project-member"
	namespaceRoleViewer                = "gardener.cloud:system:project-viewer"
	namespaceRoleServiceAccountManager = "gardener.cloud:system:project-serviceaccountmanager"
)

// desiredRBAC returns the roles and bindings of a Project, roles before their bindings: four ClusterRoles, four
// ClusterRoleBindings and three RoleBindings, and a ClusterRole and a RoleBinding for each extension role in use.
func desiredRBAC(project *gardenerv1beta1.Project) []client.Object {
	b := &rbacBuilder{project: project}
	// Kubernetes allows a list or a watch with a name in its field selector by the rules for this name: kubectl sends them to wait.
	projects := func(verbs ...string) rbacv1.PolicyRule {
		return rule(gardenerv1beta1.GroupName, "projects", project.Name, append([]string{"get", "list", "watch"}, verbs...)...)
	}
	readNamespace := rule("", "namespaces", namespaceName(project), "get", "list", "watch")
	with := func(roles ...string) []rbacv1.Subject { return subjectsWith(project, roles...) }

	b.clusterRole(roleOwner, readNamespace, projects("patch", "manage-members", "update", "delete"))
	b.clusterRole(roleUserAccessManager, projects("manage-members", "patch", "update"))
	b.clusterRole(roleMember, readNamespace, projects("patch", "update", "delete"))
	b.clusterRole(roleViewer, readNamespace, projects())
	b.clusterRoleBinding(roleOwner, ownerOf(project))
	b.clusterRoleBinding(roleUserAccessManager, with(gardenerv1beta1.ProjectMemberUserAccessManager))
	b.clusterRoleBinding(roleMember, with(gardenerv1beta1.ProjectMemberAdmin, gardenerv1beta1.ProjectMemberOwner))
	b.clusterRoleBinding(roleViewer, with(gardenerv1beta1.ProjectMemberViewer))
	b.roleBinding(namespaceRoleMember, with(gardenerv1beta1.ProjectMemberAdmin, gardenerv1beta1.ProjectMemberOwner))
	b.roleBinding(namespaceRoleViewer, with(gardenerv1beta1.ProjectMemberViewer))
	b.roleBinding(namespaceRoleServiceAccountManager,
		with(gardenerv1beta1.ProjectMemberServiceAccountManager, gardenerv1beta1.ProjectMemberOwner))
	for _, role := range extensionRoles(project) {
		b.extension(role, with(gardenerv1beta1.ProjectMemberExtensionPrefix+role))
	}
	return b.objects
}

// roleSharedExtension is the prefix of the ClusterRoles of extension roles that all Projects share.
const roleSharedExtension = "gardener.cloud:extension:project-role:"

// desiredNamespacedRBAC returns the RoleBindings of a Project whose members the API server knows. No cluster-scoped object exists for
// each Project: an extension role has one ClusterRole for all Projects, which is retained when no Project uses it.
func desiredNamespacedRBAC(project *gardenerv1beta1.Project) []client.Object {
	var roles, bindings []client.Object
	for _, object := range desiredRBAC(project) {
		binding, ok := object.(*rbacv1.RoleBinding)
		if !ok {
			continue
		}
		if role, ok := strings.CutPrefix(binding.Name, extensionRoleName(project, "")); ok {
			roles = append(roles, sharedExtensionRole(role))
			binding.RoleRef = clusterRoleRef(roleSharedExtension + role)
		}
		bindings = append(bindings, binding)
	}
	return append(roles, bindings...)
}

// sharedExtensionRole returns the ClusterRole of an extension role for all Projects. Its label has no name, so that it is in the
// cache (CacheOptions) and of no Project.
func sharedExtensionRole(role string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name: roleSharedExtension + role,
			// An uninstallation deletes what has the second label.
			Labels: map[string]string{gardenerv1beta1.LabelProjectName: "", "app.kubernetes.io/part-of": "groundskeeper"},
		},
		AggregationRule: aggregatedExtension(role),
	}
}

// clusterScoped returns those of some objects that are in no namespace.
func clusterScoped(objects []client.Object) []client.Object {
	return slices.DeleteFunc(objects, func(object client.Object) bool { return object.GetNamespace() != "" })
}

// withoutNamespaceRules removes the rules for the namespace itself from roles, for a Project without a namespace.
func withoutNamespaceRules(objects []client.Object) {
	for _, object := range objects {
		if role, ok := object.(*rbacv1.ClusterRole); ok {
			role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "namespaces") })
		}
	}
}

// isExtensionRoleOf reports whether a ClusterRole or RoleBinding has the name of an extension role of the Project.
func isExtensionRoleOf(project *gardenerv1beta1.Project, object client.Object) bool {
	return strings.HasPrefix(object.GetName(), extensionRoleName(project, ""))
}

func extensionRoleName(project *gardenerv1beta1.Project, role string) string {
	return roleExtension + ":" + project.Name + ":" + role
}

// extensionLabels returns the labels of both objects of an extension role. Unused ones are found by them.
func extensionLabels(project *gardenerv1beta1.Project) map[string]string {
	return map[string]string{
		gardenerv1beta1.LabelRole:        gardenerv1beta1.RoleExtensionProject,
		gardenerv1beta1.LabelProjectName: project.Name,
	}
}

func rule(group, resource, name string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: []string{name}, Verbs: verbs}
}

// rbacBuilder collects the objects of one Project.
type rbacBuilder struct {
	project *gardenerv1beta1.Project
	objects []client.Object
}

// meta returns the metadata of all of them. The label restricts the cache to the controller's objects, see CacheOptions. They
// refer to the Project with an annotation, and not with an owner reference, so that they are neither deleted while the Project
// waits for its dependents (--cascade=foreground), nor retained after it (--cascade=orphan), nor deleted when its API is not
// served.
func (b *rbacBuilder) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{gardenerv1beta1.LabelProjectName: b.project.Name},
		Annotations: map[string]string{annotationProjectUID: string(b.project.UID)},
	}
}

func (b *rbacBuilder) clusterRole(kind string, rules ...rbacv1.PolicyRule) {
	b.objects = append(b.objects, &rbacv1.ClusterRole{ObjectMeta: b.meta(kind + ":" + b.project.Name), Rules: rules})
}

func (b *rbacBuilder) clusterRoleBinding(kind string, subjects []rbacv1.Subject) {
	name := kind + ":" + b.project.Name
	b.objects = append(b.objects, &rbacv1.ClusterRoleBinding{ObjectMeta: b.meta(name), RoleRef: clusterRoleRef(name), Subjects: subjects})
}

func (b *rbacBuilder) roleBinding(name string, subjects []rbacv1.Subject) *rbacv1.RoleBinding {
	binding := &rbacv1.RoleBinding{ObjectMeta: b.meta(name), RoleRef: clusterRoleRef(name), Subjects: subjects}
	binding.Namespace = namespaceName(b.project)
	b.objects = append(b.objects, binding)
	return binding
}

// extension adds an extension role. Kubernetes aggregates its rules from the ClusterRoles with the label.
func (b *rbacBuilder) extension(role string, subjects []rbacv1.Subject) {
	aggregated := &rbacv1.ClusterRole{ObjectMeta: b.meta(extensionRoleName(b.project, role)), AggregationRule: aggregatedExtension(role)}
	b.objects = append(b.objects, aggregated)
	binding := b.roleBinding(aggregated.Name, subjects)
	aggregated.Labels, binding.Labels = extensionLabels(b.project), extensionLabels(b.project)
}

// aggregatedExtension selects the ClusterRoles whose rules an extension role has.
func aggregatedExtension(role string) *rbacv1.AggregationRule {
	return &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
		{MatchLabels: map[string]string{gardenerv1beta1.LabelAggregateToExtensionRole: role}},
	}}
}

func clusterRoleRef(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

// ownerOf returns the owner of a Project as a list.
func ownerOf(project *gardenerv1beta1.Project) []rbacv1.Subject {
	if project.Spec.Owner == nil {
		return nil
	}
	return []rbacv1.Subject{qualified(*project.Spec.Owner)}
}

// subjectsWith returns the subjects that have one of the roles, each once, in the order of the members. The owner has the role owner,
// even if it is not in the list of members.
func subjectsWith(project *gardenerv1beta1.Project, roles ...string) []rbacv1.Subject {
	var subjects []rbacv1.Subject
	if slices.Contains(roles, gardenerv1beta1.ProjectMemberOwner) {
		subjects = ownerOf(project)
	}
	for i := range project.Spec.Members {
		member := &project.Spec.Members[i]
		subject := qualified(member.Subject)
		if slices.ContainsFunc(roles, member.HasRole) && !slices.Contains(subjects, subject) {
			subjects = append(subjects, subject)
		}
	}
	return subjects
}

// extensionRoles returns the names after "extension:" in the roles of members, sorted, each once.
func extensionRoles(project *gardenerv1beta1.Project) []string {
	var names []string
	for i := range project.Spec.Members {
		for _, role := range project.Spec.Members[i].AllRoles() {
			if name, ok := strings.CutPrefix(role, gardenerv1beta1.ProjectMemberExtensionPrefix); ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// qualified returns a subject as Kubernetes stores it, so that equal subjects are equal.
func qualified(subject rbacv1.Subject) rbacv1.Subject {
	if subject.APIGroup == "" && (subject.Kind == rbacv1.UserKind || subject.Kind == rbacv1.GroupKind) {
		subject.APIGroup = rbacv1.GroupName
	}
	return subject
}
