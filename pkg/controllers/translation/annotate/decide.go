// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// network is what a backend network wants annotated.
type network struct {
	// annotation is the one that has the host of a Node.
	annotation string
	// Messages of a Node whose host is unknown. Of MidoNet, a host may have an invalid id.
	unlisted, none, many, invalid string
	// changes returns the annotations to write to a Node whose host has the given id; nil removes one.
	changes func(node *corev1.Node, host string) map[string]*string
	// differing, if not nil, returns a problem of what another client annotated.
	differing func(node *corev1.Node) *convert.Problem
	// follow, if not nil, compares the annotations of a Node that does not lack them with the hosts, ids by name. It returns the annotations
	// to write, and a problem of the present ones.
	follow func(node *corev1.Node, hosts map[string][]string) (map[string]*string, *convert.Problem)
}

// lacks reports whether a Node does not know its host.
func (n *network) lacks(node *corev1.Node) bool {
	_, has := node.Annotations[n.annotation]
	return !has
}

// decision is what becomes of a Node.
type decision struct {
	// set are the annotations to write, and after is the Node with them.
	set   map[string]*string
	after *corev1.Node
	// waits is why a Node cannot be annotated now. unknown: nothing is known of the hosts, so nothing is concluded.
	waits   *convert.Problem
	unknown bool
	// differs is a problem of the annotations that the Node has or gets. follows: they have to be compared again.
	differs *convert.Problem
	follows bool
}

func decide(n *network, o observed) decision {
	node := o.node
	deleting := !node.DeletionTimestamp.IsZero()
	d := decision{follows: !deleting && n.follow != nil}
	switch {
	case !deleting && n.lacks(node):
		ids := o.hosts[node.Name]
		if d.waits = n.unusable(node.Name, ids, o.unlisted); d.waits != nil {
			return d
		}
		d.set = n.changes(node, ids[0])
	case !d.follows:
		d.set = n.changes(node, "")
	case o.unlisted != nil:
		d.unknown, d.set = true, n.changes(node, "")
	default:
		d.set, d.differs = n.follow(node, o.hosts)
	}
	d.after = node.DeepCopy()
	for name, value := range d.set {
		if value == nil {
			delete(d.after.Annotations, name)
		} else {
			metav1.SetMetaDataAnnotation(&d.after.ObjectMeta, name, *value)
		}
	}
	if !deleting && n.differing != nil && d.differs == nil {
		d.differs = n.differing(d.after)
	}
	return d
}

// unusable reports why a check of the hosts did not find the one of a Node.
func (n *network) unusable(node string, ids []string, err error) *convert.Problem {
	switch {
	case err != nil:
		return &convert.Problem{Reason: reasonBackend, Message: n.unlisted + err.Error()}
	case len(ids) == 0:
		return &convert.Problem{Reason: reasonNoHost, Message: fmt.Sprintf(n.none, node, n.annotation)}
	case len(ids) > 1:
		return &convert.Problem{Reason: reasonManyHosts, Message: fmt.Sprintf(n.many, len(ids), node, few(ids), n.annotation)}
	case ids[0] == "" && n.invalid != "":
		return &convert.Problem{Reason: reasonInvalidHost, Message: fmt.Sprintf(n.invalid, node, n.annotation)}
	default:
		return nil
	}
}

// few lists the first of several ids, in an order that does not change.
func few(ids []string) string {
	const most = 3
	sorted := slices.Sorted(slices.Values(ids))
	for i, id := range sorted {
		sorted[i] = cmp.Or(id, "no UUID")
	}
	if len(sorted) > most {
		sorted = append(sorted[:most], "…")
	}
	return strings.Join(sorted, ", ")
}
