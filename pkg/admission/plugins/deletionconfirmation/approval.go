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

// approved returns nil when a user may delete an object whose deletion is confirmed: when its Project does not request
// a second person, or when another user confirmed it.
func approved(project *gardenerv1beta1.Project, resource string, object metav1.Object, who user.Info) error {
	needed, err := needsSecondPerson(project, resource, object.GetLabels(), who)
	if err != nil || !needed {
		return err
	}
	if problem := secondPerson(object.GetAnnotations()[gardenerv1beta1.AnnotationDeletionConfirmedBy], who.GetName()); problem != "" {
		return fmt.Errorf("project %q requires dual approval (spec.dualApprovalForDeletion): %s", project.Name, problem)
	}
	return nil
}

// secondPerson returns why a user is not another person than the one who confirmed, "" when it is one. A service account identifies
// no person: a user who is allowed to write Secrets or Pods in its namespace can act as it, so that one user could be both. Which users
// that are is not known here: RBAC allows it to members of other Projects, and to others.
func secondPerson(confirmedBy, who string) string {
	const again = "remove the annotation " + gardenerv1beta1.AnnotationConfirmDeletion + " and let a user set it again"
	switch {
	case isCollector(who):
		return "the deletion of its owner or of its namespace is no second approval, so a user must delete it"
	case confirmedBy == "":
		return "it is not known who confirmed the deletion: " + again
	case confirmedBy == who:
		return "you confirmed the deletion yourself, so another user must delete it"
	case isServiceAccount(who):
		return "a service account is no second user, because the user who confirmed may be able to act as it, so another user must delete it"
	case isServiceAccount(confirmedBy):
		return fmt.Sprintf("%s confirmed the deletion, and the user who deletes it may be able to act as this service account: %s", confirmedBy,
			again)
	default:
		return ""
	}
}

// isCollector reports whether a user is a controller of Kubernetes that deletes objects because another object was deleted:
// their owner, or their namespace. The last is their common user where they have no separate accounts.
func isCollector(who string) bool {
	switch who {
	case "system:serviceaccount:kube-system:generic-garbage-collector", "system:serviceaccount:kube-system:namespace-controller",
		"system:kube-controller-manager":
		return true
	default:
		return false
	}
}

// needsSecondPerson reports whether one of the rules of a Project requests a second person. Each rule counts: in Gardener
// only the first one for a resource does. A rule may exempt service accounts, which then delete without approval. The accounts
// of the garbage collector and of the namespace controller never do.
func needsSecondPerson(project *gardenerv1beta1.Project, resource string, of map[string]string, who user.Info) (bool, error) {
	for i := range project.Spec.DualApprovalForDeletion {
		rule := &project.Spec.DualApprovalForDeletion[i]
		if rule.Resource != resource || isServiceAccount(who.GetName()) && !isCollector(who.GetName()) && rule.IncludeServiceAccounts != nil &&
			!*rule.IncludeServiceAccounts {
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

func isServiceAccount(who string) bool {
	_, _, err := serviceaccount.SplitUsername(who)
	return err == nil
}
