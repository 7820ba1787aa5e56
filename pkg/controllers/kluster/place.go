// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// PlaceOf returns where an authenticated client works.
func PlaceOf(c *openstack.Client) clusterid.Place {
	return clusterid.Place{AuthHost: c.AuthHost(), Region: c.Region(), ProjectID: c.ProjectID()}
}

// Moved reports whether the Secret of a Kluster leads to another place than at registration.
func Moved(k *kubernikusv1.Kluster, at clusterid.Place) bool { return clusterid.PlaceOf(k).Differs(at) }

// CheckPlace fails when the Secret of a Kluster leads to another place than at registration, and no user accepted that: to the new
// place the servers, routers and volumes of the cluster are all deleted.
func CheckPlace(k *kubernikusv1.Kluster, at clusterid.Place) error {
	if !Moved(k, at) || k.Annotations[kubernikusv1.AcceptCloudAnnotation] == at.String() {
		return nil
	}
	return &openstack.Error{Op: "compare the cloud with that of the registration", Reason: kubernikusv1.ReasonCloudChanged,
		Err: fmt.Errorf("the Secret leads to %s, and the cluster was registered at %s: put the Secret right; if the cluster is there indeed, "+
			"annotate the Kluster with %s=%s",
			at, clusterid.PlaceOf(k), kubernikusv1.AcceptCloudAnnotation, at)}
}

// CheckSecret is CheckPlace by what the data of a Secret and the status reports, without querying the cloud.
func CheckSecret(k *kubernikusv1.Kluster, data map[string][]byte) error {
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionOpenStackReachable); c != nil &&
		c.Reason == kubernikusv1.ReasonCloudChanged {
		return errors.New(c.Message)
	}
	if k.Spec.NoCloud {
		return nil
	}
	credentials, err := openstack.CredentialsOf(data)
	if err != nil {
		return nil //nolint:nilerr // invalid credentials do not point to another cloud; their own condition reports the error
	}
	at := clusterid.Place{AuthHost: credentials.Host(), Region: credentials.Region, ProjectID: credentials.ProjectID}
	if !Moved(k, at) || strings.HasPrefix(k.Annotations[kubernikusv1.AcceptCloudAnnotation], at.AuthHost+"/") {
		return nil
	}
	return CheckPlace(k, at)
}
