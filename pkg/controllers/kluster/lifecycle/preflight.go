// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cloud"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// A preflight checks ahead of time what Deorbit will need: dozens of requests, so that it is made at registration and when
// the Kluster or its Secret changes, and not with every check.

// permissionsOf reviews the permissions of the account in a workload cluster that responds. Path /version is public, so that
// rejected reports that the API server does not know the account: it is "" when it does.
func permissionsOf(ctx context.Context, config *rest.Config, k *kubernikusv1.Kluster) (c metav1.Condition, rejected string) {
	const kind = kubernikusv1.ConditionClusterPermissionsGranted
	connection, err := cluster.Connect(config)
	if err != nil {
		return notChecked(kind, err.Error()), ""
	}
	defer connection.Close()
	keepsAddresses := k.Spec.Deorbit.FloatingIPs == kubernikusv1.DeletionPolicyRetain && k.Spec.Deorbit.LoadBalancers != kubernikusv1.DeletionPolicyRetain
	missing, err := connection.MissingPermissions(ctx, keepsAddresses)
	switch {
	case isUnknownUser(err):
		return notChecked(kind, err.Error()),
			"the API server does not know the user: check the credentials of the cluster in the Secret: " + err.Error()
	case err != nil:
		return notChecked(kind, err.Error()), ""
	case len(missing) > 0:
		return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reasonMissing, Message: fmt.Sprintf(
			"the user of the Secret lacks permissions in the cluster that Deorbit needs; apply artifacts/kluster/workload, or grant: %s",
			strings.Join(missing, "; "))}, ""
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reasonGranted,
		Message: "the user of the Secret has the permissions in the cluster that Deorbit needs"}, ""
}

// isUnknownUser reports whether an API server does not know a user: it rejects the credentials, or takes the user for anonymous,
// which may not even review permissions.
func isUnknownUser(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && (apierrors.IsUnauthorized(status) || apierrors.IsForbidden(status) && strings.Contains(status.ErrStatus.Message, `"system:anonymous"`))
}

// servicesOf checks whether Deorbit could check each service of an OpenStack project.
func servicesOf(ctx context.Context, client *openstack.Client, spec kubernikusv1.OpenstackSpec) metav1.Condition {
	const kind = kubernikusv1.ConditionOpenStackServicesUsable
	obstacles, err := cloud.Of(client, nil).Preflight(ctx, spec.AbsentServices)
	switch {
	case err != nil:
		return notChecked(kind, err.Error())
	case len(obstacles) == 0:
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reasonUsable,
			Message: "the user of the Secret is allowed to list the resources that Deorbit checks"}
	}
	var messages []string
	for _, o := range obstacles {
		messages = append(messages, o.Message)
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: string(obstacles[0].Reason), Message: strings.Join(messages, "; ")}
}
