// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Place is where an OpenStack project is. Empty fields are not known.
type Place struct{ AuthHost, Region, ProjectID string }

// PlaceOf returns where an authenticated client works.
func PlaceOf(c *openstack.Client) Place {
	return Place{AuthHost: c.AuthHost(), Region: c.Region(), ProjectID: c.ProjectID()}
}

// remembered returns where a Kluster was at registration.
func remembered(k *kubernikusv1.Kluster) Place {
	found := k.Status.Openstack
	if found == nil {
		return Place{}
	}
	return Place{AuthHost: found.AuthHost, Region: found.Region, ProjectID: found.ProjectID}
}

// String returns the value of the annotation that accepts the place.
func (p Place) String() string { return strings.Join([]string{p.AuthHost, p.Region, p.ProjectID}, "/") }

// differs reports whether two places are not the same one, by what is known of both.
func (p Place) differs(other Place) bool {
	differs := func(a, b string) bool { return a != "" && b != "" && a != b }
	return differs(p.AuthHost, other.AuthHost) || differs(p.Region, other.Region) || differs(p.ProjectID, other.ProjectID)
}

// Moved reports whether the Secret of a Kluster leads to another place than at registration.
func Moved(k *kubernikusv1.Kluster, at Place) bool { return remembered(k).differs(at) }

// CheckPlace fails when the Secret of a Kluster leads to another place than at registration, and no user accepted that: to the new
// place the servers, routers and volumes of the cluster are all deleted.
func CheckPlace(k *kubernikusv1.Kluster, at Place) error {
	if !Moved(k, at) || k.Annotations[kubernikusv1.AcceptCloudAnnotation] == at.String() {
		return nil
	}
	return &openstack.Error{Op: "compare the cloud with that of the registration", Reason: kubernikusv1.ReasonCloudChanged,
		Err: fmt.Errorf("the Secret leads to %s, and the cluster was registered at %s: put the Secret right; if the cluster is there indeed, annotate the Kluster with %s=%s",
			at, remembered(k), kubernikusv1.AcceptCloudAnnotation, at)}
}

// CheckSecret is CheckPlace by what the data of a Secret and the status reports, without querying the cloud.
func CheckSecret(k *kubernikusv1.Kluster, data map[string][]byte) error {
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionOpenStackReachable); c != nil && c.Reason == kubernikusv1.ReasonCloudChanged {
		return errors.New(c.Message)
	}
	if k.Spec.NoCloud {
		return nil
	}
	credentials, err := openstack.CredentialsOf(data)
	if err != nil {
		return nil //nolint:nilerr // invalid credentials do not point to another cloud; their own condition reports the error
	}
	at := Place{AuthHost: credentials.Host(), Region: credentials.Region, ProjectID: credentials.ProjectID}
	if !Moved(k, at) || strings.HasPrefix(k.Annotations[kubernikusv1.AcceptCloudAnnotation], at.AuthHost+"/") {
		return nil
	}
	return CheckPlace(k, at)
}

// SharesProject reports whether two Klusters are known to be in one OpenStack project.
func SharesProject(a, b *kubernikusv1.Kluster) bool {
	return remembered(a).ProjectID != "" && remembered(b).ProjectID != "" && !remembered(a).differs(remembered(b))
}

// MayShareProject reports whether two Klusters may be in one OpenStack project, though that of one of them is unknown, as before its
// credentials worked for the first time.
func MayShareProject(a, b *kubernikusv1.Kluster) bool {
	return (remembered(a).ProjectID == "" || remembered(b).ProjectID == "") && !remembered(a).differs(remembered(b))
}
