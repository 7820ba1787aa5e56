// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Reasons of the conditions OpenStackReachable and APIServerReachable when they are True and there is something to correct.
const (
	// reasonUnclear means that the spec has to report which of several objects is the cluster's.
	reasonUnclear = "Ambiguous"
	// reasonInsecure means that the certificate of the cloud, or of the API server, is not verified.
	reasonInsecure = "Insecure"
	// reasonIgnored means that the clouds.yaml has fields that are not known.
	reasonIgnored = "FieldsIgnored"
)

// cloudView is what a check of an OpenStack project showed.
type cloudView struct {
	// found is the project and the ids that the spec leaves open; nil when the check failed.
	found *kubernikusv1.OpenstackStatus
	// unclear returns which ids could not be determined, and why.
	unclear []string
	// warnings are about the credentials.
	warnings []openstack.Warning
	err      error
	// services is what a preflight showed; nil: none was made.
	services *metav1.Condition
}

// condition returns the view as the condition OpenStackReachable.
func (v cloudView) condition() metav1.Condition {
	c := metav1.Condition{Type: kubernikusv1.ConditionOpenStackReachable, Status: metav1.ConditionTrue, Reason: reasonReachable, Message: "OpenStack responds and accepts the credentials"}
	switch {
	case v.err != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(openstack.ReasonOf(v.err)), v.err.Error()
		return c
	case len(v.unclear) > 0:
		c.Reason = reasonUnclear
	case len(v.warnings) > 0 && v.warnings[0].Insecure:
		c.Reason = reasonInsecure
	case len(v.warnings) > 0:
		c.Reason = reasonIgnored
	}
	messages := v.unclear
	for _, w := range v.warnings {
		messages = append(slices.Clone(messages), w.Message)
	}
	if len(messages) > 0 {
		c.Message = strings.Join(messages, "; ")
	}
	return c
}

// network is what a check needs of Neutron.
type network interface {
	Router(ctx context.Context, id string) (openstack.Router, error)
	RouterIDs(ctx context.Context) ([]string, error)
	NetworkIDs(ctx context.Context) ([]string, error)
	SubnetIDs(ctx context.Context, networkID string) ([]string, error)
}

// probeCloud sends a request with the credentials, and determines the router, the network and the subnet if the spec does not set them.
// Earlier results are retained; a router that has been deleted is determined again. If everything is known, it sends one request.
func probeCloud(ctx context.Context, neutron network, spec kubernikusv1.OpenstackSpec, before kubernikusv1.OpenstackStatus) cloudView {
	found := kubernikusv1.OpenstackStatus{RouterID: before.RouterID, NetworkID: before.NetworkID, LBSubnetID: before.LBSubnetID}
	if spec.RouterID != "" {
		found.RouterID = ""
	}
	if spec.NetworkID != "" {
		found.NetworkID = ""
	}
	if spec.LBSubnetID != "" {
		found.LBSubnetID = ""
	}
	view := cloudView{found: &found}
	if id := spec.RouterID + found.RouterID; id != "" {
		_, err := neutron.Router(ctx, id)
		switch {
		case openstack.IsNotFound(err) && spec.RouterID == "":
			found = kubernikusv1.OpenstackStatus{}
		case openstack.IsNotFound(err):
			return cloudView{err: fmt.Errorf("spec.openstack.routerID names no router of the project: %w", err)}
		case err != nil:
			return cloudView{err: err}
		}
	}
	only := func(what, field string, known string, into *string, list func(context.Context) ([]string, error)) error {
		if known != "" || *into != "" {
			return nil
		}
		ids, err := list(ctx)
		if err != nil {
			return err
		}
		switch len(ids) {
		case 1:
			*into = ids[0]
		case 0:
			view.unclear = append(view.unclear, fmt.Sprintf("the project has no %s: make one, or set %s", what, field))
		default:
			view.unclear = append(view.unclear, fmt.Sprintf("the project has %d %ss (%s): set %s", len(ids), what, some(ids), field))
		}
		return nil
	}
	if err := only("router", "spec.openstack.routerID", spec.RouterID, &found.RouterID, neutron.RouterIDs); err != nil {
		return cloudView{err: err}
	}
	if err := only("network", "spec.openstack.networkID", spec.NetworkID, &found.NetworkID, neutron.NetworkIDs); err != nil {
		return cloudView{err: err}
	}
	networkID := spec.NetworkID + found.NetworkID
	if networkID == "" {
		return view
	}
	subnets := func(ctx context.Context) ([]string, error) { return neutron.SubnetIDs(ctx, networkID) }
	if err := only("subnet", "spec.openstack.lbSubnetID", spec.LBSubnetID, &found.LBSubnetID, subnets); err != nil {
		return cloudView{err: err}
	}
	return view
}

// maxNamed is how many ids a message names.
const maxNamed = 5

func some(ids []string) string {
	text := strings.Join(ids[:min(len(ids), maxNamed)], ", ")
	if more := len(ids) - maxNamed; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
