// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// Reasons of events, and of the gauge of Nodes that wait.
const (
	eventAnnotated    = "NodeAnnotated"
	reasonNoHost      = "HostNotFound"
	reasonManyHosts   = "HostAmbiguous"
	reasonInvalidHost = "HostInvalid"           // the host of the Node's name has an id that is not understood
	reasonBackend     = "HostsUnknown"          // the hosts cannot be listed
	reasonDiffers     = "TunnelEndpointDiffers" // it is not an address of the Node, and another client set it
	reasonNoHostID    = "HostIDNotFound"        // a Node is annotated with the id of no host of MidoNet
	reasonNoChassis   = "ChassisNotFound"       // a Node is annotated with a chassis that OVN does not have
	reasonManyChassis = "ChassisAmbiguous"      // several may be that of a Node whose annotation the annotator wrote
	reasonRefused     = "AnnotationRefused"     // the API server rejects the annotations
)

const actionAnnotate = "Annotate"

// announce reports the annotations that a Node got, except those that are of no interest to users.
func (r *reconciler) announce(ctx context.Context, node *corev1.Node, set map[string]*string) {
	var reported []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		switch {
		case slices.Contains(records(), name):
		case set[name] == nil:
			reported = append(reported, name+" removed")
		default:
			reported = append(reported, fmt.Sprintf("%s=%q", name, *set[name]))
		}
	}
	if len(reported) == 0 {
		return
	}
	text := strings.Join(reported, ", ")
	log.FromContext(ctx).Info("Annotated a node", "annotations", text)
	r.recorder.Eventf(node, nil, corev1.EventTypeNormal, eventAnnotated, actionAnnotate, "the node was annotated: %s", text)
}

// warn reports a problem of a Node in the log and in an event.
func (r *reconciler) warn(ctx context.Context, node *corev1.Node, problem convert.Problem, text string) {
	log.FromContext(ctx).Info(text, "reason", problem.Reason, "problem", problem.Message)
	r.recorder.Eventf(node, nil, corev1.EventTypeWarning, problem.Reason, actionAnnotate, "%s", problem.Note())
}
