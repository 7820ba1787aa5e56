// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	"groundskeeper.io/groundskeeper/pkg/ovn"
)

// Southbound knows the chassis of OVN.
type Southbound interface {
	// Chassis lists all of them, or fails.
	Chassis(ctx context.Context) ([]ovn.Chassis, error)
}

// hostsOf lists chassis as hosts: by their name, and by their hostname.
type hostsOf struct{ Southbound }

// Hosts implements Hosts.
func (h hostsOf) Hosts(ctx context.Context) ([]midonet.Host, error) {
	listed, err := h.Chassis(ctx)
	if err != nil {
		return nil, err
	}
	var hosts []midonet.Host
	for _, c := range listed {
		hosts = append(hosts, midonet.Host{ID: c.Name, Name: c.Name})
		if c.Hostname != c.Name {
			hosts = append(hosts, midonet.Host{ID: c.Name, Name: c.Hostname})
		}
	}
	return hosts, nil
}

// chassis wants the name of a Node's chassis, if it is not the Node's.
func chassis() network {
	return network{
		lacks: func(node *corev1.Node) bool {
			_, has := node.Annotations[midonetv1.AnnotationOVNChassis]
			return !has
		},
		unusable: unusableChassis,
		changes: func(node *corev1.Node, name string) map[string]*string {
			set := map[string]*string{}
			if name != "" && name != node.Name {
				set[midonetv1.AnnotationOVNChassis] = &name
			}
			return set
		},
		differing: func(*corev1.Node) *convert.Problem { return nil },
	}
}

// unusableChassis reports why a check of the chassis did not find the one of a Node.
func unusableChassis(node string, names []string, err error) *convert.Problem {
	switch {
	case err != nil:
		return &convert.Problem{Reason: reasonBackend, Message: "the chassis of OVN cannot be listed: " + err.Error()}
	case len(names) == 0:
		return &convert.Problem{Reason: reasonNoHost, Message: fmt.Sprintf(
			"OVN has no chassis with the name or the hostname %s: start ovn-controller there, or set annotation %s", node, midonetv1.AnnotationOVNChassis)}
	case len(names) > 1:
		return &convert.Problem{Reason: reasonManyHosts, Message: fmt.Sprintf(
			"OVN has %d chassis with the name or the hostname %s (%s): remove all except one (ovn-sbctl chassis-del), or set annotation %s", len(names), node, few(names), midonetv1.AnnotationOVNChassis)}
	default:
		return nil
	}
}
