// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// SetDefaults_Project fills what a client may leave out and brings every alias to one spelling, so that the same
// spec is always stored as the same bytes.
func SetDefaults_Project(project *Project) {
	NormalizeProject(project)
}

// NormalizeProject brings a Project to the one form in which it is stored. It is idempotent, and rewrites nothing
// that could have two owners in server-side apply: scalars and atomic lists only.
func NormalizeProject(project *Project) {
	spec := &project.Spec
	defaultAPIGroup(spec.Owner)
	for i := range spec.Members {
		member := &spec.Members[i]
		defaultAPIGroup(&member.Subject)
		member.SetRoles(member.AllRoles())
	}
	if spec.Namespace != nil && *spec.Namespace == GardenNamespace {
		tolerateSeedProtection(spec)
	}
	for i := range spec.DualApprovalForDeletion {
		if approval := &spec.DualApprovalForDeletion[i]; approval.IncludeServiceAccounts == nil {
			approval.IncludeServiceAccounts = new(true)
		}
	}
}

func defaultAPIGroup(subject *rbacv1.Subject) {
	if subject != nil && subject.APIGroup == "" && (subject.Kind == rbacv1.UserKind || subject.Kind == rbacv1.GroupKind) {
		subject.APIGroup = rbacv1.GroupName
	}
}

// tolerateSeedProtection lets the garden project use protected seeds.
func tolerateSeedProtection(spec *ProjectSpec) {
	if spec.Tolerations == nil {
		spec.Tolerations = &ProjectTolerations{}
	}
	protected := func(t Toleration) bool { return t.Key == SeedProtectedTaint && t.Value == nil }
	for _, list := range []*[]Toleration{&spec.Tolerations.Defaults, &spec.Tolerations.Whitelist} {
		if !slices.ContainsFunc(*list, protected) {
			*list = append(*list, Toleration{Key: SeedProtectedTaint})
		}
	}
}
