// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
)

// explained adds to the error of a kube-apiserver that does not reach our API server where to look: "the server is currently
// unable to handle the request" does not even name it. Other errors stay as they are.
func explained(err error) error {
	var status apierrors.APIStatus
	if !apierrors.IsServiceUnavailable(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return err
	}
	group, s := status.Status().Details.Group, runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		return err
	}
	versions := s.PrioritizedVersionsForGroup(group)
	if group == "" || len(versions) == 0 {
		return err // every scheme has things without a group
	}
	return fmt.Errorf("%w: groundskeeper-apiserver does not answer: see its log, and kubectl describe apiservice %s.%s", err, versions[0].Version, group)
}
