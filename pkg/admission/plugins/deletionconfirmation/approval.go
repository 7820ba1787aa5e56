// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deletionconfirmation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// approved returns nil when a user may delete an object whose deletion is confirmed: when its Project does not ask for
// a second person, or when another user confirmed it.
func approved(project *gardenerv1beta1.Project, resource string, object metav1.Object, who user.Info) error {
	needed, err := needsSecondPerson(project, resource, object.GetLabels(), who)
	if err != nil || !needed {
		return err
	}
	switch object.GetAnnotations()[gardenerv1beta1.AnnotationDeletionConfirmedBy] {
	case who.GetName():
		return fmt.Errorf("project %q asks for dual approval (spec.dualApprovalForDeletion): you confirmed the deletion yourself, so another user must delete it",
			project.Name)
	case "":
		return fmt.Errorf("project %q asks for dual approval (spec.dualApprovalForDeletion) and it is not known who confirmed the deletion: remove the annotation %q and let another user set it again",
			project.Name, gardenerv1beta1.AnnotationConfirmDeletion)
	}
	return nil
}

// needsSecondPerson says whether one of the rules of a Project asks for a second person. Each rule counts: in Gardener
// only the first one for a resource does.
func needsSecondPerson(project *gardenerv1beta1.Project, resource string, of map[string]string, who user.Info) (bool, error) {
	for i := range project.Spec.DualApprovalForDeletion {
		rule := &project.Spec.DualApprovalForDeletion[i]
		if rule.Resource != resource || isServiceAccount(who) && rule.IncludeServiceAccounts != nil && !*rule.IncludeServiceAccounts {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(&rule.Selector)
		if err != nil {
			return false, fmt.Errorf("project %q: spec.dualApprovalForDeletion[%d].selector: %w", project.Name, i, err)
		}
		if selector.Matches(labels.Set(of)) {
			return true, nil
		}
	}
	return false, nil
}

func isServiceAccount(who user.Info) bool {
	_, _, err := serviceaccount.SplitUsername(who.GetName())
	return err == nil
}
