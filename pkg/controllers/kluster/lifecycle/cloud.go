// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

type cloudView struct {
	// found is the project and the ids that the spec leaves open; nil when the check failed.
	found *kubernikusv1.OpenstackStatus
	// unclear returns which ids could not be determined, and why.
	unclear  []string
	warnings []openstack.Warning
	err      error
	// services is what a preflight showed; nil: none was made.
	services *metav1.Condition
}

// probeCloud sends a request with the credentials, and determines the router, the network and the subnet if the spec does not set them.
// Earlier results are retained; a router that has been deleted is determined again. If everything is known, it sends one request.
func probeCloud(
	ctx context.Context, neutron openstack.Network, spec kubernikusv1.OpenstackSpec, before kubernikusv1.OpenstackStatus,
) cloudView {
	unless := func(named, known string) string {
		if named != "" {
			return ""
		}
		return known
	}
	found := kubernikusv1.OpenstackStatus{RouterID: unless(spec.RouterID, before.RouterID), NetworkID: unless(spec.NetworkID, before.NetworkID),
		LBSubnetID: unless(spec.LBSubnetID, before.LBSubnetID)}
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
